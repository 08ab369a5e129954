"""Floats rounded to short integers in C projects for processors without vectors: the bits of rint and a saturating
cast."""

import c_projects
import numpy as np
import pytest
from programs import needs_program

pytestmark = needs_program
# By the function that rounds them.
ROUNDED = {
    'cast(add(round(%x), -128f), dtype="int8")': "relay_nearest_i8_of_f32(",
    'cast(round(clip(%x, a_min=-128, a_max=127)), dtype="int8")': "relay_nearest_i8_of_f32(",
    'cast(clip(add(round(%x), 3f), a_min=0, a_max=255), dtype="uint8")': "relay_nearest_u8_of_f32(",
    'cast(round(%x), dtype="int16")': "relay_nearest_i16_of_f32(",
    'cast(add(round(%x), 0.5f), dtype="int8")': "= relay_to_i8_of_f32(",
}
# Halves, limits of the types, limits of the numbers that an addition rounds, and numbers beyond.
VALUES = [
    0.5, 1.5, 2.5, 0.49999997, 0.50000006, 126.5, 127.5, 128.5, 252.5, 254.5, 255.5, 32766.5,
    32767.5, 32768.5, 4194303.5, 4194303.75, 4194304, 4194305, 8388607.5, 8388609, 16777216, 1e10,
    3e38, np.inf, 0, 1e-40, 100.25, 383.5, 1048575.5, np.nan, 6, 7,
]  # fmt: skip


def write(tmp_path, expression, target):
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), float32]) { ' + expression + " }\n"
    (tmp_path / "net.relay").write_text(text)
    np.save(tmp_path / "x.npy", np.float32([*VALUES, *np.negative(VALUES)]))
    given = ["--target", target, "--input", f"x={tmp_path / 'x.npy'}"]
    return c_projects.write(tmp_path / "net.relay", tmp_path / "project", *given)


@pytest.mark.parametrize("expression", ROUNDED)
def test_the_same_bits_as_rint(tmp_path, expression):
    folder = write(tmp_path, expression, "cortex-m4")
    assert ROUNDED[expression] in (folder / "model.c").read_text()
    for options in (["-O2"], ["-O3", "-fsanitize=undefined", "-fno-sanitize-recover"]):
        assert ": ok, 1 output equal" in c_projects.self_test(folder, options=options)
    if c_projects.ALL["cortex-m4"].is_here():
        assert ": ok, 1 output equal" in c_projects.self_test(folder, "cortex-m4")


def test_loops_for_vectors_have_no_branch(tmp_path):
    folder = write(tmp_path, next(iter(ROUNDED)), "cortex-a72")
    assert "relay_nearest" not in (folder / "model.c").read_text()
