"""The innermost loops of dense layers and convolutions for processors that are not here: which instructions they are
made of, and that registers suffice for them."""

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from programs import ROOT, cli

sys.path.insert(0, str(ROOT / "bench"))
from main_loops import kernels, main_loop  # noqa: E402

# The operator of ONNX, the shape of its data, the shape of its weight, and its attributes.
LAYERS = {
    "dense": ("MatMul", (64, 256), (256, 256), {}),
    "conv": ("Conv", (1, 64, 28, 28), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    "depthwise": ("Conv", (1, 64, 28, 28), (64, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 64}),
}
# The multiply-add of each processor, and the float32 numbers of its vectors.
PROCESSORS = {
    "cortex-a53": (r"fmla", 4),
    "cortex-a72": (r"fmla", 4),
    "neoverse-n1": (r"fmla", 4),
    "neoverse-v1": (r"fmla", 4),
    "sve-256": (r"fm(la|ad)", 8),
    "sve-512": (r"fm(la|ad)", 16),
    "rv64gcv": (r"vf(macc|madd)\.v[vf]", 4),
    "rv64gcv-256": (r"vf(macc|madd)\.v[vf]", 8),
    "rv64gcv-512": (r"vf(macc|madd)\.v[vf]", 16),
    "wasm32-simd128": (r"f32x4\.mul", 4),
}
# The instruction that multiplies int8 numbers, and how many one computes.
INTEGERS = {
    "cortex-a53": (r"smull2?", 8),
    "cortex-a72": (r"smull2?", 8),
    "neoverse-n1": (r"sdot", 16),
    "neoverse-v1": (r"smmla", 32),
}


def loop_of(tmp_path, layer, target, dtype="float32", value=None):
    """The main loop of a layer with a constant weight, by default a random one."""
    operator, data, weight, attributes = LAYERS[layer]
    random = np.random.default_rng(0)
    value = random.integers(-127, 127, weight).astype(dtype) if value is None else value
    if dtype == "int8":
        operator += "Integer"
    result = TensorProto.INT32 if dtype == "int8" else TensorProto.FLOAT
    node = helper.make_node(operator, ["x", "w"], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), data)],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(value, "w")],
    )
    path = tmp_path / "layer.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    done = cli("opt", path, "--target", target, "--emit", "asm", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lanes = PROCESSORS[target.split(",")[0]][1]
    found = [loop for lines in kernels(done.stdout).values() if (loop := main_loop(lines, lanes))]
    return max(found, key=lambda loop: loop.multiply_adds)


@pytest.mark.parametrize("target", PROCESSORS)
@pytest.mark.parametrize("layer", LAYERS)
def test_registers_suffice(tmp_path, layer, target):
    multiply_add, lanes = PROCESSORS[target]
    loop = loop_of(tmp_path, layer, target)
    count = loop.count(multiply_add)
    assert count >= (12 if target.startswith("wasm") else 20 if target.startswith("sve") else 24)
    assert loop.multiply_adds == count * lanes
    stores = loop.count(r"(str|stp|vse\d+\.v|vs\dr\.v|v128\.store)")
    if target.startswith("rv64") and layer == "depthwise":
        # Addresses of rows, of which there are more than registers for integers; no vectors.
        most = 16 if target == "rv64gcv-512" else 6
        assert len(loop.stack_accesses) <= most and all(line.startswith("ld ") for line in loop.stack_accesses)
    elif target == "cortex-a53" and layer == "conv":
        # It runs in order, so LLVM begins loads early, at the price of one pair of sums; llvm-mca's cycles are fewer.
        assert len(loop.stack_accesses) <= 2
        stores -= len(loop.stack_accesses) // 2
    else:
        assert loop.stack_accesses == []
    # Sums stay in registers, and few instructions do anything else. The loop of a depthwise convolution writes results.
    assert stores <= (count / 9 if layer == "depthwise" else 0)
    if not target.startswith("wasm"):  # whose code is for a machine with a stack
        assert len(loop.lines) <= 2.6 * count


@pytest.mark.parametrize("target", INTEGERS)
def test_integers_have_the_products_of_the_processor(tmp_path, target):
    instruction, products = INTEGERS[target]
    loop = loop_of(tmp_path, "dense", target, "int8")
    assert loop.count(instruction) >= 12
    assert loop.multiply_adds == products * loop.count(instruction)
    # The Cortex-A53 runs in order, so LLVM begins loads early, at the price of one pair of sums.
    assert len(loop.stack_accesses) <= (2 if target == "cortex-a53" else 0)


def test_pairs_of_products_are_added_in_16_bits_where_they_fit(tmp_path):
    """Data may be -128 everywhere: -128 * (-128 - 127) is the greatest sum that 16 bits hold."""
    weight = np.full((256, 256), -128, np.int8)
    assert loop_of(tmp_path, "dense", "cortex-a53", "int8", weight).count("sadalp") == 0
    weight[1::2] = -127
    assert loop_of(tmp_path, "dense", "cortex-a53", "int8", weight).count("sadalp") >= 12
    assert loop_of(tmp_path, "dense", "cortex-a53,-smull", "int8", weight).count("sadalp") == 0
