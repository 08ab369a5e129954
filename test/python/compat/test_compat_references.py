"""tvm.topi.testing: its NumPy code and the reference evaluator agree, operator by operator."""

import numpy as np
import pytest

pytest.importorskip("relay", exc_type=ImportError)
import relay.compat  # noqa: E402, F401
import tvm  # noqa: E402
from tvm import relay  # noqa: E402
from tvm.topi import testing  # noqa: E402

random = np.random.default_rng(3)


def draw(*shape):
    return random.standard_normal(shape).astype("float32")


def check(make, arrays, expected, tolerance=1e-4):
    """make(variables) on the arrays returns the expected values."""
    variables = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    body = make(*variables)
    module = tvm.IRModule.from_expr(relay.Function(variables, body))
    result = relay.create_executor("debug", mod=module).evaluate()(*arrays)
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_convolutions_of_one_and_three_dimensions():
    a, w = draw(2, 3, 9), draw(4, 3, 3)
    check(
        lambda x, y: relay.nn.conv1d(x, y, strides=(2,), padding=(1,), dilation=(2,), kernel_size=3),
        [a, w],
        testing.conv1d_ncw_python(a, w, 2, 1, 2),
    )
    a, w = draw(1, 3, 7), draw(3, 2, 3)
    check(
        lambda x, y: relay.nn.conv1d_transpose(x, y, strides=(2,), padding=(1,), output_padding=(1,)),
        [a, w],
        testing.conv1d_transpose_ncw_python(a, w, 2, 1, 1),
    )
    a, w = draw(1, 4, 5, 6, 7), draw(6, 2, 2, 3, 3)
    check(
        lambda x, y: relay.nn.conv3d(x, y, strides=(1, 2, 2), padding=(0, 1, 1), groups=2),
        [a, w],
        testing.conv3d_ncdhw_python(a, w, (1, 2, 2), (0, 1, 1), 2),
    )
    a, w = draw(1, 5, 6, 7, 4), draw(2, 3, 3, 4, 3)
    check(
        lambda x, y: relay.nn.conv3d(x, y, padding=(0, 1, 1), data_layout="NDHWC", kernel_layout="DHWIO"),
        [a, w],
        testing.conv3d_ndhwc_python(a, w, 1, (0, 1, 1)),
    )
    a, w = draw(1, 2, 3, 4, 3), draw(2, 3, 2, 3, 2)
    check(
        lambda x, y: relay.nn.conv3d_transpose(x, y, strides=(2, 1, 2), padding=(1, 1, 0), output_padding=(1, 0, 1)),
        [a, w],
        testing.conv3d_transpose_ncdhw_python(a, w, (2, 1, 2), (1, 1, 0), (1, 0, 1)),
    )


def test_transposed_and_backward_convolutions():
    a, w = draw(1, 5, 4, 3), draw(3, 2, 3, 3)
    check(
        lambda x, y: relay.nn.conv2d_transpose(
            x, y, strides=(2, 2), padding=(1, 1), data_layout="NHWC", kernel_layout="IOHW"
        ),
        [a, w],
        testing.conv2d_transpose_nhwc_python(a, w, "IOHW", 2, 1),
    )
    dy, x = draw(2, 6, 4, 3), draw(2, 4, 8, 6)
    check(
        lambda g, d: relay.nn.conv2d_backward_weight(
            g, d, strides=(2, 2), padding=(1, 1), kernel_size=(3, 3), channels=6, groups=1
        ),
        [dy, x],
        testing.conv2d_backward_weight_python(dy, x, (3, 3), (2, 2), (1, 1)),
    )
    a, w = draw(1, 5, 6, 4), draw(3, 3, 4, 2)
    check(
        lambda x, y: relay.nn.conv2d(x, y, padding=(1, 1), groups=4, data_layout="NHWC", kernel_layout="HWOI"),
        [a, w],
        testing.depthwise_conv2d_python_nhwc(a, w, 1, 1),
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil", [False, True])
def test_pools(kind, ceil):
    pools = {1: relay.nn.max_pool1d, 2: relay.nn.max_pool2d, 3: relay.nn.max_pool3d}
    if kind == "avg":
        pools = {1: relay.nn.avg_pool1d, 2: relay.nn.avg_pool2d, 3: relay.nn.avg_pool3d}
    for rank, pool in pools.items():
        a = draw(1, 2, *([9, 8, 7][:rank]))
        for counted in [True, False] if kind == "avg" else [True]:
            more = {"count_include_pad": counted} if kind == "avg" else {}
            dilation = [2] * rank if kind == "max" else [1] * rank
            check(
                lambda x, p=pool, d=dilation, m=more, r=rank: p(
                    x, [3] * r, [2] * r, d, [1] * (2 * r), ceil_mode=ceil, **m
                ),
                [a],
                testing.poolnd_python(a, [3] * rank, [2] * rank, dilation, [1] * rank, [1] * rank, kind, counted, ceil),
            )
    a = draw(2, 3, 6, 5)
    check(
        lambda x: getattr(relay.nn, f"adaptive_{kind}_pool2d")(x, (3, 2)),
        [a],
        testing.adaptive_pool(a, (3, 2), kind),
    )
    if ceil and kind == "avg":
        return  # what hangs over the padding is not counted here, as in PyTorch
    out = testing.poolnd_python(a, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], kind, True, ceil)
    grad = draw(*out.shape)
    more = {"count_include_pad": True} if kind == "avg" else {}
    check(
        lambda g, x: getattr(relay.nn, f"{kind}_pool2d_grad")(g, x, (3, 3), (2, 2), (1, 1), ceil_mode=ceil, **more),
        [grad, a],
        testing.pool_grad_nchw(a, grad, (3, 3), (2, 2), [1, 1, 1, 1], kind, ceil, True),
    )


def test_normalisations():
    a = draw(1, 6, 4, 3)
    check(lambda x: relay.nn.lrn(x, 3, 1, 0.75, 0.01, 0.6), [a], testing.lrn_python(a, 3, 1, 0.75, 0.01, 0.6))
    check(lambda x: relay.nn.l2_normalize(x, 1e-3, axis=[1]), [a], testing.l2_normalize_python(a, 1e-3, 1))


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
def test_resizes(method, mode):
    a = draw(1, 2, 5, 4)
    check(
        lambda x: relay.image.resize2d(x, (10, 8), None, "NCHW", method, mode),
        [a],
        testing.resize2d_python(a, (2, 2), "NCHW", method, mode),
    )
    if method != "cubic":
        b = draw(1, 3, 4, 5, 2)
        check(
            lambda x: relay.image.resize3d(x, (6, 8, 10), None, "NDHWC", method, mode),
            [b],
            testing.resize3d_python(b, (2, 2, 2), "NDHWC", method, mode),
        )
    c = draw(1, 2, 5)
    check(
        lambda x: relay.image.resize1d(x, 15, None, "NCW", method, mode),
        [c],
        testing.resize1d_python(c, (3,), "NCW", method, mode),
    )


def test_images():
    a, boxes = draw(2, 5, 6, 3), np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1.2]], "float32")
    places = np.array([1, 0], "int32")
    for method in ("bilinear", "nearest_neighbor"):
        check(
            lambda x, b, i, m=method: relay.image.crop_and_resize(x, b, i, (3, 4), "NHWC", m, 0.5),
            [a, boxes, places],
            testing.crop_and_resize_python(a, boxes, places, (3, 4), "NHWC", method, 0.5),
        )
    theta = draw(2, 2, 3)
    check(lambda x: relay.image.affine_grid(x, (4, 5)), [theta], testing.affine_grid_python(theta, (4, 5)))
    image, grid = draw(2, 3, 5, 6), (random.random((2, 2, 4, 3)) * 2.6 - 1.3).astype("float32")
    for method in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                check(
                    lambda x, g, m=method, p=padding, c=corners: relay.image.grid_sample(x, g, m, "NCHW", p, c),
                    [image, grid],
                    testing.grid_sample_python(image, grid, method, "NCHW", padding, corners),
                    1e-3,
                )


def test_deformable_and_correlation():
    a, w = draw(1, 4, 6, 5), draw(6, 2, 3, 3)
    offset = (random.random((1, 2 * 2 * 9, 6, 5)) * 2 - 1).astype("float32")
    check(
        lambda x, o, y: relay.nn.deformable_conv2d(
            x, o, y, padding=(1, 1), deformable_groups=2, groups=2, channels=6, kernel_size=(3, 3)
        ),
        [a, offset, w],
        testing.deformable_conv2d_nchw_python(a, offset, w, 1, 1, 1, 2, 2),
    )
    for multiply in (True, False):
        first, second = draw(1, 3, 6, 6), draw(1, 3, 6, 6)
        check(
            lambda x, y, m=multiply: relay.nn.correlation(
                x, y, kernel_size=3, max_displacement=2, stride1=1, stride2=1, padding=3, is_multiply=m, layout="NCHW"
            ),
            [first, second],
            testing.correlation_nchw_python(first, second, 3, 2, 1, 1, 3, multiply),
        )


def test_regions():
    a = draw(2, 3, 8, 8)
    rois = np.array([[0, 1, 1, 9, 12], [1, 2.5, 0, 14, 7]], "float32")
    check(
        lambda x, r: relay.vision.roi_align(x, r, (2, 3), 0.5, 2, mode="avg"),
        [a, rois],
        testing.roi_align_nchw_python(a, rois, (2, 3), 0.5, 2, "avg"),
    )
    check(
        lambda x, r: relay.vision.roi_pool(x, r, (2, 2), 0.5),
        [a, rois],
        testing.roi_pool_nchw_python(a, rois, 2, 0.5),
    )


def test_slices():
    a = draw(4, 5, 6)
    for begin, end, strides, mode in [
        ((1, 0, 2), (3, 5, 6), (1, 2, 2), "end"),
        ((-1, 0), (-5, 4), (-1, 1), "end"),
        ((1, 0, 2), (2, -1, 3), (1, 1, 1), "size"),
    ]:
        check(
            lambda x, b=begin, e=end, s=strides, m=mode: relay.strided_slice(x, b, e, s, slice_mode=m),
            [a],
            testing.strided_slice_python(a, begin, end, strides, mode),
        )
    v = draw(2, 2, 6)
    check(
        lambda x, y: relay.strided_set(x, y, (1, 0, 0), (3, 4, 6), (1, 2, 1)),
        [a, v],
        testing.strided_set_python(a, v, (1, 0, 0), (3, 4, 6), (1, 2, 1)),
    )
    indices = random.integers(0, 4, (3, 5, 6)).astype("int64")
    check(lambda x, i: relay.gather(x, 0, i), [a, indices], testing.gather_python(a, 0, indices))


def test_blocks():
    a = draw(1, 2, 4, 6)
    check(lambda x: relay.nn.space_to_depth(x, 2), [a], testing.space_to_depth_python(a, 2))
    b = draw(1, 8, 2, 3)
    for mode in ("DCR", "CRD"):
        check(lambda x, m=mode: relay.nn.depth_to_space(x, 2, mode=m), [b], testing.depth_to_space_python(b, 2, mode))
    c = draw(2, 4, 5, 3)
    spread = testing.space_to_batch_nd_python(c, [2, 3], [0, 1], [0, 0], 0.5)
    check(lambda x: relay.nn.space_to_batch_nd(x, [2, 3], [[0, 0], [1, 0]], 0.5), [c], spread)
    back = testing.batch_to_space_nd_python(spread, [2, 3], [0, 1], [0, 0])
    np.testing.assert_array_equal(back, c)
    check(lambda x: relay.nn.batch_to_space_nd(x, [2, 3], [[0, 0], [1, 0]]), [spread], c)
    d = draw(1, 8, 4, 4)
    check(lambda x: relay.vision.yolo_reorg(x, 2), [d], testing.reorg_python(d, 2))


def test_masks_diagonals_and_losses():
    a, lengths = draw(5, 3, 2), np.array([2, 5, 0], "int32")
    check(lambda x, n: relay.sequence_mask(x, n, -1.0, 0), [a, lengths], testing.sequence_mask(a, lengths, -1.0, 0))
    matrix = draw(2, 4, 5)
    for k, align in [(0, "RIGHT_LEFT"), ((-1, 2), "RIGHT_LEFT"), ((-1, 2), "LEFT_RIGHT"), ((-2, 1), "LEFT_LEFT")]:
        low, high = (k, k) if isinstance(k, int) else k
        longest = max(min(4 + min(d, 0), 5 - max(d, 0)) for d in range(low, high + 1))
        diagonal = draw(2, longest) if low == high else draw(2, high - low + 1, longest)
        check(
            lambda x, d, k=k, g=align: relay.matrix_set_diag(x, d, k, g),
            [matrix, diagonal],
            testing.matrix_set_diag(matrix, diagonal, k, align),
        )
    scores, targets = draw(4, 5, 3), random.integers(0, 5, (4, 3)).astype("int32")
    targets[0, 0] = -100
    weights = random.random(5).astype("float32")
    for reduction in ("mean", "sum", "none"):
        check(
            lambda p, t, w, r=reduction: relay.nn.nll_loss(p, t, w, reduction=r, ignore_index=-100),
            [scores, targets, weights],
            testing.nll_loss(scores, targets, weights, reduction, -100),
        )
    ordered, values = np.sort(draw(3, 6), 1), draw(3, 4)
    for right in (True, False):
        check(
            lambda s, v, r=right: relay.searchsorted(s, v, r, "int64"),
            [ordered, values],
            testing.searchsorted_ref(ordered, values, right, "int64"),
        )
