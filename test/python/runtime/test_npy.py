"""NumPy's array files in every byte and axis order, compressed and uncompressed; damaged files are refused."""

import zipfile

import numpy as np
import pytest
from programs import cli, needs_program

pytestmark = needs_program
SAME = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, m, 4), {0}]) {{ transpose(%x, axes=[0, 1, 2]) }}\n'


def through(tmp_path, x, write):
    program, given, result = tmp_path / "p.relay", tmp_path / "x", tmp_path / "y.npy"
    program.write_text(SAME.format(x.dtype.newbyteorder("=").name))
    done = cli("run", program, "--input", write(given), "--output", result)
    assert done.returncode == 0, done.stderr
    return np.load(result)


def npy(x):
    def write(path):
        np.save(f"{path}.npy", x)
        return f"x={path}.npy"

    return write


def npz(x):
    def write(path):
        np.savez_compressed(f"{path}.npz", x=x)
        return f"{path}.npz"

    return write


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">f8", ">i2", ">i8", "|u1"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("write", [npy, npz])
def test_every_order(tmp_path, dtype, order, write):
    x = np.asarray(np.arange(2 * 3 * 4).reshape(2, 3, 4), dtype, order=order)
    np.testing.assert_array_equal(through(tmp_path, x, write(x)), x)


def test_compressed_zeros(tmp_path):
    x = np.zeros((50, 300, 4), np.float32)
    np.testing.assert_array_equal(through(tmp_path, x, npz(x)), x)


def refused(tmp_path, given, *words):
    program = tmp_path / "p.relay"
    program.write_text(SAME.format("float32"))
    done = cli("run", program, *(word for one in given for word in ("--input", one)))
    assert done.returncode == 1 and "help: " in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr


def test_damage_is_seen(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(4000, dtype=np.float32).reshape(10, 100, 4))
    data = bytearray(path.read_bytes())
    for place in (200, 1000, len(data) // 2):
        broken = bytearray(data)
        broken[place] ^= 64
        path.write_bytes(broken)
        refused(tmp_path, [path], "R0402")


def test_empty_and_other_methods(tmp_path):
    path = tmp_path / "x.npz"
    zipfile.ZipFile(path, "w").close()
    refused(tmp_path, [path], "contains no arrays")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("x.npy", b"x" * 1000)
    refused(tmp_path, [path], "compressed by method 14")


def test_an_input_given_twice(tmp_path):
    refused(tmp_path, ["x=1", "x=2"], "input `x` is given twice")
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 1, 4), np.float32))
    refused(tmp_path, [tmp_path / "x.npz", "x=2"], "given twice")
