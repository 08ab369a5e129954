"""Gradients of whole models equal PyTorch's: straight-line models, models with recursion and data types, and gradients
of higher order."""

import itertools

import numpy as np
import pytest
import relay.testing
from differentiated import LSTM, check, close, module, random, straight, torch_gradients, var

import relay

torch = pytest.importorskip("torch")
F = torch.nn.functional


def test_mlp():
    x, w1, b1, w2, b2 = var("x", 4, 6), var("w1", 8, 6), var("b1", 8), var("w2", 3, 8), var("b2", 3)
    target = var("target", 4, dtype="int32")
    hidden = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w1), b1))
    scores = relay.nn.log_softmax(relay.nn.dense(hidden, w2) + b2)
    weights = relay.ones(shape=[3], dtype="float32")
    mod = module([x, w1, b1, w2, b2, target], relay.nn.nll_loss(scores, target, weights))
    made = check(
        mod,
        lambda x, w1, b1, w2, b2, t: F.cross_entropy(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), t.long()),
        [random(4, 6), random(8, 6), random(8), random(3, 8), random(3), np.array([0, 2, 1, 2], "int32")],
    )
    assert straight(made)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_loss_beside_infinite_scores(reduction):
    """Scores of minus infinity stand for excluded classes; they count in no row whose target is another one."""
    scores = np.array([[-np.inf, -1, -2], [-np.inf, -3, -np.inf], [-4, -np.inf, -5]], "float32")
    targets = np.array([1, -100, 0], "int64")  # -100 is ignored
    x, target = var("x", 3, 3), var("t", 3, dtype="int64")
    loss = relay.nn.nll_loss(x, target, relay.ones(shape=[3], dtype="float32"), reduction=reduction)
    wanted = F.nll_loss(torch.tensor(scores), torch.tensor(targets), reduction=reduction)
    np.testing.assert_array_equal(relay.compile(module([x, target], loss))(scores, targets), wanted)
    mod = module([x, target], loss if reduction != "none" else relay.sum(loss))
    value, [slope] = relay.compile(relay.value_and_grad(mod, ["x"]))(scores, targets)
    tensor = torch.tensor(scores, requires_grad=True)
    total = F.nll_loss(tensor, torch.tensor(targets), reduction=reduction).sum()
    total.backward()
    np.testing.assert_array_equal(value, total.detach())
    np.testing.assert_array_equal(slope, tensor.grad)


def test_cnn():
    x, k1, k2, g, b = var("x", 2, 3, 9, 9), var("k1", 8, 3, 3, 3), var("k2", 8, 2, 3, 3), var("g", 8), var("b", 8)
    w = var("w", 5, 8)
    mean, variance = var("mean", 8), var("variance", 8)
    y = relay.nn.relu(relay.nn.conv2d(x, k1, strides=[2, 2], padding=[1, 1]))
    y = relay.nn.batch_norm(y, g, b, mean, variance)[0]
    y = y + relay.sigmoid(relay.nn.conv2d(y, k2, groups=4, padding=[1, 1]))
    y = relay.nn.max_pool2d(y, pool_size=[2, 2], strides=[1, 1])
    y = relay.nn.avg_pool2d(y, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), w)
    mod = module([x, k1, k2, g, b, mean, variance, w], relay.sum(relay.nn.softmax(y) * y))

    def loss(x, k1, k2, g, b, mean, variance, w):
        y = F.relu(F.conv2d(x, k1, stride=2, padding=1))
        y = F.batch_norm(y, mean, variance, g, b)
        y = y + torch.sigmoid(F.conv2d(y, k2, groups=4, padding=1))
        y = F.avg_pool2d(F.max_pool2d(y, 2, 1), 3, 2, 1, count_include_pad=False)
        y = F.linear(y.mean((2, 3)), w)
        return (F.softmax(y, -1) * y).sum()

    arrays = [random(2, 3, 9, 9), random(8, 3, 3, 3), random(8, 2, 3, 3), random(8), random(8), random(8)]
    arrays += [np.abs(random(8)) + 0.5, random(5, 8)]
    # PyTorch does not differentiate by means and variances.
    made = relay.value_and_grad(mod, ["x", "k1", "k2", "g", "b", "w"])
    tensors = [torch.tensor(a, dtype=torch.float64) for a in arrays]
    for at in (0, 1, 2, 3, 4, 7):
        tensors[at].requires_grad_()
    want = loss(*tensors)
    gradients = torch.autograd.grad(want, [tensors[at] for at in (0, 1, 2, 3, 4, 7)])
    value, got = relay.compile(made)(*arrays)
    close(value, want.detach())
    for one, expected in zip(got, gradients, strict=True):
        close(one, expected)
    assert straight(made)


def test_transformer_block():
    d, heads, tokens = 8, 2, 5
    x, g, b = var("x", tokens, d), var("g", d), var("b", d)
    qkv, out, up, down = var("qkv", 3 * d, d), var("out", d, d), var("up", 4 * d, d), var("down", d, 4 * d)

    def split_heads(t):
        return relay.transpose(relay.reshape(t, newshape=[tokens, heads, d // heads]), axes=[1, 0, 2])

    y = relay.nn.layer_norm(x, g, b)
    q, k, v = (split_heads(t) for t in relay.split(relay.nn.dense(y, qkv), indices_or_sections=3, axis=1))
    scores = relay.nn.batch_matmul(q, k, transpose_b=True) * relay.const(np.float32((d // heads) ** -0.5))
    mixed = relay.nn.batch_matmul(relay.nn.softmax(scores), v, transpose_b=False)
    mixed = relay.reshape(relay.transpose(mixed, axes=[1, 0, 2]), newshape=[tokens, d])
    y = x + relay.nn.dense(mixed, out)
    hidden = relay.nn.dense(relay.nn.layer_norm(y, g, b), up)
    hidden = hidden * relay.const(0.5) * (relay.const(1.0) + relay.erf(hidden * relay.const(np.float32(0.5**0.5))))
    mod = module([x, g, b, qkv, out, up, down], relay.mean(relay.nn.dense(hidden, down) * y))

    def loss(x, g, b, qkv, out, up, down):
        y = F.layer_norm(x, (d,), g, b)
        q, k, v = (t.reshape(tokens, heads, -1).transpose(0, 1) for t in F.linear(y, qkv).chunk(3, 1))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(0, 1).reshape(tokens, d)
        y = x + F.linear(mixed, out)
        return (F.linear(F.gelu(F.linear(F.layer_norm(y, (d,), g, b), up)), down) * y).mean()

    shapes = [(tokens, d), (d,), (d,), (3 * d, d), (d, d), (4 * d, d), (d, 4 * d)]
    assert straight(check(mod, loss, [random(*shape) for shape in shapes]))


def test_lstm_over_a_list():
    mod = relay.parse(LSTM)
    made = relay.value_and_grad(mod, ["xs", "w", "u", "b"])
    xs, w, u, b = [random(1, 3) for _ in range(6)], random(16, 3), random(16, 4), random(16)
    values = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (*xs, w, u, b)]
    lstm = torch.nn.LSTM(3, 4).double()
    state = dict(zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0"), values[6:], strict=True))
    state["bias_hh_l0"] = torch.zeros(16, dtype=torch.float64)
    want = torch.func.functional_call(lstm, state, (torch.stack(values[:6]),))[1][0].sum()
    gradients = torch.autograd.grad(want, values)
    for run in (relay.compile(made), lambda *a: relay.evaluate(made, list(a))):
        value, (d_xs, *d_weights) = run(xs, w, u, b)
        close(value, want.detach())
        for got, expected in zip(d_weights, gradients[6:], strict=True):
            close(got, expected)
        for got, expected in zip(relay.values.as_list(d_xs), gradients[:6], strict=True):
            close(got, expected)


TREE = """#[version = "0.0.5"]
type Tree { Leaf(Tensor[(1, 4), float32]), Node(Tree, Tree) }
def @encode(%t: Tree, %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) -> Tensor[(1, 4), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Node(%l, %r) => tanh(nn.bias_add(
      nn.dense(concatenate((@encode(%l, %w, %b), @encode(%r, %w, %b)), axis=1), %w), %b)),
  }
}
def @main(%x: Tensor[(1, 4), float32], %y: Tensor[(1, 4), float32], %w: Tensor[(4, 8), float32],
          %b: Tensor[(4), float32]) {
  sum(@encode(Node(Node(Leaf(%x), Leaf(%y)), Node(Leaf(%y), Node(Leaf(%x), Leaf(%x)))), %w, %b))
}
"""


def test_recursive_network_over_a_tree():
    def loss(x, y, w, b):
        def node(left, right):
            return torch.tanh(F.linear(torch.cat((left, right), 1), w, b))

        return node(node(x, y), node(y, node(x, x))).sum()

    check(relay.parse(TREE), loss, [random(1, 4), random(1, 4), random(4, 8), random(4)])


def energy():
    x, w = var("x", 3), var("w", 3, 3)
    y = relay.nn.dense(relay.reshape(x, newshape=[1, 3]), w)
    return module([x, w], relay.sum(relay.tanh(y) * relay.exp(x)))


def torch_energy(x, w):
    return (torch.tanh(x.reshape(1, 3) @ w.T) * torch.exp(x)).sum()


def test_jvp():
    arrays, changes = [random(3), random(3, 3)], [random(3), random(3, 3)]
    made = relay.jvp(energy())
    double = [tuple(torch.tensor(a, dtype=torch.float64) for a in part) for part in (arrays, changes)]
    want, change = torch.func.jvp(torch_energy, *double)
    got = relay.compile(made)(*arrays, *changes)
    close(got[0], want)
    close(got[1], change)
    assert straight(made)


def test_vjp_of_a_result_of_any_shape():
    x, w = var("x", 2, 3), var("w", 4, 3)
    made = relay.vjp(module([x, w], relay.exp(relay.nn.dense(x, w))))
    arrays, seed = [random(2, 3), random(4, 3)], random(2, 4)
    double = [torch.tensor(a, dtype=torch.float64) for a in arrays]
    want, back = torch.func.vjp(lambda x, w: torch.exp(F.linear(x, w)), *double)
    value, gradients = relay.compile(made)(*arrays, seed)
    close(value, want)
    for got, expected in zip(gradients, back(torch.tensor(seed, dtype=torch.float64)), strict=True):
        close(got, expected)


# Operators in Relay and in PyTorch, and the shapes of their inputs.
WINDOWS = {
    "avg_pool3d": (
        lambda x: relay.nn.avg_pool3d(x, pool_size=[2, 3, 3], strides=[2], padding=[1], count_include_pad=True),
        lambda x: F.avg_pool3d(x, (2, 3, 3), 2, 1),
        [(2, 3, 4, 7, 6)],
    ),
    "max_pool3d": (
        lambda x: relay.nn.max_pool3d(x, pool_size=[3, 2, 3], strides=[1, 2, 2], padding=[1, 0, 1]),
        lambda x: F.max_pool3d(x, (3, 2, 3), (1, 2, 2), (1, 0, 1)),
        [(2, 3, 4, 6, 7)],
    ),
    "adaptive_avg_pool2d": (
        lambda x: relay.nn.adaptive_avg_pool2d(x, output_size=[3, 4]),
        lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
        [(1, 2, 7, 10)],
    ),
    "adaptive_max_pool3d": (
        lambda x: relay.nn.adaptive_max_pool3d(x, output_size=[2, 3, 2]),
        lambda x: F.adaptive_max_pool3d(x, (2, 3, 2)),
        [(1, 2, 3, 7, 4)],
    ),
    "conv3d": (
        lambda x, w: relay.nn.conv3d(x, w, strides=[2], padding=[1], groups=2),
        lambda x, w: F.conv3d(x, w, stride=2, padding=1, groups=2),
        [(2, 4, 4, 5, 6), (6, 2, 3, 3, 3)],
    ),
    "conv1d_transpose": (
        lambda x, w: relay.nn.conv1d_transpose(x, w, strides=[3], padding=[1], output_padding=[1], dilation=[2]),
        lambda x, w: F.conv_transpose1d(x, w, stride=3, padding=1, output_padding=1, dilation=2),
        [(2, 3, 5), (3, 4, 3)],
    ),
    "conv3d_transpose": (
        lambda x, w: relay.nn.conv3d_transpose(x, w, strides=[2, 2, 2], padding=[1], groups=2),
        lambda x, w: F.conv_transpose3d(x, w, stride=2, padding=1, groups=2),
        [(1, 4, 2, 3, 4), (4, 2, 3, 3, 3)],
    ),
    "lrn": (
        lambda x: relay.nn.lrn(x, size=3, alpha=0.5, bias=1.0),
        lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.0),
        [(2, 5, 3, 4)],
    ),
    "resize2d": (
        lambda x: relay.image.resize2d(x, size=[9, 4], method="linear"),
        lambda x: F.interpolate(x, (9, 4), mode="bilinear"),
        [(2, 3, 5, 6)],
    ),
    "cubic": (
        lambda x: relay.image.resize2d(x, size=[9, 4], method="cubic", cubic_alpha=-0.75),
        lambda x: F.interpolate(x, (9, 4), mode="bicubic"),
        [(2, 3, 5, 6)],
    ),
    "upsampling": (
        lambda x: relay.nn.upsampling(x, scale_h=2.0, scale_w=3.0),
        lambda x: F.interpolate(x, scale_factor=(2, 3)),
        [(2, 3, 5, 6)],
    ),
    "upsampling3d": (
        lambda x: relay.nn.upsampling3d(x, 2.0, 2.0, 2.0, method="trilinear"),
        lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
        [(1, 2, 2, 3, 4)],
    ),
    "grid_sample": (
        lambda x, g: relay.image.grid_sample(x, g, padding_mode="reflection"),
        lambda x, g: F.grid_sample(x, g.movedim(1, -1), padding_mode="reflection", align_corners=True),
        [(2, 3, 5, 6), (2, 2, 3, 4)],
    ),
    "mirror_pad": (
        lambda x: relay.nn.mirror_pad(x, pad_width=[[0, 0], [0, 0], [2, 1], [1, 3]], mode="REFLECT"),
        lambda x: F.pad(x, (1, 3, 2, 1), mode="reflect"),
        [(1, 2, 4, 5)],
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_and_resampling(name):
    ours, theirs, shapes = WINDOWS[name]
    params = [var(f"x{k}", *shape) for k, shape in enumerate(shapes)]
    y = ours(*params)
    check(module(params, relay.sum(y * y)), lambda *x: theirs(*x).square().sum(), [random(*shape) for shape in shapes])


@pytest.mark.parametrize("reduction", ["update", "add", "mul", "mean", "min", "max"])
def test_scatter_with_ties_and_zeros(reduction):
    """Products with zeros among updates, in data and in both; updates that are equal to each other and to data."""
    data = np.array([[0, 2, 0, 3, 5], [1, 2, 3, 4, 5]], "float32")
    updates = np.array([[0, 0, 7, 2, 2], [7, 0, 5, 4, 4]], "float32")
    places = np.array([[0, 0, 2, 3, 3], [0, 0, 4, 1, 3]], "int64")
    weight = random(2, 5)
    theirs = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}.get(reduction, reduction)

    def loss(d, i, u, w):
        y = d.scatter(1, i, u) if reduction == "update" else d.scatter_reduce(1, i, u, theirs)
        return (w * y).sum()

    d, i, u, w = var("d", 2, 5), var("i", 2, 5, dtype="int64"), var("u", 2, 5), var("w", 2, 5)
    arrays = [data, places, updates, weight]
    if reduction == "update":  # of several updates of a place PyTorch may take any
        arrays[1] = np.argsort(random(2, 5), axis=1)
    check(module([d, i, u, w], relay.sum(w * relay.scatter_elements(d, i, u, 1, reduction))), loss, arrays)
    if reduction != "mean":
        rows = relay.const(np.array([[0] * 5, [1] * 5], "int64"))
        y = relay.scatter_nd(d, relay.stack([rows, i], axis=0), u, reduction)
        check(module([d, i, u, w], relay.sum(w * y)), loss, arrays)


def test_diagonals_of_any_size():
    mod = relay.parse("""#[version = "0.0.5"]
    def @main(%x: Tensor[(n, n, n), float32], %w: Tensor[(n), float32]) {
      sum(einsum((%x, %w), equation="iii,i->i"))
    }""")
    check(mod, lambda x, w: torch.einsum("iii,i->i", x, w).sum(), [random(4, 4, 4), random(4)])


def test_hessian_and_its_product_with_a_vector():
    arrays, v = [random(3), random(3, 3)], random(3)
    x, w = (torch.tensor(a, dtype=torch.float64) for a in arrays)
    want = torch.autograd.functional.hessian(lambda x: torch_energy(x, w), x)
    close(relay.compile(relay.hessian(energy(), "x"))(*arrays), want)
    close(relay.compile(relay.hvp(energy(), "x"))(*arrays, v), want @ torch.tensor(v, dtype=torch.float64))


def test_sizes_may_stay_open():
    mod = relay.parse("""#[version = "0.0.5"]
    def @main(%x: Tensor[(n, 3), float32], %w: Tensor[(4, 3), float32]) { mean(tanh(nn.dense(%x, %w))) }""")
    step = relay.compile(relay.value_and_grad(mod))
    for n in (2, 7):
        arrays = [random(n, 3), random(4, 3)]
        want, gradients = torch_gradients(lambda x, w: torch.tanh(F.linear(x, w)).mean(), arrays)
        value, got = step(*arrays)
        close(value, want)
        for one, expected in zip(got, gradients, strict=True):
            close(one, expected)


@pytest.mark.parametrize(
    ("call", "types", "arrays"),
    [
        ("image.resize2d(%x0, size=[9, 4])", ["(n, c, h, w)"], [random(2, 3, 5, 6)]),
        ('image.resize2d(%x0, size=[2 * h, 4], method="cubic")', ["(1, 2, h, w)"], [random(1, 2, 5, 6)]),
        (
            'image.resize1d(%x0, size=[m], method="nearest_neighbor", coordinate_transformation_mode="align_corners")',
            ["(1, 2, w)", "(m)"],
            [random(1, 2, 5), random(8)],
        ),
        (
            'image.resize3d(%x0, size=[3, 2, 5], layout="NDHWC", roi=[0.1f, 0f, 0.2f, 1f, 0.5f, 1.5f], '
            'coordinate_transformation_mode="tf_crop_and_resize")',
            ["(n, d, h, w, 2)"],
            [random(1, 2, 3, 4, 2)],
        ),
        ("nn.upsampling3d(%x0, scale_h=2f, scale_w=3f)", ["(n, 1, d, h, w)"], [random(1, 1, 2, 3, 2)]),
        ("nn.adaptive_avg_pool2d(%x0, output_size=[3, 1])", ["(n, 2, h, w)"], [random(2, 2, 7, 5)]),
        ("concatenate((%x0, %x1, %x0), axis=1)", ["(2, h)", "(2, w)"], [random(2, 5), random(2, 3)]),
        ("nn.lrn(%x0, size=3)", ["(n, c, h, w)"], [random(2, 5, 2, 3)]),
        ("nn.fifo_buffer(%x0, %x1, axis=1)", ["(n, 2)", "(n, w)"], [random(2, 2), random(2, 5)]),
        ("nn.avg_pool3d(%x0, pool_size=[2], strides=[2])", ["(n, 3, d, h, w)"], [random(2, 3, 4, 5, 6)]),
        ('nn.pad(%x0, 0f, pad_width=[[0, 0], [1, 2]], pad_mode="edge")', ["(n, h)"], [random(2, 4)]),
        ("slice_like(%x0, %x1)", ["(n, 6)", "(m, 4)"], [random(5, 6), random(3, 4)]),
        ("image.grid_sample(%x0, %x1)", ["(n, c, y, x)", "(n, 2, h, w)"], [random(2, 3, 4, 5), random(2, 2, 3, 2)]),
        (
            "vision.roi_align(%x0, %x1, pooled_size=[2, 3], spatial_scale=1f, sample_ratio=2)",
            ["(n, 3, h, w)", "(m, 5)"],
            [random(2, 3, 7, 8), np.array([[0, 1, 1, 5, 6], [1, 2.5, 0, 3, 4], [1, 0, 3, 7, 7]], "float32")],
        ),
    ],
)
def test_sizes_of_windows_may_stay_open(call, types, arrays):
    params = ", ".join(f"%x{k}: Tensor[{t}, float32]" for k, t in enumerate(types))
    mod = relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ sum(exp({call})) }}')
    made = relay.value_and_grad(mod, "x0")
    _, gradient = relay.compile(made)(*arrays)
    close(gradient, relay.evaluate(made, arrays)[1])
    run, step = relay.compile(mod), 1e-2 * random(*arrays[0].shape)
    change = float(run(arrays[0] + step, *arrays[1:])) - float(run(arrays[0] - step, *arrays[1:]))
    np.testing.assert_allclose(2 * (np.asarray(gradient) * step).sum(), change, rtol=2e-2, atol=2e-4)


def test_one_parameter_by_name_or_position():
    arrays = [random(3), random(3, 3)]
    by_name, by_position = relay.grad(energy(), "w"), relay.grad(energy(), 1)
    assert by_name == by_position
    close(relay.compile(by_name)(*arrays), torch_gradients(torch_energy, arrays)[1][1])


X = relay.var("x", shape=(3,))


def nodes(module):
    found = []
    relay.analysis.post_order_visit(module["main"], found.append)
    return len(found)


def chained(depth):
    """A pair of numbers, each made of both numbers of the pair before."""
    pair = relay.Tuple([relay.op.sin(X), relay.op.cos(X)])
    for _ in range(depth):
        first, second = relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, 1)
        pair = relay.Tuple([relay.op.add(first, second), relay.op.multiply(first, second)])
    return relay.module(relay.op.sum(relay.TupleGetItem(pair, 0)))


def inside(depth, others):
    """A number inside of that many pairs: each has the pair before, and the other field that others(pair) makes."""
    value = relay.op.sin(X)
    for _ in range(depth):
        value = relay.Tuple([others(value), value])
    for _ in range(depth):
        value = relay.TupleGetItem(value, 1)
    return relay.module(relay.op.sum(value))


@pytest.mark.parametrize("make", [chained, lambda depth: inside(depth, lambda value: relay.op.sin(X))],
                         ids=["one after the other", "one in the other"])  # fmt: skip
def test_gradients_of_pairs_grow_with_the_program(make):
    short, long = (nodes(relay.value_and_grad(make(depth))) for depth in (40, 160))
    assert long <= 4.5 * short


def test_gradients_of_pairs_of_one_value_twice():
    """The type has two parts for each one of the pair before, and the gradient has no more; far more are refused."""
    few, many = (nodes(relay.value_and_grad(inside(depth, lambda value: value))) for depth in (4, 8))
    assert many <= 18 * few
    with pytest.raises(relay.errors.CompileError, match="R0105.*\n(.*\n)*.*levels deep, and have 262144 parts"):
        relay.value_and_grad(inside(30, lambda value: value))


def test_what_cannot_be():
    x = var("x", 3)
    with pytest.raises(ValueError, match="the result must be one float, but is a Tensor"):
        relay.grad(module([x], relay.exp(x)))
    with pytest.raises(ValueError, match="wrt='y' is not a parameter; there are: x"):
        relay.grad(module([x], relay.sum(x)), "y")
    with pytest.raises(TypeError, match="expected a module or a function to differentiate, got str"):
        relay.grad("main")
    with pytest.raises(relay.CompileError, match="unique cannot be differentiated"):
        y = var("y", 3)
        relay.grad(module([y], relay.sum(relay.unique(y)[0])))


def test_the_names_of_relay():
    x = var("x", 3)
    function = relay.Function([x], relay.sum(relay.exp(x)))
    from relay.differentiation import FirstOrderGradient, gradient

    mod = relay.IRModule.from_expr(function)
    for made in (gradient(function), gradient(function, mode="first_order"), FirstOrderGradient()(mod)["main"]):
        value, (got,) = relay.evaluate(relay.IRModule.from_expr(made), [np.zeros(3, "float32")])
        close(value, 3)
        close(got, np.ones(3))
    branch = relay.Function([x], relay.If(relay.sum(x) < relay.const(0.0), x, relay.exp(x)))
    with pytest.raises(relay.CompileError, match="the program has control flow"):
        gradient(branch, mode="first_order")


def test_check_grad():
    x, y = var("x", 2, 3), var("y", 3)
    good = relay.Function([x, y], relay.tanh(x * y) / (relay.exp(y) + relay.const(1.0)))
    relay.testing.check_grad(good)
    relay.testing.check_grad(good, inputs=[random(2, 3), random(3)], mode="first_order")
    steps = relay.Function([x], relay.nn.relu(x))
    with pytest.raises(AssertionError):  # at the corner both halves count
        relay.testing.check_grad(steps, inputs=[np.zeros((2, 3), "float32")])


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, -1.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "bfloat16"))
@pytest.mark.parametrize("name", ("power", "maximum", "minimum"))
def test_slopes_at_special_values(name, dtype):
    """Zeros, infinities, NaN and whole negative exponents, also where the gradient of the result is infinite."""
    kind = getattr(torch, dtype)
    lhs, rhs, dy = (
        torch.tensor(v, dtype=kind) for v in np.transpose(list(itertools.product(SPECIAL, SPECIAL, (0.5, np.inf))))
    )
    leaves = [lhs.clone().requires_grad_(), rhs.clone().requires_grad_()]
    want = torch.autograd.grad(getattr(torch, name.replace("power", "pow"))(*leaves), leaves, dy)
    x, y, d = (relay.var(name, shape=(len(lhs),), dtype=dtype) for name in "xyd")
    mod = module([x, y, d], relay.sum(relay.multiply(getattr(relay, name)(x, y), d)))
    made, given = relay.value_and_grad(mod, ["x", "y"]), [relay.array(v) for v in (lhs, rhs, dy)]
    for run in (relay.compile(made), lambda *a: relay.evaluate(made, list(a))):
        for slope, expected in zip(run(*given)[1], want, strict=True):
            rtol = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
            np.testing.assert_allclose(np.asarray(slope).astype("float64"), expected.double().numpy(), rtol=rtol)


def test_functions_with_declared_types_and_sizes():
    """Functions that do not call themselves are inlined: an empty list has its type from a function's result."""
    mod = relay.parse("""#[version = "0.0.5"]
import "list"
def @none() -> List[Tensor[(3), float32]] { Nil }
def @squares(%k: Tensor[(m), float32]) -> float32 { sum(multiply(%k, add(%k, zeros(shape=[m])))) }
def @main(%x: Tensor[(3), float32]) {
  @foldl(fn (%s: float32, %y: Tensor[(3), float32]) { add(%s, @squares(%y)) }, 0f, Cons(%x, @none()))
}""")
    x = np.array([1, -2, 3], "float32")
    np.testing.assert_allclose(relay.compile(relay.grad(mod, "x"))(x), 2 * x)
