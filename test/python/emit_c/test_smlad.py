"""Products of bytes in C projects for processors with SMLAD, or with vectors (MVE). The schedule has sums of four or of
16 products, and the source a function for them, of which C compilers for these processors make instructions, and others
ordinary products."""

import c_projects
import numpy as np
import pytest
from programs import needs_program

import relay

pytestmark = needs_program
SIGNS = {
    ("int8", "int8"): "relay_dot_i8_i8",
    ("uint8", "int8"): "relay_dot_u8_i8",
    ("uint8", "uint8"): "relay_dot_u8_u8",
}
CORTEX_M4 = c_projects.ALL["cortex-m4"]
CORTEX_M55 = c_projects.BOARDS["cortex-m55"]


def extremes(shape, dtype, seed):
    """The least and the greatest number of the type, and some others."""
    limits = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    anything = random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return np.where(random.random(shape) < 0.5, np.array(limits.min, dtype), anything)


def project(folder, products, data, weight, target="cortex-m4"):
    """A dense layer that sums this many products. All numbers of the first row of data and of weights are the least."""
    values, weights = extremes((5, products), data, 1), extremes((7, products), weight, 2)
    values[0], weights[0] = np.iinfo(data).min, np.iinfo(weight).min
    x = relay.var("x", shape=values.shape, dtype=data)
    y = relay.nn.dense(x, relay.const(weights), units=7, out_dtype="int32")
    relay.IRModule.from_expr(relay.Function([x], y)).save(folder / "dense.relay")
    np.save(folder / "x.npy", values)
    given = f"x={folder / 'x.npy'}"
    return c_projects.write(folder / "dense.relay", folder / "project", "--target", target, "--input", given)


# 70 products are 17 times four, and two.
@pytest.mark.parametrize("products", [64, 70])
@pytest.mark.parametrize(("data", "weight"), SIGNS)
def test_the_same_bits_with_and_without_the_instruction(tmp_path, data, weight, products):
    folder = project(tmp_path, products, data, weight)
    assert f"{SIGNS[data, weight]}(&" in (folder / "model.c").read_text()
    assert ": ok," in c_projects.self_test(folder)
    if CORTEX_M4.is_here():
        assert ": ok," in c_projects.self_test(folder, "cortex-m4")


@pytest.mark.skipif(not CORTEX_M4.is_here(), reason="needs arm-none-eabi-gcc and qemu-system-arm")
def test_gcc_makes_two_instructions_of_four_products(tmp_path):
    folder = project(tmp_path, 64, "int8", "int8")
    c_projects.run(*CORTEX_M4.compiler, *c_projects.STRICT, "-O3", "-S", "-o", tmp_path / "model.s", folder / "model.c")
    lines = [line.split() for line in (tmp_path / "model.s").read_text().splitlines()]
    words = [line[0] for line in lines if line]
    assert words.count("smlad") >= 8
    assert "smlabb" not in words and "mla" not in words


def test_other_processors_have_no_such_sums(tmp_path):
    folder = project(tmp_path, 64, "int8", "int8", target="portable")
    assert "relay_dot" not in (folder / "model.c").read_text()


# 135 products are eight times 16, and seven.
@pytest.mark.parametrize("products", [64, 135])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_same_bits_with_and_without_vectors(tmp_path, dtype, products):
    folder = project(tmp_path, products, dtype, dtype, target="cortex-m55")
    short = dtype.replace("int", "i").replace("ui", "u")
    assert f"relay_dot16_{short}_{short}(&" in (folder / "model.c").read_text()
    assert ": ok," in c_projects.self_test(folder)
    if CORTEX_M55.is_here():
        assert ": ok," in c_projects.self_test(folder, "cortex-m55")


# 16 products at once do not pay for 24.
@pytest.mark.parametrize(("products", "function"), [(8, "relay_dot_i8_i8"), (24, "relay_dot_i8_i8")])
def test_short_sums_are_of_four_products(tmp_path, products, function):
    folder = project(tmp_path, products, "int8", "int8", target="cortex-m55")
    text = (folder / "model.c").read_text()
    assert f"{function}(&" in text and "relay_dot16" not in text
    if CORTEX_M55.is_here():
        assert ": ok," in c_projects.self_test(folder, "cortex-m55")


@pytest.mark.skipif(not CORTEX_M55.is_here(), reason="needs arm-none-eabi-gcc and qemu-system-arm")
def test_gcc_makes_an_instruction_of_16_products(tmp_path):
    folder = project(tmp_path, 64, "int8", "int8", target="cortex-m55")
    c_projects.run(*CORTEX_M55.compiler, *c_projects.STRICT, "-O3", "-S", "-o", tmp_path / "m.s", folder / "model.c")
    lines = [line.split() for line in (tmp_path / "m.s").read_text().splitlines()]
    words = [line[0] for line in lines if line]
    assert sum(word.startswith("vmladava") for word in words) >= 4
