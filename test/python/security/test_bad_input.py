"""Bad input of every kind causes a diagnostic that names the problem, its place and a way out, and a non-zero exit
status; never a crash."""

import json
import random
import struct

import numpy as np
import pytest
from programs import DENSE, cli, fails, needs_program

relay = pytest.importorskip("relay", exc_type=ImportError)


@pytest.fixture(scope="module")
def dense():
    return relay.compile(relay.parse(DENSE))


X, W = np.zeros((2, 4), np.float32), np.zeros((8, 4), np.float32)


# --- the command line -------------------------------------------------------------------------------------------------


@needs_program
@pytest.mark.parametrize(
    "code, status, arguments",
    [
        ("R0504", 2, ["runn", "x.relay"]),
        ("R0504", 2, ["run"]),
        ("R0504", 2, ["run", "MODEL", "--no-such-flag"]),
        ("R0504", 2, ["run", "MODEL", "--threads", "many"]),
        ("R0504", 2, ["run", "MODEL", "--threads", "-1"]),
        ("R0504", 2, ["run", "MODEL", "-O9"]),
        ("R0504", 2, ["run", "MODEL", "--executor", "gpu"]),
        ("R0504", 1, ["run", "MODEL", "--numerics", "fp4"]),
        ("R0401", 1, ["run", "missing.onnx"]),
        ("R0401", 1, ["run", "missing.relay"]),
        ("R0401", 1, ["run", "/"]),
        ("R0502", 1, ["run", "MODEL", "--target", "zen9"]),
        ("R0502", 1, ["run", "MODEL", "--target", "native,-avx513"]),
        ("R0502", 1, ["run", "MODEL", "--target", "toaster:zen4"]),
        ("R0501", 1, ["opt", "MODEL", "--passes", "fuse_opps"]),
        ("R0601", 1, ["run", "MODEL", "--input", "y=zeros"]),
        ("R0601", 1, ["run", "MODEL", "--shape", "x=3,5"]),
        ("R0601", 1, ["run", "MODEL", "--shape", "x=3"]),
        ("R0601", 1, ["run", "MODEL", "--shape", "q=3,4"]),
        ("R0504", 1, ["run", "MODEL", "--shape", "x"]),
        ("R0504", 1, ["run", "MODEL", "--shape", "x=3,four"]),
        ("R0504", 1, ["run", "MODEL", "--input", "x=random:abc"]),
        ("R0504", 1, ["run", "MODEL", "--input", "zeros"]),
        ("R0401", 1, ["run", "MODEL", "--input", "x=missing.npy"]),
        ("R0401", 1, ["run", "MODEL", "--output", "/no/such/folder/out.npz"]),
        ("R0401", 1, ["compile", "MODEL", "-o", "/no/such/folder/out.rart"]),
        ("R0401", 1, ["run", "MODEL", "--schedule", "just_a_file.txt"]),
        ("R0401", 1, ["run", "MODEL", "--schedule", "group=missing.txt"]),
        ("R0504", 1, ["opt", "MODEL", "--emit", "loop", "--kernel", "99"]),
        ("R0504", 1, ["opt", "MODEL", "--emit", "schedule", "--kernel", "no_such_group"]),
        ("R0504", 1, ["bench", "MODEL", "--vs", "onnxruntime"]),
        ("R0504", 1, ["explain", "R9999"]),
    ],
)
def test_the_command_line_says_what_is_wrong(dense_file, code, status, arguments):
    text = fails(
        code, *[str(dense_file) if a == "MODEL" else a for a in arguments], status=status, cwd=dense_file.parent
    )
    assert "help:" in text or "note:" in text or code in ("R0401", "R0601"), text


@needs_program
def test_near_misses_are_named(dense_file):
    assert "did you mean 'fuse_ops'?" in fails("R0501", "opt", dense_file, "--passes", "fuse_opps")
    assert "did you mean 'run'?" in fails("R0504", "rum", dense_file, status=2)


@needs_program
@pytest.mark.parametrize("name", ["model.pt", "model.xyz", "model"])
def test_unknown_kinds_of_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"something")
    assert ".onnx" in fails("R0504", "run", tmp_path / name)


@needs_program
@pytest.mark.parametrize("extension", ["relay", "onnx"])
@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"\xff" * 1000, b"not a model", b"\x89RELAY\r\n", b"\x89RELAY\r\n" + b"\xff" * 200]
)
def test_files_that_are_no_models(tmp_path, extension, content):
    path = tmp_path / f"bad.{extension}"
    path.write_bytes(content)
    done = cli("run", path)
    assert done.returncode == 1 and "error[R0" in done.stderr, done.stderr


@needs_program
def test_npy_files_that_are_wrong(dense_file, tmp_path):
    good = tmp_path / "good.npy"
    np.save(good, X)
    data = good.read_bytes()
    for cut in (0, 5, 9, 11, 60, len(data) - 1):
        (tmp_path / "cut.npy").write_bytes(data[:cut])
        fails("R0402", "run", dense_file, "--input", f"x={tmp_path}/cut.npy")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000000000000), }\n"
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
    fails("R0402", "run", dense_file, "--input", f"x={tmp_path}/huge.npy")
    np.save(tmp_path / "doubles.npy", X.astype(np.float64))
    assert "astype('float32')" in fails("R0601", "run", dense_file, "--input", f"x={tmp_path}/doubles.npy")
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    assert "astype" in fails("R0601", "run", dense_file, "--input", f"x={tmp_path}/objects.npy")
    np.save(tmp_path / "shape.npy", np.zeros((2, 5), np.float32))
    fails("R0601", "run", dense_file, "--input", f"x={tmp_path}/shape.npy")


@needs_program
@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "stage nn_relu: root\n  loops q/1\n",
        "rule x\nstage nothing: root\n  loops i0/0\n",
        "stage nn_relu: root\n  loops i0/99999999999999999999\n",
    ],
)
def test_schedules_that_are_wrong(dense_file, tmp_path, text):
    (tmp_path / "s.txt").write_text(text)
    group = "fused_nn_dense_nn_relu"
    done = cli("run", dense_file, "--schedule", f"{group}={tmp_path}/s.txt")
    assert done.returncode == 1 and "error[R0503]" in done.stderr, done.stderr


@needs_program
def test_a_schedule_for_no_group(dense_file, tmp_path):
    (tmp_path / "s.txt").write_text("")
    assert "fused_nn_dense_nn_relu" in fails(
        "R0503", "run", dense_file, "--schedule", f"fused_nn_dense={tmp_path}/s.txt"
    )


@needs_program
def test_artifacts_that_are_cut_or_changed(dense_file, tmp_path):
    path = tmp_path / "a.rart"
    assert cli("compile", dense_file, "-o", path).returncode == 0
    data = path.read_bytes()
    rng = random.Random(0)
    for _ in range(12):
        bad = bytearray(data[: rng.randrange(len(data))])
        (tmp_path / "bad.rart").write_bytes(bad)
        done = cli("run", tmp_path / "bad.rart")
        assert done.returncode == 1 and "error[R0" in done.stderr
    for _ in range(12):
        bad = bytearray(data)
        bad[rng.randrange(min(len(bad), 2000))] ^= 1 << rng.randrange(8)
        (tmp_path / "bad.rart").write_bytes(bad)
        assert cli("run", tmp_path / "bad.rart").returncode in (0, 1)


# --- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, code, word",
    [
        ("nn.relu(%y)", "R0201", "%y"),
        ("nn.reluu(%x)", "R0202", "nn.relu"),
        ("@f(%x)", "R0203", "f"),
        ("nn.relu(%x, %x)", "R0207", ""),
        ("nn.softmax(%x, axes=1)", "R0206", "axis"),
        ("nn.dense(%x, %x, units=", "R0101", ""),
        ("nn.dense(%x, meta[relay.Constant][0])", "R0104", ""),
        ("add(%x, 1i32)", "R03", ""),
    ],
)
def test_programs_that_are_wrong(body, code, word):
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 4), float32]) {{\n  {body}\n}}\n'
    with pytest.raises(relay.CompileError) as caught:
        relay.compile(relay.parse(text, "wrong.relay"))
    (first, *_) = caught.value.diagnostics
    assert first.code.startswith(code), str(caught.value)
    assert word in str(caught.value)
    assert "wrong.relay:" in str(caught.value) and first.line is not None and first.line >= 3


def test_types_that_do_not_fit_name_both_sides():
    text = (
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 4), float32], %w: Tensor[(8, 5), float32]) { nn.dense(%x, %w) }'
    )
    with pytest.raises(relay.CompileError) as caught:
        relay.compile(relay.parse(text))
    assert caught.value.diagnostics[0].kind == "constraint"
    assert "4" in str(caught.value) and "5" in str(caught.value)


def test_a_module_without_main():
    module = relay.parse('#[version = "0.0.5"]\ndef @other(%x: Tensor[(4), float32]) { %x }')
    with pytest.raises(relay.CompileError, match="@main"):
        relay.compile(module)
    with pytest.raises(relay.CompileError, match="@main"):
        relay.evaluate(module, [np.zeros(4, np.float32)])


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, named, words",
    [
        ((), {}, ["missing", "x", "w"]),
        ((X,), {}, ["missing", "w"]),
        ((X, W, X), {}, ["3 inputs"]),
        ((X, W), {"x": X}, ["twice"]),
        ((X,), {"ww": W}, ["`ww`"]),
        ((X.astype(np.float64), W), {}, ["float32", "float64"]),
        ((X.astype(np.int32), W), {}, ["float32", "int32"]),
        ((np.zeros((2, 5), np.float32), W), {}, ["x", "4", "5"]),
        ((np.zeros(4, np.float32), W), {}, ["x"]),
        ((X, np.zeros((8, 4, 1), np.float32)), {}, ["w"]),
        ((np.zeros((2, 4), "c8"), W), {}, ["complex64"]),
        ((np.array([["a"]]), W), {}, ["cannot be used"]),
        ((None, W), {}, ["cannot be used"]),
    ],
)
def test_calls_that_are_wrong(dense, args, named, words):
    with pytest.raises(relay.CompileError) as caught:
        dense(*args, **named)
    for word in words:
        assert word in str(caught.value)
    assert "R0601" in str(caught.value)
    assert dense(X, W).shape == (2, 8)  # and it still works


@pytest.mark.parametrize(
    "options, code",
    [
        ({"target": "zen9"}, "R0502"),
        ({"numerics": "fp4"}, "R0504"),
        ({"opt_level": 7}, "R0504"),
        ({"threads": -3}, "R0504"),
        ({"schedules": {"nothing": ""}}, "R0503"),
    ],
)
def test_options_that_are_wrong(options, code):
    with pytest.raises(relay.CompileError) as caught:
        relay.compile(relay.parse(DENSE), **options)
    assert caught.value.diagnostics[0].code == code


def test_passes_and_stages_that_do_not_exist(dense):
    with pytest.raises(relay.CompileError, match="fuse_ops"):
        relay.run_passes(relay.parse(DENSE), ["fuse_op"])
    with pytest.raises(relay.CompileError):
        dense.emit("assembler")
    with pytest.raises(relay.CompileError):
        dense.emit("loop", 12345)
    with pytest.raises(relay.CompileError):
        relay.load("no such file.onnx")


def test_operators_called_wrongly():
    x = relay.var("x", (1, 4))
    with pytest.raises(TypeError):
        relay.op.nn.relu()
    with pytest.raises(TypeError):
        relay.op.nn.softmax(x, axes=1)
    with pytest.raises(relay.CompileError, match="axis"):
        relay.op.nn.softmax(x, axis="first")
    module = relay.module(relay.op.nn.dense(x, relay.var("w", (8, 5))))
    with pytest.raises(relay.CompileError) as caught:
        relay.compile(module)
    assert "test_bad_input.py:" in str(caught.value)  # the line that made the call


def test_errors_survive_pickling():
    import pickle

    with pytest.raises(relay.CompileError) as caught:
        relay.parse("nonsense")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.diagnostics == caught.value.diagnostics


# --- what was once taken in silence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, value, wrong",
    [
        ("int8", 300, "300, which does not fit in int8"),
        ("uint8", -1, "-1, which does not fit in uint8"),
        ("bool", 2, "2, which does not fit in bool"),
        ("int64", 2**63, f"{2**63}, which does not fit in int64"),
        ("uint64", -1, "-1, which does not fit in uint64"),
        ("float32", "1e39", "1e+39, which does not fit in float32"),
        ("float16", 70000, "70000, which does not fit in float16"),
        ("int32", "1.5", "1.5, which is not of int32"),
        ("int8", -128, None),
        ("uint64", 2**64 - 1, None),
        ("bool", 1, None),
    ],
)
def test_numbers_of_the_metadata_section_fit(dtype, value, wrong):
    text = (
        '#[version = "0.0.5"]\ndef @main() { meta[relay.Constant][0] }\n#[metadata]\n'
        f'{{"relay.Constant": [{{"shape": [1], "dtype": "{dtype}", "values": [{value}]}}]}}\n'
    )
    if wrong is None:
        assert relay.evaluate(relay.parse(text), [])[0] == value
        return
    with pytest.raises(relay.CompileError) as error:
        relay.parse(text)
    assert wrong in str(error.value) and "R0104" in str(error.value)


@needs_program
def test_the_largest_uint64_is_printed_as_it_is(tmp_path):
    path = tmp_path / "large.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(1), uint64]) { %x }\n')
    np.save(tmp_path / "x.npy", np.array([2**64 - 1], np.uint64))
    assert f"[{2**64 - 1}]" in cli("run", path, "--input", f"x={tmp_path}/x.npy").stdout


@needs_program
def test_what_is_given_twice(dense_file, tmp_path):
    text = fails("R0601", "run", dense_file, "--input", "x=zeros", "--input", "x=ones")
    assert "input `x` is given twice" in text
    np.savez(tmp_path / "x.npz", x=X)
    fails("R0601", "run", dense_file, "--input", "x=zeros", "--input", tmp_path / "x.npz")
    assert "given twice" in fails("R0504", "run", dense_file, "--shape", "x=2,4", "--shape", "x=2,4")


@needs_program
def test_options_for_compiling_what_is_compiled(dense_file, dense, tmp_path):
    artifact = tmp_path / "dense.rart"
    dense.save(artifact)
    for option in (["-O", "3"], ["--target", "native"], ["--numerics", "fast"], ["--no-batch-calls"],
                   ["--import-limit", "calls=9"]):  # fmt: skip
        assert "is compiled already" in fails("R0504", "run", artifact, *option)
    assert cli("run", artifact, "--threads", "1").returncode == 0
    for option in ({"target": "zen4"}, {"opt_level": 3}, {"shapes": {"x": (2, 4)}}, {"cache": True}):
        with pytest.raises(relay.CompileError, match=f"{next(iter(option))} would have no effect"):
            relay.compile(str(artifact), **option)
    with pytest.raises(relay.CompileError, match="shapes would have no effect"):
        relay.load(artifact, shapes={"x": (2, 4)})
    assert relay.compile(str(artifact), threads=1)(X, W).shape == (2, 8)


@needs_program
@pytest.mark.parametrize("setting", ["many", "-1", "4x", " 4", "1025", "99999999999999999999"])
def test_a_number_of_threads_from_outside_that_is_not_one(dense_file, setting, monkeypatch):
    monkeypatch.setenv("RELAY_THREADS", setting)
    assert f"RELAY_THREADS is '{setting}', which is not a number of threads" in fails("R0504", "run", dense_file)
    for fine in ("", "0", "2"):
        monkeypatch.setenv("RELAY_THREADS", fine)
        assert cli("run", dense_file).returncode == 0


@pytest.mark.parametrize("threads", [2**40, "many", 1.5])
def test_a_number_of_threads_of_a_run_that_is_not_one(dense, threads):
    with pytest.raises(relay.InputError, match=f"{threads!r} is not a number of threads"):
        dense(X, W, threads=threads)
    assert np.array_equal(dense(X, W, threads=None), dense(X, W, threads=np.int64(1)))


@pytest.mark.parametrize("threads", [-1, 1025])
def test_a_number_of_threads_that_is_not_one(dense, threads):
    with pytest.raises(relay.CompileError, match=f"{threads} is not a number of threads"):
        dense(X, W, threads=threads)
    with pytest.raises(relay.CompileError, match=f"threads is {threads}, not 0 to 1024"):
        relay.compile(relay.parse(DENSE), threads=threads)


# --- what a newcomer gets wrong ---------------------------------------------------------------------------------------


FOREIGN = {
    "cat.png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "an image", "np.save"),
    "cat.onnx": (b"\x89PNG\r\n\x1a\n" + bytes(100), "an image", "np.save"),
    "net.pt": (b"PK\3\4" + bytes(100), "torch.save", "torch.export.save"),
    "net.onnx": (b"PK\3\4" + bytes(100), "torch.save", "torch.export.save"),
    "net.safetensors": (struct.pack("<Q", 2) + b"{}", "safetensors", "ONNX"),
    "net.py": (b"import torch\n", "a Python program", "export"),
    "x.npy": (b"\x93NUMPY\1\0", "a NumPy array", "--input"),
    "page.onnx": (b"<!DOCTYPE html><html>", "a web page", "download"),
    "pointer.onnx": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"),
    "packed.onnx": (b"\x1f\x8b\x08", "gzip", "gunzip"),
}


@needs_program
@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_no_model_is_named(tmp_path, name):
    content, what, way_out = FOREIGN[name]
    path = tmp_path / name
    path.write_bytes(content)
    text = fails("R0504", "run", path)
    assert what in text and way_out in text.partition("help:")[2], text
    with pytest.raises(relay.CompileError, match=what):
        relay.compile(path)


@needs_program
@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "dens.relay"], "did you mean dense.relay?"),
        (["run", ""], "the path is empty"),
        (["run", "-"], "/dev/stdin"),
        (["run", "."], ". is a folder, not a file"),
        (["run", "/dev/null"], "/dev/null is not a file"),
        (["run", "MODEL", "--target", "rocm"], "leave the target out"),
        (["run", "MODEL", "--target", "abacus"], "choose one of these"),
        (["run", "MODEL", "--input", "x="], "has no value after its '='"),
        (["run", "MODEL", "--input", "x=wide.npy"], "dimension 1 must be 4"),
        (["run", "MODEL", "--input", "x=flat.npy"], "give 2 dimensions"),
        (["run", "MODEL", "--input", "x=words.npy"], "array.astype('float32')"),
        (["run", "MODEL", "--input", "x=cat.png"], "it is an image"),
        (["run", "MODEL", "--input", "x=empty.npy"], "it is empty"),
    ],
)
def test_the_way_out_is_said(dense_file, arguments, words):
    folder = dense_file.parent
    np.save(folder / "wide.npy", np.zeros((2, 5), np.float32))
    np.save(folder / "flat.npy", np.zeros(4, np.float32))
    np.save(folder / "words.npy", np.array(["a"]))
    (folder / "empty.npy").touch()
    (folder / "cat.png").write_bytes(FOREIGN["cat.png"][0])
    done = cli(*["dense.relay" if a == "MODEL" else a for a in arguments], cwd=folder)
    assert done.returncode == 1 and words in done.stderr and "help: " in done.stderr, done.stderr


@needs_program
@pytest.mark.parametrize(
    "arguments, message, help",
    [
        (["run", "x.relay", "--inptu", "x=1"], "there is no option '--inptu'", "did you mean --input?"),
        (["run", "x.relay", "--opt-levle=3"], "there is no option '--opt-levle=3'", "did you mean --opt-level?"),
        (["run", "x.relay", "y.relay"], "unexpected argument 'y.relay'", "`relay run --help`"),
        (["cache", "list"], "unknown command 'list'", "did you mean 'ls'?"),
        (["cache"], "A subcommand is required", "`relay cache --help`"),
        (["run"], "MODEL is required", "`relay run --help`"),
        (["--quite"], "there is no option '--quite'", "did you mean --quiet?"),
    ],
)
def test_words_of_the_command_line_that_nothing_takes(arguments, message, help):
    text = fails("R0504", *arguments, status=2)
    assert message in text and help in text, text


@pytest.mark.parametrize(
    "wrong",
    [
        lambda f: f(),
        lambda f: f(X),
        lambda f: f(X, W, X),
        lambda f: f(X, y=W),
        lambda f: f(X, x=X, w=W),
        lambda f: f(None, W),
        lambda f: f("x", W),
        lambda f: f({}, W),
        lambda f: f(X.astype(np.float64), W),
        lambda f: f(X.astype(complex), W),
        lambda f: f(np.zeros((2, 5), np.float32), W),
        lambda f: f(np.zeros(4, np.float32), W),
        lambda f: f(X, W, threads=-1),
        lambda f: f.emit("cuda"),
        lambda f: f.emit("loop", "no such group"),
        lambda f: f.save("/no/such/folder/x.rart"),
        lambda f: f.save("x", form="exe"),
        lambda f: f.profile(X),
        lambda f: relay.load("missing.onnx"),
        lambda f: relay.load("/"),
        lambda f: relay.load(""),
        lambda f: relay.load(3),
        lambda f: relay.load(f),
        lambda f: relay.compile(None),
        lambda f: relay.compile(DENSE),
        lambda f: relay.compile(relay.parse(DENSE), target="gpu"),
        lambda f: relay.compile(relay.parse(DENSE), opt_level=9),
        lambda f: relay.compile(relay.parse(DENSE), numerics="fp4"),
        lambda f: relay.compile(relay.parse(DENSE), shapes={"q": (1, 4)}),
        lambda f: relay.compile(relay.parse(DENSE), shapes={"x": (1, 5)}),
        lambda f: relay.compile(relay.parse(DENSE), schedules={"no": ""}),
        lambda f: relay.compile(relay.parse(DENSE), threads=-2),
        lambda f: relay.compile(relay.parse('#[version = "0.0.5"]\ndef @f() { 1 }')),
        lambda f: relay.parse("def @main() { 1 }"),
        lambda f: relay.parse('#[version = "0.0.5"]\ndef @main() { 1'),
        lambda f: relay.evaluate(relay.parse(DENSE), [X]),
        lambda f: relay.evaluate(relay.parse(DENSE), {"x": X, "v": W}),
        lambda f: relay.evaluate(relay.parse(DENSE), [X, W], precision="half"),
        lambda f: relay.op.nn.softmax(relay.var("x", shape=(2, 2)), axis="x"),
    ],
)
def test_every_mistake_in_python_is_told_with_a_way_out(dense, wrong):
    with pytest.raises(relay.CompileError) as caught:
        wrong(dense)
    for one in caught.value.diagnostics:
        assert one.help, one.text
        assert one.code in str(caught.value)


# --- names that are bytes ---------------------------------------------------------------------------------------------


BYTES = b'#[version = "0.0.5"]\ndef @main(%"a\xff\x1b[31m": Tensor[(2, 4), float32]) { nn.relu(%"a\xff\x1b[31m") }\n'
NAME = "a\udcff\x1b[31m"  # as file names that are not UTF-8 are in Python


def test_names_that_are_not_text_come_back_as_they_were(tmp_path):
    module = relay.load(BYTES)
    assert module["main"].params[0].name_hint == NAME
    text = module.astext()
    assert "a\\xff\\x1b[31m" in text and text.isascii()
    assert relay.parse(text)["main"].params[0].name_hint == NAME
    model = relay.compile(module)
    assert model.inputs[0].name == NAME and isinstance(model.report, dict)
    np.testing.assert_array_equal(model(**{NAME: X}), X)
    model.save(tmp_path / "x.rart")
    assert relay.load(tmp_path / "x.rart").inputs[0].name == NAME
    with pytest.raises(relay.CompileError) as caught:
        model(**{NAME + "b": X})
    assert "a\\xff\\x1b[31m" in str(caught.value) and "\x1b" not in str(caught.value)


@needs_program
@pytest.mark.parametrize("verb", [["run", "--no-cache"], ["inspect", "--memory", "--constants"], ["check"], ["opt"]])
def test_tables_show_names_escaped(tmp_path, verb):
    (tmp_path / "bytes.relay").write_bytes(BYTES)
    done = cli(verb[0], "bytes.relay", *verb[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    if verb[0] == "inspect":
        assert "input a\\xff\\x1b[31m: " in done.stdout


@needs_program
def test_json_of_names_that_are_not_text(tmp_path):
    (tmp_path / "bytes.relay").write_bytes(BYTES)
    for verb in (
        ["run", "--json", "--no-cache"],
        ["inspect", "--json"],
        ["check", "--json"],
        ["bench", "--json", "--time=0.01"],
    ):
        assert json.loads(cli(verb[0], "bytes.relay", *verb[1:], cwd=tmp_path).stdout), verb


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_a_size_beyond_all_memory_has_a_place():
    text = '#[version = "0.0.5"]\ndef @main() { zeros(shape=[4611686018427387904], dtype="float32") }\n'
    with pytest.raises(relay.CompileError, match="more than the limit of 1125899906842624") as caught:
        relay.compile(relay.parse(text))
    assert caught.value.diagnostics[0].line == 2
