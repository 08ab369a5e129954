"""The command line for first-time users: nothing is silently wrong, and errors have a way out."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from forms import each_nth
from programs import CONV, DENSE, PROGRAM, cli, fails, needs_program, onnx_model

import relay

pytestmark = needs_program

IDS = """#[version = "0.0.5"]
def @main(%ids: Tensor[(2), TYPE], %x: Tensor[(2), float32]) { add(cast(%ids, dtype="float32"), %x) }
"""


@pytest.fixture
def net_file(tmp_path):
    """An ONNX model with sizes that are numbers, and two outputs with names."""
    make = pytest.importorskip("onnx").helper.make_node
    nodes = [make("Relu", ["x"], ["scores"]), make("Neg", ["x"], ["negated"])]
    return onnx_model(tmp_path / "net.onnx", nodes, [("x", [2, 4])], [("scores", [2, 4]), ("negated", [2, 4])])


@pytest.fixture
def ids_file(tmp_path):
    def write(dtype):
        path = tmp_path / f"{dtype}.relay"
        path.write_text(IDS.replace("TYPE", dtype))
        return path

    return write


@pytest.mark.parametrize(
    ("dtype", "number", "why"),
    [
        ("int64", "1.5", "1.5 is not an integer"),
        ("int64", "nan", "nan is not an integer"),
        ("int32", "inf", "inf is not an integer"),
        ("int32", "3e9", "does not fit in int32"),
        ("uint8", "-1", "does not fit in uint8"),
        ("int8", "128", "does not fit in int8"),
        ("bool", "0.5", "is neither 0 nor 1"),
        ("bool", "nan", "is neither 0 nor 1"),
        ("int64", "9007199254740994", "too large to be exact"),
    ],
)
def test_an_integer_input_takes_no_other_number(ids_file, dtype, number, why):
    said = fails("R0601", "run", ids_file(dtype), "--input", f"ids={number}", "--no-cache")
    assert "input `ids`" in said and why in said and "help: give a number" in said


@pytest.mark.parametrize(("dtype", "number"), [("int8", "-128"), ("uint8", "255"), ("bool", "1"), ("int64", "2.0")])
def test_an_integer_input_takes_every_number_of_its_type(ids_file, dtype, number):
    done = cli("run", ids_file(dtype), "--input", f"ids={number}", "--input", "x=0", "--no-cache", "--json")
    assert json.loads(done.stdout)["outputs"][0]["values"] == [float(number)] * 2


def test_a_float_input_takes_no_number_that_becomes_infinite(ids_file):
    assert "does not fit in float32" in fails("R0601", "run", ids_file("int8"), "--input", "x=1e39", "--no-cache")
    assert cli("run", ids_file("int8"), "--input", "x=inf", "--no-cache").returncode == 0


def test_options_are_checked_where_the_cache_has_the_model(net_file, tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    assert [json.loads(cli("run", net_file, "--json").stdout)["cached"] for _ in range(2)] == [False, True]
    assert "node" in fails("R0504", "run", net_file, "--import-limit", "node=1")
    kept, fresh = (fails("R0405", "run", net_file, "--import-limit", "nodes=1", *more) for more in ([], ["--no-cache"]))
    assert kept == fresh


def test_a_limit_of_an_unknown_name_is_refused_for_every_form(dense_file):
    assert "node" in fails("R0504", "run", dense_file, "--import-limit", "node=1", "--no-cache")


@pytest.mark.parametrize(
    ("name", "begin"), [("k.so", b"\x7fELF"), ("k.o", b"\x7fELF"), ("k.c", None), ("k.rart", b"\x89RELAY")]
)
def test_the_name_of_the_output_says_what_is_written(dense_file, tmp_path, name, begin):
    assert cli("compile", dense_file, "-o", tmp_path / name).returncode == 0
    relay.compile(relay.parse(DENSE)).save(tmp_path / f"python_{name}")
    for path in (tmp_path / name, tmp_path / f"python_{name}"):
        content = path.read_bytes()
        assert content.startswith(begin) if begin else b"#include" in content


def test_emit_is_stronger_than_the_name(dense_file, tmp_path):
    assert cli("compile", dense_file, "-o", tmp_path / "k.so", "--emit", "artifact").returncode == 0
    assert cli("run", tmp_path / "k.so").returncode == 0


def test_a_dash_is_stdout_and_never_a_file(dense_file, tmp_path):
    done = cli("run", dense_file, "--input", "x=1", "--input", "w=1", "--output", "-", "--no-cache", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "output: float32[1, 8]\n" + " ".join(["4"] * 8) + "\n"
    assert "both write to stdout" in fails("R0504", "run", dense_file, "--output", "-", "--json", cwd=tmp_path)
    assert "no file to stdout" in fails("R0401", "compile", dense_file, "-o", "-", cwd=tmp_path)
    assert "no file to stdout" in fails("R0401", "profile", dense_file, "--trace", "-", cwd=tmp_path)
    assert not (tmp_path / "-").exists()


def test_a_profile_adds_up(conv_file):
    done = cli("profile", conv_file, "--threads", "2", "--time", "0.2")
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    end = next(i for i, row in enumerate(rows) if row[1:3] == ["all", "kernels;"])
    shares = [float(row[1]) for row in rows[:end]]
    assert rows[end - 1][2:4] == ["waiting", "for"] and sum(shares) == pytest.approx(100, abs=0.1 * len(shares))
    report = json.loads(cli("profile", conv_file, "--threads", "2", "--time", "0.2", "--json").stdout)
    assert report["kernels_us"] == pytest.approx(sum(k["us"] for k in report["kernels"]))
    assert report["kernels_us"] + report["waiting_us"] == pytest.approx(max(report["us"], report["kernels_us"]))


# --- models of PyTorch ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def net():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)

        def forward(self, x):
            return torch.relu(self.linear(x))

    torch.manual_seed(0)
    return Net().eval()


def written(net, folder, form, batch=2):
    import torch

    x = torch.ones(batch, 4)
    path = folder / {"exported": "net.pt2", "traced": "net.pt", "scripted": "scripted.pt", "state": "state.pt"}[form]
    if form == "exported":
        torch.export.save(torch.export.export(net, (x,)), path)
    elif form == "state":
        torch.save(net.state_dict(), path)
    else:
        torch.jit.save(torch.jit.trace(net, (x,)) if form == "traced" else torch.jit.script(net), str(path))
    return path


@pytest.mark.parametrize(
    ("form", "options"),
    each_nth(
        3, [pytest.param("exported", []), pytest.param("scripted", ["--shape", "x=2,4"]), pytest.param("traced", [])]
    ),
)
def test_a_model_of_pytorch_runs(net, tmp_path, form, options):
    import torch

    path = written(net, tmp_path, form)
    done = cli("run", path, "--input", "x=1", "--output", tmp_path / "out.npz", "--no-cache", *options, timeout=300)
    assert done.returncode == 0, done.stderr
    (result,) = np.load(tmp_path / "out.npz").values()
    np.testing.assert_allclose(result, net(torch.ones(2, 4)).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_model_of_pytorch_is_compiled_to_a_file(net, tmp_path):
    path = written(net, tmp_path, "exported")
    assert cli("compile", path, "-o", tmp_path / "net.rart", timeout=300).returncode == 0
    assert relay.load(tmp_path / "net.rart")(np.ones((2, 4), np.float32)).shape == (2, 3)


@pytest.mark.slow
def test_a_scripted_model_of_pytorch_asks_for_shapes(net, tmp_path):
    said = fails("R0601", "run", written(net, tmp_path, "scripted"), "--no-cache", timeout=300)
    assert "does not contain the shapes of its inputs: x" in said and "--shape x=" in said


def test_without_a_python_that_has_torch_it_says_so(net, tmp_path, monkeypatch):
    path = written(net, tmp_path, "exported")
    done = subprocess.run(
        [PROGRAM, "run", path], capture_output=True, text=True, env={**os.environ, "RELAY_PYTHON": "/bin/false"}
    )
    assert done.returncode == 1 and "no Python with the packages relay and torch was found" in done.stderr
    assert "tried: /bin/false" in done.stderr and "RELAY_PYTHON" in done.stderr


def test_a_state_dict_is_no_model(net, tmp_path):
    said = fails("R0504", "run", written(net, tmp_path, "state"))
    assert "a state dict or a pickled module" in said and "torch.export.save" in said


@pytest.mark.slow
def test_a_program_of_pytorch_with_other_sizes_is_not_compared(net_file, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")

    class Two(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x), torch.neg(x[1:])

    torch.export.save(torch.export.export(Two(), (torch.ones(2, 4),)), tmp_path / "net.pt2")
    how = [PROGRAM, "bench", net_file, "--time", "0.05", "--json", "--vs"]
    environment = {**os.environ, "RELAY_PYTHON": sys.executable}
    done = subprocess.run([*how, "torch"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "is not the same network as" in done.stderr, done.stderr
    done = subprocess.run([*how, "onnxruntime"], capture_output=True, text=True, env=environment)
    assert "errors are not measured" in done.stderr and "(1, 4), not (2, 4)" in done.stderr, done.stderr
    assert '"rms_error": null' in done.stdout and "inf" not in done.stdout


def test_an_engine_that_crashes_is_named(net_file, tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (tmp_path / "python").chmod(0o755)
    environment = {**os.environ, "RELAY_PYTHON": str(tmp_path / "python")}
    how = [PROGRAM, "bench", net_file, "--time", "0.05", "--vs", "onnxruntime"]
    done = subprocess.run(how, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "onnxruntime cannot be measured: it crashed (Segmentation fault)" in done.stderr
    assert "measure without it" in done.stderr


# --- ways out ---------------------------------------------------------------------------------------------------------


def test_a_fixed_size_can_be_changed_and_the_message_says_how(net_file, tmp_path):
    np.save(tmp_path / "more.npy", np.ones((5, 4), np.float32))
    given = ["run", net_file, "--input", f"x={tmp_path / 'more.npy'}", "--no-cache"]
    assert "--shape x=5,4" in fails("R0601", *given)
    assert "scores: float32[5, 4]" in cli(*given, "--shape", "x=5,4").stdout
    with pytest.raises(relay.InputError, match=r"shapes=\{'x': \(5, 4\)\}"):
        relay.compile(net_file)(np.ones((5, 4), np.float32))
    assert relay.compile(net_file, shapes={"x": (5, 4)})(np.ones((5, 4), np.float32))[0].shape == (5, 4)


@pytest.mark.parametrize("name", ["hip", "ROCm", "gpu", "metal -device=m2"])
def test_a_target_that_is_no_cpu(dense_file, name):
    said = fails("R0502", "run", dense_file, "--target", name)
    assert "compiles for CPUs, CUDA and OpenCL devices" in said and len(said.splitlines()) == 2


def test_the_axes_of_images_in_another_order(conv_file, tmp_path):
    np.save(tmp_path / "image.npy", np.zeros((1, 16, 16, 3), np.float32))
    said = fails("R0601", "run", conv_file, "--input", f"x={tmp_path / 'image.npy'}", "--no-cache")
    assert "(1, 16, 16, 3)" in said and "[1, 3, 16, 16]" in said and ".transpose(0, 3, 1, 2)" in said
    model = relay.compile(relay.parse(CONV))
    with pytest.raises(relay.InputError) as refused:
        model(np.zeros((1, 16, 16, 3), np.float32), np.zeros((8, 3, 3, 3), np.float32), np.zeros(8, np.float32))
    assert all(text in str(refused.value) for text in ("(1, 16, 16, 3)", "(1, 3, 16, 16)", ".transpose(0, 3, 1, 2)"))


def test_a_size_that_no_order_of_the_axes_has(conv_file, tmp_path):
    np.save(tmp_path / "image.npy", np.zeros((1, 4, 16, 16), np.float32))
    assert "transpose" not in fails("R0601", "run", conv_file, "--input", f"x={tmp_path / 'image.npy'}", "--no-cache")


@pytest.fixture
def keras_file(tmp_path):
    """A .keras file with one layer, whose name has no extension."""
    pytest.importorskip("h5py")
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "keras"))
    from keras_files import archive, dense, input_layer, sequential

    config = sequential(input_layer("x", 4), dense("d", 3))
    weights = {"layers/dense": [np.ones((4, 3), np.float32), np.ones(3, np.float32)]}
    (tmp_path / "net").write_bytes(archive(config, weights))
    return tmp_path / "net"


def test_a_keras_model_runs(keras_file, tmp_path):
    done = cli("run", keras_file, "--shape", "x=2,4", "--input", "x=1", "--output", tmp_path / "out.npz", "--no-cache")
    assert done.returncode == 0, done.stderr
    (result,) = np.load(tmp_path / "out.npz").values()
    np.testing.assert_array_equal(result, np.full((2, 3), 5))
    assert "this Keras model can be compiled" in cli("check", keras_file).stderr
    assert cli("compile", keras_file, "-o", tmp_path / "net.rart").returncode == 0
    assert relay.load(tmp_path / "net.rart")(np.ones((2, 4), np.float32)).shape == (2, 3)


def test_without_a_python_that_has_h5py_it_says_so(keras_file):
    done = subprocess.run(
        [PROGRAM, "run", keras_file], capture_output=True, text=True, env={**os.environ, "RELAY_PYTHON": "/bin/false"}
    )
    assert done.returncode == 1
    assert "is a Keras model, and no Python with the packages relay and h5py was found" in done.stderr


@pytest.fixture
def tensorflow_files(tmp_path):
    """A GraphDef whose name has no extension, and the folder of a SavedModel; both compute y = x * w."""
    pytest.importorskip("numpy")
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tensorflow_import"))
    from tensorflow_files import Shape, Type, const, graph, node, placeholder, saved_model

    weight = np.array([1, 2, 3], np.float32)
    product = node("y", "Mul", "x", "w", T=Type("float32"))
    (tmp_path / "graph").write_bytes(graph([placeholder("x", -1, 3), const("w", weight), product]))
    variable = node("w", "VariableV2", dtype=Type("float32"), shape=Shape((3,)))
    entry = {"x": ("x:0", "float32", (-1, 3))}, {"made": ("y:0", "float32", (-1, 3))}
    content = graph([placeholder("x", -1, 3), variable, product])
    return tmp_path / "graph", saved_model(tmp_path / "saved", content, *entry, {"w": weight})


@pytest.mark.slow
def test_tensorflow_models_run(tensorflow_files, tmp_path):
    for number, path in enumerate(tensorflow_files):
        result = tmp_path / f"out{number}.npz"
        done = cli("run", path, "--shape", "x=2,3", "--input", "x=1", "--output", result, "--no-cache")
        assert done.returncode == 0, done.stderr
        with np.load(result) as out:
            np.testing.assert_array_equal(out[out.files[0]], [[1, 2, 3], [1, 2, 3]])
        assert "this TensorFlow model can be compiled" in cli("check", path).stderr
        assert cli("compile", path, "-o", tmp_path / "net.rart").returncode == 0
        assert cli("verify", path, "--shape", "x=2,3").returncode == 0


def test_files_that_are_not_of_tensorflow_say_what_they_are(tmp_path):
    (tmp_path / "net.pbtxt").write_text("node { name: 'x' op: 'Placeholder' }")
    assert "as_text=False" in fails("R0504", "check", tmp_path / "net.pbtxt")
    (tmp_path / "empty").mkdir()
    assert "is a folder, not a file" in fails("R0401", "check", tmp_path / "empty")


def test_a_layout_is_for_images_of_keras_and_tensorflow():
    lite = pathlib.Path(__file__).parents[3] / "examples" / "tour" / "dense.tflite"
    assert "whose images keep their order" in fails("R0504", "run", lite, "--layout", "NCHW")


def test_a_part_of_a_keras_file_is_named(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.writestr("metadata.json", "{}")
    said = fails("R0504", "run", tmp_path / "net.keras")
    assert "a Keras model" in said and "model.weights.h5" in said and "torch" not in said.split("note:")[0]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("conv", "'nn.conv"), ("rleu", "'nn.relu'"), ("RELU", "'nn.relu'"), ("dense", "'nn.dense'"), ("ad", "'add'")],
)
def test_suggestions_of_operators(word, meant):
    assert f"did you mean {meant}" in fails("R0202", "ops", word)


def test_suggestions_of_verbs_and_attributes(tmp_path):
    assert "did you mean" in cli("rnu").stderr and "run" in cli("rnu").stderr
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    node = make.make_node("Gemm", ["a", "b"], ["y"], transb=1)
    info = make.make_tensor_value_info
    graph = make.make_graph([node], "g", [info("a", 1, (2, 3)), info("b", 1, (4, 3))], [info("y", 1, (2, 4))])
    onnx.save(make.make_model(graph, ir_version=10), tmp_path / "gemm.onnx")
    assert "did you mean 'transB'?" in cli("run", tmp_path / "gemm.onnx", "--no-cache").stderr


@pytest.mark.parametrize(
    ("encoding", "named"), [("utf-8-sig", "a byte-order mark"), ("utf-16", "UTF-16"), ("utf-16-be", "UTF-16")]
)
@pytest.mark.parametrize("name", ["net.relay", "net"])
def test_encodings_are_named(tmp_path, encoding, named, name):
    text = DENSE.encode(encoding)
    (tmp_path / name).write_bytes(text if encoding != "utf-16-be" else b"\xfe\xff" + text)
    done = cli("run", tmp_path / name)
    assert done.returncode == 1 and named in done.stderr and "save the text as UTF-8" in done.stderr


def test_schedules_of_all_groups_come_back(tmp_path, conv_file):
    names = ["x", "w", "b"]
    given = [word for name in names for word in ("--input", f"{name}=random:3")]
    assert cli("opt", conv_file, "-O", "0", "--emit", "schedule", "-o", tmp_path / "all.txt").returncode == 0
    assert (tmp_path / "all.txt").read_text().count("# group ") > 1
    run = ["run", conv_file, "-O", "0", *given, "--output", "-", "--no-cache"]
    plain, scheduled = cli(*run), cli(*run, "--schedule", tmp_path / "all.txt")
    assert scheduled.returncode == 0 and scheduled.stdout == plain.stdout, scheduled.stderr


def test_a_result_has_one_name(net_file):
    ran = [one["name"] for one in json.loads(cli("run", net_file, "--json", "--no-cache").stdout)["outputs"]]
    verified = [one["output"] for one in json.loads(cli("verify", net_file, "--json").stdout)["results"]]
    assert ran == verified == [port.name for port in relay.compile(net_file).outputs] == ["scores", "negated"]


def test_counts_have_one_name_and_one_number(conv_file):
    counts = relay.compile(relay.parse(CONV)).report["counts"]
    checked = json.loads(cli("check", conv_file, "--json").stdout)
    assert (checked["groups"], checked["kernels"]) == (counts["groups"], counts["kernels"])
    said = cli("run", conv_file, "--no-cache").stderr
    words = [f"{counts[what]} {what[:-1]}" for what in ("groups", "kernels", "calls")]
    assert all(word in said for word in words), (said, words)


def test_help_is_english():
    """Sentences of the help open with a verb or a noun."""
    for verb in ("run", "compile", "opt", "verify", "cache", "profile"):
        for line in cli("help", verb).stdout.splitlines():
            text = line[30:].strip() if line.startswith("  -") else ""
            assert not text.startswith(("What ", "Of ", "And ", "As ", "Where ", "Until ")), line
