"""Processors of other architectures: objects have vector multiply-adds, and cannot be run on this machine."""

import re
import struct

import pytest
from programs import ROOT, cli

CONV = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 28, 28), float32], %w: Tensor[(64, 64, 3, 3), float32]) {
  nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=64, kernel_size=[3, 3]))
}
"""
# The number of the machine in an ELF header, and its multiply-adds of vectors.
MACHINES = {
    "cortex-a72": (183, r"fmla\s+v\d+\.4s"),
    "neoverse-n1": (183, r"fmla\s+v\d+\.4s"),
    "apple-m1": (183, r"fmla\s+v\d+\.4s"),
    "rv64gcv": (243, r"vf(?:macc|madd)\.v[vf]"),
    "rv64gcv-256": (243, r"vf(?:macc|madd)\.v[vf]"),
    "rv64gcv-512": (243, r"vf(?:macc|madd)\.v[vf]"),
}


def succeeds(*arguments):
    done = cli(*arguments, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fails(code, *arguments):
    done = cli(*arguments, cwd=ROOT)
    assert done.returncode == 1 and f"error[{code}]" in done.stderr, done.stderr
    return done.stderr


@pytest.fixture
def conv(tmp_path):
    path = tmp_path / "conv.relay"
    path.write_text(CONV)
    return path


@pytest.mark.parametrize("target", MACHINES)
def test_a_convolution_has_vector_multiply_adds(conv, tmp_path, target):
    machine, multiply_add = MACHINES[target]
    out = tmp_path / "conv.o"
    succeeds("compile", conv, "--target", target, "--strict", "--emit", "obj", "-o", out)
    header = out.read_bytes()[:20]
    assert header[:4] == b"\x7fELF" and struct.unpack("<H", header[18:20])[0] == machine
    assert len(re.findall(multiply_add, succeeds("opt", conv, "--target", target, "--emit", "asm"))) >= 16


# The number of the machine in an ELF header, None of a WebAssembly module. Only WebAssembly's back end is linked in.
OTHERS = {
    "armv7-neon": 40, "avr": 83, "hexagon": 164, "lanai": 244, "loongarch64-lsx": 258, "mips64-msa": 8, "msp430": 105,
    "powerpc64le": 21, "riscv32": 243, "s390x": 22, "sparcv9": 43, "wasm32-simd128": None, "wasm32-threads": None,
    "cortex-m4": 40, "cortex-m7": 40, "cortex-m33": 40, "cortex-m55": 40, "riscv64": 243,
    "cortex-m0": 40, "cortex-m3": 40, "rv32imac": 243,
}  # fmt: skip


@pytest.mark.parametrize("target", OTHERS)
def test_what_llvm_knows_besides_gives_objects(conv, tmp_path, target):
    out = tmp_path / "conv.o"
    succeeds("compile", conv, "--target", target, "--emit", "obj", "-o", out)
    code = out.read_bytes()
    if OTHERS[target] is None:
        assert code[:4] == b"\0asm"
    else:
        order = "<" if code[5] == 1 else ">"
        assert code[:4] == b"\x7fELF" and struct.unpack(order + "H", code[18:20])[0] == OTHERS[target]
    assert b"fused_nn_conv2d_nn_relu" in code


def test_the_portable_machine_is_for_c_only(conv, tmp_path):
    assert "--emit c" in fails(
        "R0304", "compile", conv, "--target", "portable", "--emit", "obj", "-o", tmp_path / "c.o"
    )
    succeeds("compile", conv, "--target", "portable", "--emit", "c", "-o", tmp_path / "conv.c")


def test_only_objects_are_made_for_them(conv, tmp_path):
    assert "only object files" in fails("R0502", "compile", conv, "--target", "s390x", "-o", tmp_path / "conv.rart")
    assert re.search(r"vfma|wfma", succeeds("opt", conv, "--target", "s390x", "--emit", "asm"))


@pytest.mark.parametrize("target", ["s390x", "native"])
def test_without_a_temporary_folder(conv, tmp_path, monkeypatch, target):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    kind, out = ("obj", tmp_path / "conv.o") if target == "s390x" else ("so", tmp_path / "conv.so")
    error = fails("R0401", "compile", conv, "--target", target, "--emit", kind, "-o", out)
    assert "a temporary folder" in error and "TMPDIR sets another" in error and not out.exists()


def test_code_of_another_machine_is_not_run(conv):
    assert "this machine is" in fails("R0602", "run", conv, "--target", "neoverse-n1")


def test_functions_as_machine_code_for_risc_v_are_refused(tmp_path):
    out = tmp_path / "tree.rart"
    error = fails("R0304", "compile", "examples/tree_lstm.relay", "--aot", "--target", "rv64gcv", "-o", out)
    assert "without --aot" in error and not out.exists()
    succeeds("compile", "examples/tree_lstm.relay", "--aot", "--target", "neoverse-n1", "-o", out)
    succeeds("compile", "examples/tree_lstm.relay", "--target", "rv64gcv", "-o", out)


def test_an_unknown_processor_names_what_is_near():
    error = fails("R0502", "opt", "examples/tour/dense.relay", "--target", "neoverse-n")
    assert "did you mean 'neoverse-n1'?" in error


def test_an_instruction_may_be_left_out():
    dense = "examples/tour/dense.relay"
    error = fails("R0502", "opt", dense, "--target", "cortex-a53,-sdot")
    assert "'-sdot' is not an instruction that cortex-a53 can do without" in error and "-smull" in error
    assert "'smlad' is not" in fails("R0502", "opt", dense, "--target", "cortex-m4,smlad")
    succeeds("opt", dense, "--target", "cortex-m4,-smlad,-smlad.u8", "--emit", "schedule")
