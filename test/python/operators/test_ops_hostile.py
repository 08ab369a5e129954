"""Operators with absurd attributes, sizes and types: refused with a diagnostic, or computed, in little time.

`test/ops/hostile.py` changes every attribute and input of every operator; here are the cases that it found.
"""

import numpy as np
import pytest

import relay

HEADER = '#[version = "0.0.5"]\n'


def module_of(body, parameters=""):
    return relay.parse(f"{HEADER}def @main({parameters}) {{ {body} }}")


def test_many_mel_bands_compile():
    """4096 bands of 9 bins: a table, whose choice was once written out for each band."""
    bands = "num_mel_bins={}, dft_length=16, sample_rate=8192, lower_edge_hertz=0f, upper_edge_hertz=4096f"
    module = module_of(f"mel_weight_matrix({bands.format(4096)})")
    got = relay.compile(module)()
    assert got.shape == (9, 4096)
    assert np.array_equal(got, relay.evaluate(module, []))
    with pytest.raises(relay.CompileError, match="num_mel_bins 4097 should be in 1 to 4096"):
        relay.compile(module_of(f"mel_weight_matrix({bands.format(4097)})"))


def test_lrn_of_more_neighbours_than_channels():
    module = module_of(f"nn.lrn(%x, size={2**31 + 1}, alpha={2**31 + 1}f)", "%x: Tensor[(2, 4, 3), float32]")
    value = np.random.default_rng(0).random((2, 4, 3), np.float32)
    got = relay.compile(module)(value)
    assert np.allclose(got, value / (2 + (value**2).sum(1, keepdims=True)) ** 0.75, rtol=1e-5)


def test_quantised_product_of_scales_of_two_types():
    parameters = "%x: Tensor[(3), int8], %s: float64, %z: int32, %t: float32, %o: float32"
    module = module_of("qnn.mul(%x, %x, %s, %z, %t, %z, %o, %z)", parameters)
    inputs = [np.array([3, -5, 9], "int8"), np.float64(0.5), np.int32(0), np.float32(0.25), np.float32(0.125)]
    want = np.clip(np.array([9, 25, 81]), -128, 127)
    for got in (relay.compile(module)(*inputs), relay.evaluate(module, inputs)):
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("call", ["dyn.tile(%x, %n)", "dyn.broadcast_to(%x, %n)", "dyn.reshape(%x, %n)"])
def test_a_shape_of_2_to_the_62_values(call):
    with pytest.raises(relay.CompileError, match="more than a tensor has axes|elements, more than the limit"):
        relay.compile(module_of(call, f"%x: Tensor[(2, 3), float32], %n: Tensor[({2**62}), int64]"))


def test_a_scale_beyond_all_sizes():
    with pytest.raises(relay.CompileError, match="scales must be positive and at most 2\\^40"):
        relay.compile(module_of("nn.upsampling(%x, scale_h=1e300f)", "%x: Tensor[(1, 2, 4, 4), float32]"))


@pytest.mark.parametrize(("value", "stored"), [("nanf", 0), ("1e300f", 2**31 - 1), ("-1e300f", -(2**31))])
def test_a_float_attribute_among_integers(value, stored):
    module = module_of(f"nn.dilate(%x, strides=[2], dilation_value={value})", "%x: Tensor[(2), int32]")
    given = np.array([5, 6], "int32")
    for got in (relay.compile(module)(given), relay.evaluate(module, [given])):
        assert got.tolist() == [5, stored, 6]


def test_evaluating_what_no_memory_holds():
    module = module_of(f"broadcast_to(%x, shape=[{2**46}, 3, 4])", "%x: Tensor[(3, 1), float32]")
    with pytest.raises(relay.CompileError, match="R0603"):
        relay.evaluate(module, [np.zeros((3, 1), "float32")])
    with pytest.raises(relay.CompileError, match="R0603"):
        relay.compile(module)(np.zeros((3, 1), "float32"))


def test_a_window_of_2_to_the_31_taps_is_scheduled():
    weight = f"%w: Tensor[(3, 4, 3, {2**31}), float32]"
    module = module_of("nn.conv2d_transpose(%x, %w, padding=[1, 1])", f"%x: Tensor[(1, 3, 4, 5), float32], {weight}")
    assert relay.compile(module).inputs[1].shape[3] == 2**31


def test_indices_of_elements_along_many_axes():
    """There are none of negative sizes; as many as no int64 counts are counted as the most."""
    module = module_of("unravel_index(%x, %n)", "%x: Tensor[(6), int32], %n: Tensor[(3), int32]")
    numbers, shape = np.array([0, 5, 23, 59, 7, 30], "int32"), np.array([3, 4, 5], "int32")
    assert np.array_equal(relay.compile(module)(numbers, shape), np.stack(np.unravel_index(numbers, shape)))
    vast = np.array([2**31 - 1, 2**31 - 1, 2**31 - 1], "int32")
    for run in (relay.compile(module), lambda *inputs: relay.evaluate(module, list(inputs))):
        assert np.array_equal(run(numbers, vast), [[0] * 6, [0] * 6, numbers])
        for extreme in (np.array([0, -1, 2], "int32"), np.array([-3, -4, 5], "int32")):
            with pytest.raises(relay.CompileError, match="R0604"):
                run(numbers, extreme)


@pytest.mark.parametrize("index", ["score_index", "coord_start", "id_index"])
def test_a_number_of_a_box_beyond_all_boxes(index):
    """Its successor overflows int64: the box was read far outside."""
    inputs = (
        "%x: Tensor[(2, 12, 6), float32], %n: Tensor[(2), int32], %i: Tensor[(2, 12), int32], %m: int32, %t: float32"
    )
    call = f"vision.non_max_suppression(%x, %n, %i, %m, %t, {index}={2**63 - 1})"
    with pytest.raises(relay.CompileError, match="R0302"):
        relay.compile(module_of(call, inputs))


def test_a_score_of_valid_boxes_beyond_all_boxes():
    call = f"vision.get_valid_counts(%x, %t, score_index={2**63 - 1})"
    with pytest.raises(relay.CompileError, match="R0302"):
        relay.compile(module_of(call, "%x: Tensor[(2, 9, 6), float32], %t: float32"))


def test_more_samples_of_a_region_than_there_are_pixels():
    call = f"vision.roi_align(%x, %r, pooled_size=[3, 2], spatial_scale=0.5f, sample_ratio={2**62})"
    with pytest.raises(relay.CompileError, match="sample_ratio .* at most 1024"):
        relay.compile(module_of(call, "%x: Tensor[(2, 3, 6, 7), float32], %r: Tensor[(4, 5), float32]"))


@pytest.mark.parametrize(
    ("call", "extent"),
    [
        (f"nn.adaptive_max_pool1d(%x, output_size=[{2**31}])", 7),
        (f"nn.adaptive_avg_pool1d(%x, output_size=[{2**31}])", 7),
        ("nn.adaptive_avg_pool1d(%x, output_size=[3])", 2**31),
        ("image.resize1d(%x, size=[7])", 2**31),
    ],
)
def test_gradients_by_matrices_that_no_memory_holds(call, extent):
    with pytest.raises(relay.CompileError, match="cannot be differentiated"):
        relay.value_and_grad(module_of(f"sum({call})", f"%x: Tensor[(1, 1, {extent}), float32]"))


@pytest.mark.parametrize(
    ("call", "types"),
    [
        (f"nn.adaptive_max_pool2d(%x0, output_size=[{2**31}, 4])", ["(1, 2, 7, 10), float32"]),
        (
            'qnn.conv2d(%x0, %x1, %x2, 0, %x2, 0, padding=[1, 1], kernel_size=[3, 3], channels=2, out_dtype="int32")',
            [f"(1, 3, 4, {2**31}), int8", "(2, 3, 3, 3), int8", "(), float32"],
        ),
        (
            "nn.contrib_conv2d_NCHWc(%x0, %x1, padding=[1, 1], kernel_size=[3, 3], channels=8, "
            'data_layout="NCHW4c", kernel_layout="OIHW4i4o", out_layout="NCHW4c")',
            [f"(1, 1, 4, {2**31}, 4), float32", "(2, 1, 3, 3, 4, 4), float32"],
        ),
    ],
)
def test_windows_along_2_to_the_31_places_are_compiled(call, types):
    inputs = ", ".join(f"%x{k}: Tensor[{type}]" for k, type in enumerate(types))
    shape = relay.compile(module_of(call, inputs)).outputs[0].shape
    assert 2**31 in shape, shape
