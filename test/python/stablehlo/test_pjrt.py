"""Programs on PJRT plugins: results, the declared interface against a header, files of other kinds, plugins of
other versions, errors of plugins. `make test-stablehlo` runs all examples of operators."""

import gc
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy as np
import pjrt_plugins
import pytest
from programs import PROGRAM, cli, fails, needs_program
from relay.pjrt import interface

import relay
from relay import op

RECORDED = pathlib.Path(__file__).parent / "recorded"
DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  (nn.relu(nn.dense(%x, %w)), sum(%x, axis=[1]))
}
"""
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(params=pjrt_plugins.ALL)
def plugin(request):
    path = pjrt_plugins.ALL[request.param]
    if not path.exists():
        pytest.skip(pjrt_plugins.WHY)
    return path


@pytest.fixture
def dense(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE)
    return path


def inputs():
    draw = np.random.default_rng(3)
    return draw.standard_normal((2, 3), dtype="float32"), draw.standard_normal((4, 3), dtype="float32")


# --- runs on plugins --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.mlir")))
def test_networks(plugin, name):
    held = np.load(RECORDED / f"{name}.npz")
    program = relay.pjrt.compile(relay.frontend.from_stablehlo(RECORDED / f"{name}.mlir"), plugin)
    found = program(*[held[one] for one in held if one.startswith("in")])
    found = found if isinstance(found, tuple) else (found,)
    for a, b in zip(found, [held[one] for one in held if one.startswith("out")], strict=True):
        # Relative to the largest value: float32 sums in another order.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max())


def test_a_model_is_called_like_any_other(plugin, dense):
    program, (x, w) = relay.pjrt.compile(dense, plugin), inputs()
    assert [str(port) for port in program.inputs] == ["x: float32[2, 3]", "w: float32[4, 3]"]
    for found in (program(x, w), program(w=w, x=x), program({"x": x, "w": np.asfortranarray(w)})):
        np.testing.assert_allclose(found[0], np.maximum(x @ w.T, 0), rtol=1e-5)
        np.testing.assert_allclose(found[1], x.sum(1), rtol=1e-5)
    assert program.plugin is relay.pjrt.load(plugin) and program.plugin.platform == "cpu"
    assert "stablehlo.dot_general" in program.text and program.compile_ms > 0


def test_structures_element_types_and_empty_arrays(plugin):
    x, t = relay.var("x", shape=(0, 3)), relay.var("t", relay.TupleType([relay.TensorType((2,), "bfloat16")] * 2))
    first, second = (relay.TupleGetItem(t, i) for i in range(2))
    body = relay.Tuple([x, relay.Tuple([first + second, op.cast(second, "bool")])])
    ml_dtypes = pytest.importorskip("ml_dtypes")
    pair = tuple(np.array(one, ml_dtypes.bfloat16) for one in ([1, 2], [3, 0]))
    empty, (total, flags) = relay.pjrt.compile(relay.Function([x, t], body), plugin)(np.zeros((0, 3), "float32"), pair)
    assert empty.shape == (0, 3) and total.dtype == ml_dtypes.bfloat16
    assert total.astype("float32").tolist() == [4, 2] and flags.tolist() == [True, False]


def test_maximum_keeps_nan(plugin):
    x, y = relay.var("x", shape=(9,)), relay.var("y", shape=(9,))
    program = relay.pjrt.compile(relay.Function([x, y], op.maximum(x, y)), plugin)
    nan, ones = np.full(9, np.nan, "float32"), np.ones(9, "float32")
    assert np.isnan(program(nan, ones)).all() and np.isnan(program(ones, nan)).all()


def test_threads_share_a_program(plugin, dense):
    program, (x, w) = relay.pjrt.compile(dense, plugin), inputs()
    want, found = program(x, w)[0], []
    threads = [threading.Thread(target=lambda: found.extend(program(x, w)[0] for _ in range(20))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 80
    for one in found:
        np.testing.assert_array_equal(one, want)


def test_wrong_inputs(plugin, dense):
    program, (x, w) = relay.pjrt.compile(dense, plugin), inputs()
    for args, problem in (
        ((x,), "1 inputs are given, the model has 2"),
        ((x, w.astype("float64")), r"input `w` is float32\[4, 3\], the array given is float64\[4, 3\]"),
        ((x, w.T.copy()), r"input `w` is float32\[4, 3\], the array given is float32\[3, 4\]"),
    ):
        with pytest.raises(relay.InputError, match=problem):
            program(*args)


def test_an_error_of_a_plugin(plugin):
    loaded = relay.pjrt.load(plugin)
    with pytest.raises(relay.CompileError, match=f"the PJRT plugin {plugin.name} reports an error: .*undeclared"):
        loaded.compile("module { func.func public @main() { return %0 : tensor<f32> } }", [])


@needs_program
def test_the_command_line(plugin, dense, tmp_path):
    x, w = inputs()
    np.savez(tmp_path / "in.npz", x=x, w=w)
    words = ("run", dense, "--target", f"pjrt:{plugin}", "--input", tmp_path / "in.npz")
    done = cli(*words, "--output", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    assert f"on cpu through {plugin.name}, PJRT 0." in done.stderr
    found = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(found["output0"], np.maximum(x @ w.T, 0), rtol=1e-5)
    about = json.loads(cli(*words, "--json").stdout)
    assert about["executor"] == "pjrt" and about["device"].startswith("cpu through")
    np.testing.assert_allclose(about["outputs"][1]["values"], x.sum(1), rtol=1e-5)


# --- refusals ---------------------------------------------------------------------------------------------------------
@needs_program
def test_refusals_of_the_command_line(dense, tmp_path):
    target = f"pjrt:{tmp_path / 'missing.so'}"
    assert "does not exist" in fails("R0401", "run", dense, "--target", target)
    said = fails("R0504", "run", dense, "--target", target, "--threads", "1", "-O", "3")
    assert "--opt-level, --threads would have no effect" in said
    assert "relay run --target" in fails("R0502", "compile", dense, "--target", target, "-o", tmp_path / "x.rart")
    assert cli("compile", dense, "-o", tmp_path / "x.rart").returncode == 0
    assert "has no program" in fails("R0504", "run", tmp_path / "x.rart", "--target", target)
    environment = {"PATH": str(tmp_path), "RELAY_PYTHON": str(tmp_path / "python")}
    words = [PROGRAM, "run", dense, "--target", target]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "programs for PJRT plugins are written by Python" in done.stderr


def test_other_targets_are_named(dense):
    with pytest.raises(relay.InputError, match="relay.pjrt.compile in Python"):
        relay.compile(dense, target="pjrt:plugin.so")


def test_files_that_are_no_plugins(tmp_path):
    text = tmp_path / "plugin.so"
    text.write_text("not a library")
    for path, problem in (
        (tmp_path / "missing.so", "does not exist"),
        (tmp_path, "is a folder"),
        (text, "cannot be loaded: .*(invalid ELF header|file too short)"),
    ):
        with pytest.raises(relay.CompileError, match=problem):
            relay.pjrt.load(path)


# A plugin whose table has this version and size, and whose initialisation fails if it is reached.
PLUGIN = """
#include <stddef.h>
struct args { size_t size; void* extension; void* error; const char* text; size_t length; };
static void* fail(struct args* a) { return a; }
static void* say(struct args* a) { a->text = "no such machine"; a->length = 15; return 0; }
static void* pass(struct args* a) { return 0; }
struct api { size_t size; void* extension; size_t version_size; void* more; int major, minor; void* functions[71]; };
static struct api table = {SIZE, 0, 24, 0, MAJOR, 7};
struct api* GetPjrtApi(void) {
  for (int i = 0; i < 71; ++i) table.functions[i] = (void*)pass;
  table.functions[1] = (void*)say, table.functions[3] = (void*)fail;
  if (MISSING) table.functions[20] = 0;
  return EMPTY ? 0 : &table;
}
"""


@needs_compiler
@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"MAJOR": 1}, "has version 1.7 of PJRT's interface, and Relay knows version 0"),
        ({"SIZE": 500}, "a table of 500 bytes, and Relay needs 608"),
        ({"MISSING": 1}, "lacks PJRT_Client_Compile"),
        ({"EMPTY": 1}, "GetPjrtApi returns nothing"),
        ({}, "reports an error: no such machine"),
    ],
)
def test_plugins_of_other_versions(changed, problem, tmp_path):
    library = tmp_path / "plugin.so"
    words = [
        f"-D{name}={value}" for name, value in ({"MAJOR": 0, "SIZE": 608, "MISSING": 0, "EMPTY": 0} | changed).items()
    ]
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, *words]
    subprocess.run(command, input=PLUGIN, text=True, check=True)
    with pytest.raises(relay.CompileError, match=problem):
        relay.pjrt.load(library)


@needs_compiler
def test_a_library_that_is_no_plugin(tmp_path):
    library = tmp_path / "plugin.so"
    subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", library], input="int one = 1;", text=True, check=True)
    with pytest.raises(relay.CompileError, match="is not a PJRT plugin: the function GetPjrtApi is missing"):
        relay.pjrt.load(library)


@pytest.fixture
def any_plugin():
    path = next((one for one in pjrt_plugins.ALL.values() if one.exists()), None)
    if path is None:
        pytest.skip(pjrt_plugins.WHY)
    return path


def test_programs_without_a_form(any_plugin):
    x = relay.var("x", shape=(1, 2, 4, 4))
    body = op.nn.lrn(op.nn.upsampling(x, scale_h=2.0, scale_w=2.0))
    with pytest.raises(relay.CompileError, match="without a form in StableHLO: nn.upsampling, nn.lrn"):
        relay.pjrt.compile(relay.Function([x], body), any_plugin)
    y = relay.var("y", shape=("n", 2))
    with pytest.raises(relay.CompileError, match="a size is open"):
        relay.pjrt.compile(relay.Function([y], op.exp(y)), any_plugin)
    program = relay.pjrt.compile(relay.Function([y], op.exp(y)), any_plugin, shapes={"y": (3, 2)})
    np.testing.assert_allclose(program(np.zeros((3, 2), "float32")), np.ones((3, 2)))


# --- a plugin that counts ---------------------------------------------------------------------------------------------
def _c_type(kind, name):
    """Returns the declaration of a field in C."""
    known = {
        interface.ctypes.c_size_t: "size_t",
        interface.ctypes.c_int: "int",
        interface.ctypes.c_void_p: "void*",
        interface.ctypes.POINTER(interface.ctypes.c_int64): "int64_t*",
        interface.ctypes.POINTER(interface.ctypes.c_void_p): "void**",
    }
    return f"{known.get(kind) or f'struct {kind.__name__}'} {name};"


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    """The plugin of mock_plugin.c, and its library."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("mock")
    text = "".join(
        f"struct {name} {{ {' '.join(_c_type(kind, field) for field, kind in struct._fields_)} }};\n"
        for name, struct in interface.STRUCTS.items()
    )
    (folder / "interface.h").write_text(text)
    library = folder / "mock_plugin.so"
    source = pathlib.Path(__file__).parent / "mock_plugin.c"
    words = ["cc", "-std=gnu11", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{folder}", source, "-o", library]
    subprocess.run(words, check=True)
    return relay.pjrt.load(library), interface.ctypes.CDLL(str(library))


def alive(library) -> dict:
    kinds = ("client", "loaded", "executable", "buffer", "event", "error", "mistakes")
    return {kind: count for kind in kinds if (count := library.mock_alive(kind.encode()))}


def test_nothing_is_left_and_every_copy_is_awaited(mock):
    plugin, library = mock
    assert repr(plugin).endswith("mock_plugin.so: mock, PJRT 0.99>")
    program = plugin.compile("", [((2, 3), "float32")])
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for _ in range(3):
        np.testing.assert_array_equal(program.run([relay.array(x), relay.array(x + 1)])[0], x)
    assert alive(library) == {"client": 1, "loaded": 1}
    del program
    gc.collect()
    assert alive(library) == {"client": 1}


@pytest.mark.parametrize(
    "place", ["second upload", "upload", "execute", "work", "to host", "download", "compile", "count", "memory"]
)
def test_nothing_is_left_after_an_error(mock, place):
    plugin, library = mock
    x = relay.array(np.ones((2, 3), "float32"))
    library.mock_fail(place.encode())
    try:
        with pytest.raises(relay.CompileError, match="mock_plugin.so reports an error: as planned") as failed:
            plugin.compile("", [((2, 3), "float32")]).run([x, x])
    finally:
        library.mock_fail(b"")
    kind = "out_of_memory" if place == "memory" else "not_supported"
    assert [one.kind for one in failed.value.diagnostics] == [kind]
    del failed
    gc.collect()
    assert alive(library) == {"client": 1}


@pytest.mark.parametrize(
    ("results", "problem"),
    [
        ([((2, 3), "float32")] * 2, "has 1 results for 2"),
        ([((3, 2), "float32")], r"returns elements of type 11 and sizes \[2, 3\] for float32\[3, 2\]"),
        ([((2, 3), "int32")], r"returns elements of type 11 and sizes \[2, 3\] for int32\[2, 3\]"),
    ],
)
def test_results_of_other_types_are_refused(mock, results, problem):
    plugin, library = mock
    x = relay.array(np.ones((2, 3), "float32"))
    with pytest.raises(relay.CompileError, match=problem):
        plugin.compile("", results).run([x, x])
    gc.collect()
    assert alive(library) == {"client": 1}


# --- the interface ----------------------------------------------------------------------------------------------------
@needs_compiler
def test_the_declared_interface_is_that_of_the_header(tmp_path):
    if not pjrt_plugins.HEADER.exists():
        pytest.skip(pjrt_plugins.WHY)
    lines, want = [], {}
    for name, struct in interface.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", (size_t)sizeof(struct {name}));')
        want[name] = str(interface.ctypes.sizeof(struct))
        for field, *_ in struct._fields_:
            at = f"{name}.{field}"
            lines.append(f'printf("{at} %zu\\n", offsetof(struct {name}, {field}));')
            want[at] = str(getattr(struct, field).offset)
    for name, at in interface.POSITIONS.items():
        lines.append(f'printf("{name} %zu\\n", offsetof(PJRT_Api, {name}));')
        want[name] = str(interface.Api.functions.offset + 8 * at)
    numbers = {
        "UNTIL_TRANSFERRED": "PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes",
        "RESOURCE_EXHAUSTED": "PJRT_Error_Code_RESOURCE_EXHAUSTED",
        "MAJOR_VERSION": "PJRT_API_MAJOR",
    }
    for name, symbol in numbers.items():
        lines.append(f'printf("{symbol} %d\\n", {symbol});')
        want[symbol] = str(getattr(interface, name))
    short = {"bool": "PRED", "int": "S", "uint": "U", "float": "F", "bfloat": "BF"}
    for name, number in interface.ELEMENTS.items():
        symbol = f"PJRT_Buffer_Type_{short[name.rstrip('0123456789')]}{name.lstrip('abcdefghijklmnopqrstuvwxyz')}"
        lines.append(f'printf("{symbol} %d\\n", {symbol});')
        want[symbol] = str(number)
    source = f"#include <stdio.h>\n#include <{pjrt_plugins.HEADER}>\nint main(void) {{ {' '.join(lines)} return 0; }}"
    subprocess.run(["cc", "-x", "c", "-", "-o", tmp_path / "sizes"], input=source, text=True, check=True)
    said = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout
    assert dict(line.split() for line in said.splitlines()) == want


def test_the_room_imports_without_a_plugin():
    code = "import relay, sys; relay.pjrt.load; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
