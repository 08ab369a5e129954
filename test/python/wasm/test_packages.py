"""Networks as WebAssembly: packages that run in Node, compute the same bits, and say what does not fit."""

import json
import subprocess

import js_packages
import numpy as np
import pytest
from forms import each_nth
from programs import EXAMPLES, ROOT, cli, fails, needs_program
from relay.run.build_module import bind_params_by_name

import relay
from relay import testing

pytestmark = [
    needs_program,
    pytest.mark.skipif(not js_packages.NODE, reason="node is not installed"),
]
VERSION = '#[version = "0.0.5"]\n'
TAKE = 'def @main(%x: Tensor[(5, 2), float32], %i: Tensor[(3), int64]) { take(%x, %i, axis=0, mode="checked") }\n'
WORKLOADS = {
    "mlp": lambda: testing.mlp.get_workload(1),
    "mobilenet": lambda: testing.mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), num_classes=10),
    "squeezenet": lambda: testing.squeezenet.get_workload(1, image_shape=(3, 64, 64), num_classes=10),
    "resnet": lambda: testing.resnet.get_workload(1, 10, num_layers=8, image_shape=(3, 28, 28)),
    "dqn": lambda: testing.dqn.get_workload(1, image_shape=(4, 44, 44)),
    "dcgan": lambda: testing.dcgan.get_workload(1, oshape=(3, 64, 64), ngf=16),
}


def write(model, folder, *options):
    done = cli("compile", model, "--emit", "wasm", "-o", folder, *options)
    assert done.returncode == 0, done.stderr
    return folder


def program(text, tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(VERSION + text)
    return path


def node(folder, script):
    """The text that a module prints in which `load` and `fails` are defined."""
    begin = f"""import {{ load, ModelError }} from "{folder.as_uri()}/model.mjs";
async function fails(run) {{
  try {{ await run(); }} catch (e) {{ if (e instanceof ModelError) return console.log(e.message); throw e; }}
  throw new Error("nothing failed");
}}
"""
    path = folder / "script.mjs"
    path.write_text(begin + script)
    done = subprocess.run([js_packages.NODE, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", each_nth(3, WORKLOADS))
def test_networks_compute_the_bits_of_this_machine(name, tmp_path):
    module, params = WORKLOADS[name]()
    relay.IRModule.from_expr(bind_params_by_name(module["main"], params)).save(tmp_path / "net.relay")
    write(tmp_path / "net.relay", tmp_path / "package")
    assert js_packages.in_node(tmp_path, ["package"]) == {}


def test_operators_compute_the_bits_of_this_machine(tmp_path):
    done = subprocess.run(
        [ROOT / "build/release/bin/relay_op_projects", tmp_path, "--emit", "wasm", "--first", "--only",
         r"nn\.(dense|softmax|max_pool2d|conv2d)|exp|tanh|sin|floor_mod|sort|topk|take|gather_nd|cast|concatenate|where"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "cases.json").read_text())
    assert [row for row in rows if row["problem"]] == []
    names = [row["folder"] for row in rows if row["folder"]]
    assert len(names) > 12 and js_packages.in_node(tmp_path, names) == {}


def test_a_self_test_can_fail(tmp_path):
    package = write(EXAMPLES / "tour" / "dense.relay", tmp_path / "package")
    vectors = package / "test_vectors.bin"
    content = bytearray(vectors.read_bytes())
    content[-1] ^= 1
    vectors.write_bytes(content)
    assert js_packages.in_node(tmp_path, ["package"]) == {"package": "output: 1 of 16 values differ"}


def test_the_outputs_are_those_of_relay_run(tmp_path):
    x = np.random.default_rng(1).standard_normal((5, 2), dtype="float32")
    path = program(TAKE, tmp_path)
    package = write(path, tmp_path / "package")
    text = f"const {{ output }} = (await load()).run({{ x: {x.ravel().tolist()}, i: [4, 0n, -1] }});"
    got = node(package, text + "console.log(JSON.stringify(Array.from(output)));")
    assert np.array_equal(np.array(json.loads(got), "float32").reshape(3, 2), x[[4, 0, -1]])
    assert np.array_equal(relay.compile(path)(x, np.array([4, 0, -1])), x[[4, 0, -1]])


def test_wrong_inputs_are_said(tmp_path):
    package = write(program(TAKE, tmp_path), tmp_path / "package")
    said = node(
        package,
        """const model = await load();
const x = new Float32Array(10), i = new BigInt64Array(3);
await fails(() => model.run({ y: x }));
await fails(() => model.run({ x: new Float64Array(10), i }));
await fails(() => model.run({ x: new Float32Array(9), i }));
await fails(() => model.run({ x: [[1, 2]], i }));
await fails(() => model.run({ x: Array(10).fill("1"), i }));
await fails(() => model.run({ x, i: [0, 1.5, 2] }));
await fails(() => model.run({ x, i: [0, 5, 2] }));
await fails(() => model.run({ x, i: [0, -6, 2] }));
await fails(() => model.run(x));
await fails(() => model.output("y"));
model.run({ x, i });
""",
    ).splitlines()
    assert said == [
        "no input is named `y`; there are: `x`, `i`",
        "input `x`: expected Float32Array of 10 elements for float32[5, 2], got Float64Array",
        "input `x`: expected Float32Array of 10 elements for float32[5, 2], got 9",
        "input `x`: expected Float32Array of 10 elements for float32[5, 2], got 1",
        "input `x`: expected Float32Array of 10 elements for float32[5, 2], but element 0 is 1",
        "input `i`: expected BigInt64Array of 3 elements for int64[3], but element 1 is 1.5",
        *["an index of take is out of range: expected -5 to 4, at net.relay:2:66"] * 2,
        "inputs are an object of typed arrays by name: `x`, `i`",
        "no output is named `y`; there are: `output`",
    ]


def test_state_is_kept_between_runs(tmp_path):
    package = write(EXAMPLES / "state.relay", tmp_path / "package", "--donate", "keys=output")
    assert js_packages.in_node(tmp_path, ["package"]) == {}
    said = node(
        package,
        """const [a, b] = [await load(), await load()];
const row = new Float32Array(8).fill(2);
for (const at of [3n, 5n]) a.run({ at: [at], row });
console.log(a.state[0].name, a.stateOf("keys").reduce((x, y) => x + y, 0), b.stateOf("keys")[24], a.outputs.length);
a.reset();
console.log(a.stateOf("keys")[24]);
""",
    )
    assert said == "keys 32 0 0\n0\n"


def test_weights_in_a_file_of_their_own(tmp_path):
    module, params = testing.mlp.get_workload(1)
    relay.IRModule.from_expr(bind_params_by_name(module["main"], params)).save(tmp_path / "net.relay")
    package = write(tmp_path / "net.relay", tmp_path / "package", "--weights-file")
    assert (package / "model.wasm").stat().st_size < 20_000 < (package / "model.weights").stat().st_size
    assert js_packages.in_node(tmp_path, ["package"]) == {}
    other = write(EXAMPLES / "tour" / "dense.relay", tmp_path / "other", "--weights-file")
    script = f'await fails(() => load({{ weights: "{other.as_uri()}/model.weights" }}));'
    script += f'await fails(() => load({{ module: "{other.as_uri()}/model.wasm" }}));'
    script += "await fails(() => load({ module: new Uint8Array(8) }));"
    weights, module, damaged = node(package, script).splitlines()
    assert weights.startswith("model.weights is not the file that this one was written for")
    assert module.startswith("model.wasm is not the module that this file was written for")
    assert damaged.startswith("model.wasm is refused: ")


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(EXAMPLES / "tour" / "dense.relay", tmp_path / name, "--input", "x=1")
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert "model.wasm" in files
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }\n", [], "`n` of input `x` is known only at run time"),
        (
            "def @main(%x: float32) -> float32 { if (less(%x, 0f)) { @main(add(%x, 1f)) } else { %x } }\n",
            [],
            "has one straight line of kernels, but the program has control flow",
        ),
        (TAKE, ["--target", "haswell"], "is compiled for WebAssembly or WebGPU, but the target is haswell"),
        (TAKE, ["--name", "No Name"], "'No Name' cannot be the name of a package"),
        (TAKE, ["--library-math"], "--library-math applies to C projects"),
    ],
)
def test_refusals(text, options, message, tmp_path):
    done = cli("compile", program(text, tmp_path), "--emit", "wasm", "-o", tmp_path / "out", *options)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_objects_are_written_and_libraries_refused(tmp_path):
    path = EXAMPLES / "tour" / "dense.relay"
    done = cli("compile", path, "--target", "wasm32-simd128", "--emit", "obj", "-o", tmp_path / "k.o")
    assert done.returncode == 0 and (tmp_path / "k.o").read_bytes()[:4] == b"\0asm"
    said = fails("R0304", "compile", path, "--target", "wasm32-simd128", "--emit", "so", "-o", tmp_path / "k.so")
    assert "WebAssembly has no shared libraries" in said


def test_main_loops_use_vectors(tmp_path):
    text = "def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) { nn.dense(%x, %w, units=64) }\n"
    done = cli("opt", program(text, tmp_path), "--target", "wasm32-simd128", "--emit", "asm")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("f32x4.mul") >= 8 and "fmaf" not in done.stdout


CONVOLUTION = """def @main(%x: Tensor[(1, 8, 40, 40), float32], %w: Tensor[(32, 8, 3, 3), float32]) {
  let %y = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.softmax(nn.relu(%y), axis=1)
}
"""


def test_several_threads_compute_the_same_bits(tmp_path):
    package = write(program(CONVOLUTION, tmp_path), tmp_path / "package", "--target", "wasm32-threads")
    assert "worker.mjs" in json.loads((package / "package.json").read_text())["files"]
    said = node(
        package,
        """let first;
for (const threads of [1, 2, 3]) {
  const model = await load({ threads });
  for (const name of ["x", "w"]) model.input(name).forEach((_, i, all) => { all[i] = Math.sin(i * 0.37); });
  const runs = Array.from({ length: 20 }, () => model.run().output);
  first ??= runs[0];
  const same = runs.every((run) => run.every((value, i) => Object.is(value, first[i])));
  console.log(threads, model.threads, same, model.input("x").buffer.constructor.name, first.buffer.constructor.name);
  model.close();
  console.log(model.threads, model.run().output.every((value, i) => Object.is(value, first[i])));
}
await fails(() => load({ threads: 0 }));
await load();
""",
    ).splitlines()
    assert said == [
        "1 1 true ArrayBuffer ArrayBuffer", "1 true",
        "2 2 true SharedArrayBuffer ArrayBuffer", "1 true",
        "3 3 true SharedArrayBuffer ArrayBuffer", "1 true",
        "threads: expected a positive integer, got 0",
    ]  # fmt: skip
    assert js_packages.in_node(tmp_path, ["package"]) == {}


def test_threads_of_a_package_for_one_are_said(tmp_path):
    package = write(EXAMPLES / "tour" / "dense.relay", tmp_path / "package", "--name", "dense")
    (package / "run.mjs").write_text(
        'import { load } from "./model.mjs"; console.log((await load({ threads: 2 })).threads);'
    )
    done = subprocess.run([js_packages.NODE, package / "run.mjs"], capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n"
    assert done.stderr == "dense runs on one thread: it was compiled for one; --target wasm32-threads is for several\n"


def test_a_thread_that_fails_is_said(tmp_path):
    package = write(program(CONVOLUTION, tmp_path), tmp_path / "package", "--target", "wasm32-threads")
    worker = package / "worker.mjs"
    text = worker.read_text()
    assert text.count("exports.relay_worker(scratch);") == 1
    worker.write_text(text.replace("exports.relay_worker(scratch);", 'throw new Error("for the test");'))
    (package / "run.mjs").write_text(
        'import { load } from "./model.mjs"; const model = await load({ threads: 2 });\n'
        "await new Promise((resolve) => setTimeout(resolve, 200));\n"
        "try { model.run(); } catch (e) { console.log(e.message); }"
    )
    done = subprocess.run([js_packages.NODE, package / "run.mjs"], capture_output=True, text=True, timeout=60)
    assert "a thread of the network failed: load it again" in done.stdout
