"""The command line does what its help says."""

import itertools
import json
import pathlib
import re

import numpy as np
import pytest
from programs import ROOT, TWO_RESULTS, cli, cli_json, needs_program, onnx_model

import relay

pytestmark = needs_program
VERBS = ["run", "compile", "opt", "check", "bench", "verify", "bisect", "profile", "inspect", "explore", "cache", "ops"]
VERBS += ["doctor", "explain", "fmt", "lsp"]


def test_version_is_one_everywhere():
    version = cli("--version").stdout.split()[1]
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("verb", VERBS)
def test_help_teaches(verb):
    done = cli(verb, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout and f"relay {verb}" in done.stdout


def test_help_lists_the_verbs():
    text = cli("--help").stdout
    assert all(f"  {verb} " in text for verb in VERBS)
    assert "relay run model.onnx" in text


def test_run_says_what_ran_where(dense_file):
    done = cli("run", dense_file)
    assert done.returncode == 0
    assert "float32[1, 8]" in done.stdout
    last = done.stderr.strip().splitlines()[-1]
    assert re.search(r"relay: \d+ groups?, \d+ kernels? .* on .*threads?.*compile .*run ", last), last
    assert "`x` is not given: random" in done.stderr and "dimension `n` is not given: 1" in done.stderr


def test_quiet(dense_file):
    assert cli("run", dense_file, "--quiet").stderr == ""


def test_inputs_and_outputs(dense_file, tmp_path):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((5, 4), np.float32), rng.standard_normal((8, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "all.npz", x=x, w=w)
    np.save(tmp_path / "w.npy", w)
    expected = np.maximum(x @ w.T, 0)
    for executor in ["compiled", "vm", "aot", "graph", "debug"]:
        out = tmp_path / f"{executor}.npz"
        done = cli(
            "run",
            dense_file,
            "--input",
            f"x={tmp_path}/x.npy",
            "--input",
            f"w={tmp_path}/w.npy",
            "--output",
            out,
            "--executor",
            executor,
        )
        assert done.returncode == 0, done.stderr
        assert "random" not in done.stderr
        np.testing.assert_allclose(np.load(out)["output"], expected, rtol=1e-5, atol=1e-6)
    done = cli("run", dense_file, "--input", tmp_path / "all.npz", "--output", tmp_path / "folder")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "folder" / "output.npy"), expected, rtol=1e-5, atol=1e-6)


def test_random_inputs_are_the_same_every_time(dense_file, tmp_path):
    for name in "ab":
        cli("run", dense_file, "--shape", "x=3,4", "--input", "x=random:7", "--output", tmp_path / f"{name}.npz")
    a, b = np.load(tmp_path / "a.npz")["output"], np.load(tmp_path / "b.npz")["output"]
    assert a.shape == (3, 8) and (a == b).all()
    cli("run", dense_file, "--shape", "x=3,4", "--input", "x=random:8", "--output", tmp_path / "c.npz")
    assert (np.load(tmp_path / "c.npz")["output"] != a).any()


def test_threads_do_not_change_the_answer(conv_file, tmp_path):
    for threads in (1, 2):
        assert cli("run", conv_file, "--threads", threads, "--output", tmp_path / f"{threads}.npy").returncode == 0
    assert (np.load(tmp_path / "1.npy") == np.load(tmp_path / "2.npy")).all()


def test_two_results(tmp_path):
    path = tmp_path / "two.relay"
    path.write_text(TWO_RESULTS)
    done = cli("run", path, "--output", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    assert set(np.load(tmp_path / "out.npz").files) == {"output0", "output1"}


def test_profile(conv_file, tmp_path):
    done = cli("profile", conv_file, "--threads", "1", "--time", "0.1", "--trace", tmp_path / "trace.json")
    assert "all kernels" in done.stdout and "nn_conv2d" in done.stdout and "ceilings of one core" in done.stdout
    events = json.loads((tmp_path / "trace.json").read_text())
    assert [e["ph"] for e in events] == ["X"] * len(events)
    for before, after in itertools.pairwise(events):
        assert 0 <= before["ts"] and before["ts"] + before["dur"] <= after["ts"]

    report = cli_json("profile", conv_file, "--threads", "1", "--time", "0.1", "--json")
    assert sum(k["calls"] for k in report["kernels"]) == len(events)
    kernel = max(report["kernels"], key=lambda k: k["flops"])
    assert "contraction" in kernel["rule"]
    products = 8 * 16 * 16 * 3 * 3 * 3  # two operations each, and a few more an element
    assert 2 * products <= kernel["flops"] <= 2.1 * products
    assert kernel["gflops"] == pytest.approx(kernel["flops"] / kernel["us"] * 1e-3)
    assert 0 < kernel["share"] and kernel["bound"] in ("fma", "L2") and kernel["bytes"] > 0
    assert all(k["estimate_us"] > 0 for k in report["kernels"]) and "estimated by" in done.stdout


def test_kernels_name_their_nodes_in_the_profile_and_the_trace(tmp_path):
    from onnx import helper, numpy_helper

    draw = np.random.default_rng(0)
    weights = {"w": draw.standard_normal((8, 3, 3, 3)), "v": draw.standard_normal((8 * 64, 10))}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="stem", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="act"),
        helper.make_node("MaxPool", ["b"], ["c"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["c"], ["d"], name="flat"),
        helper.make_node("Gemm", ["d", "v"], ["e"], name="head"),
        helper.make_node("Softmax", ["e"], ["y"]),
    ]
    path = onnx_model(
        tmp_path / "net.onnx",
        nodes,
        [("x", [1, 3, 16, 16])],
        [("y", [1, 10])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    names = ["Conv 'stem'", "Relu 'act'", "MaxPool 'pool'", "Gemm 'head'", "Softmax that computes 'y'"]
    report = cli_json("profile", path, "--threads", "1", "--time", "0.1", "--json", "--trace", tmp_path / "trace.json")
    kernels = {kernel["name"]: kernel["nodes"] for kernel in report["kernels"]}
    assert all(kernels.values()), kernels
    assert {node for named in kernels.values() for node in named} >= set(names)
    assert next(nodes for nodes in kernels.values() if names[0] in nodes)[:2] == names[:2]  # one kernel of both
    events = json.loads((tmp_path / "trace.json").read_text())
    assert {event["name"]: event["args"]["nodes"] for event in events} == kernels
    shown = cli("profile", path, "--threads", "1", "--time", "0.1").stdout
    assert all(name in shown for name in names)


def test_profile_of_an_artifact(conv_file, tmp_path):
    assert cli("compile", conv_file, "-o", tmp_path / "net.rart").returncode == 0
    report = cli_json("profile", tmp_path / "net.rart", "--time", "0.1", "--json")
    assert all(k["us"] > 0 and k["bytes"] > 0 and k["flops"] == 0 and k["rule"] == "" for k in report["kernels"])


def test_memory_limit(conv_file):
    assert cli("run", conv_file, "--memory-limit", "1G").returncode == 0
    done = cli("run", conv_file, "--memory-limit", "1K")
    assert done.returncode == 1 and "and the limit is 1 KiB" in done.stderr and "weights" in done.stderr
    assert "'1 GB' is not a number of bytes" in cli("run", conv_file, "--memory-limit", "1 GB").stderr


def test_inspect(conv_file, tmp_path):
    assert "constants" in cli("inspect", conv_file).stdout
    report = cli_json("inspect", conv_file, "--json")
    (segment,) = report["segments"]
    assert segment["lower_bound"] <= segment["arena_bytes"]
    buffers = segment["buffers"]
    for a, b in itertools.combinations(buffers, 2):  # alive at the same time: apart
        if a["first_step"] <= b["last_step"] and b["first_step"] <= a["last_step"]:
            assert a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
    assert all(b["offset"] + b["bytes"] <= segment["arena_bytes"] for b in buffers)
    shown = cli("inspect", conv_file, "--memory").stdout
    assert all(f"{b['bytes']:>12} {b['offset']:>12}" in shown for b in buffers)
    compiled = cli_json("compile", conv_file, "-o", tmp_path / "net.rart", "--json")
    assert cli_json("inspect", tmp_path / "net.rart", "--json") == report
    assert compiled["memory"]["arena_bytes"] == report["arena_bytes"] == segment["arena_bytes"]
    assert relay.load(tmp_path / "net.rart").report["memory"] == compiled["memory"]


def test_a_file_holds_each_weight_once(tmp_path):
    """A convolution in Winograd's form and a product in Strassen's: both are made when the file is loaded."""
    random = np.random.default_rng(0)
    x, y = relay.var("x", shape=(1, 64, 56, 56)), relay.var("y", shape=(256, 1024))
    w, v = (relay.const(random.standard_normal(s).astype(np.float32) / 30) for s in ((64, 64, 3, 3), (1024, 1024)))
    body = relay.Tuple([relay.nn.conv2d(x, w, padding=(1, 1)), relay.nn.dense(y, v)])
    relay.IRModule.from_expr(relay.Function([x, y], body)).save(tmp_path / "two.relay")
    assert cli("compile", tmp_path / "two.relay", "-o", tmp_path / "two.rart").returncode == 0
    about = cli_json("inspect", tmp_path / "two.rart", "--json")
    weights = 4 * (64 * 64 * 9 + 1024 * 1024)
    assert about["model_bytes"] == weights and about["constant_bytes"] <= weights + 4096
    made = [c for c in about["constants"] if not c["stored"]]
    assert sum(c["bytes"] for c in made) == about["prepared_bytes"]
    if made:  # on a processor where these forms pay
        shown = cli("inspect", tmp_path / "two.rart", "--constants").stdout
        assert "computed when loaded" in shown and "when loaded: " in shown
    data = {"x": random.standard_normal((1, 64, 56, 56)), "y": random.standard_normal((256, 1024))}
    data = {name: value.astype(np.float32) for name, value in data.items()}
    for large in (False, True):  # the direct forms run for one large value
        if large:
            data["x"][0, 3, 5, 7] = data["y"][3, 5] = 1e30
        wanted = relay.evaluate(relay.load(tmp_path / "two.relay"), data, precision="float64")
        for model in (relay.load(tmp_path / "two.rart"), relay.compile(tmp_path / "two.relay")):
            for got, want in zip(model(**data), wanted, strict=True):
                assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_weights_of_integers_are_stored_as_such_and_packed_when_loaded(tmp_path):
    """Small integers and the scales of groups of 32: what a kernel reads is made of them in two steps, once."""
    random = np.random.default_rng(0)
    integers = random.integers(-8, 8, (512, 16, 32)).astype(np.int8)
    scales = random.uniform(0.01, 0.02, (512, 16, 1)).astype(np.float32)
    weight = relay.reshape(relay.cast(relay.const(integers), "float32") * relay.const(scales), (512, 512))
    x = relay.var("x", shape=(64, 512))
    relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, weight))).save(tmp_path / "net.relay")
    assert cli("compile", tmp_path / "net.relay", "-o", tmp_path / "net.rart").returncode == 0
    about = cli_json("inspect", tmp_path / "net.rart", "--json")
    assert about["constant_bytes"] == integers.nbytes + scales.nbytes
    made = [c for c in about["constants"] if not c["stored"]]
    assert [c["bytes"] for c in made] == 2 * [4 * 512 * 512]
    assert made[0]["why"] == "others are computed from it, then its memory is freed"
    assert made[1]["why"] == "larger than its source" and "step 0" in made[1]["readers"][0]
    value = random.standard_normal((64, 512)).astype(np.float32)
    expected = value.astype(np.float64) @ (integers * scales.astype(np.float64)).reshape(512, 512).T
    got = relay.load(tmp_path / "net.rart")(value)
    assert np.abs(got - expected).max() <= 2e-6 * np.abs(expected).max()


def test_inspect_of_symbolic_sizes(dense_file):
    done = cli("inspect", dense_file, "--memory")
    assert done.returncode == 0 and "sizes are shown for n = 1" in done.stderr
    done = cli("inspect", dense_file, "--memory", "--shape", "x=3,4")
    assert done.returncode == 0 and "sizes are shown" not in done.stderr


def test_optimisation_levels_agree(conv_file, tmp_path):
    results = []
    for level in range(4):
        done = cli("run", conv_file, f"-O{level}", "--output", tmp_path / f"{level}.npy")
        assert done.returncode == 0, done.stderr
        results.append(np.load(tmp_path / f"{level}.npy"))
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-4)


def test_artifact_round_trip(conv_file, tmp_path):
    done = cli("compile", conv_file, "-o", tmp_path / "conv.rart")
    assert done.returncode == 0, done.stderr
    assert cli("run", conv_file, "--output", tmp_path / "a.npy").returncode == 0
    done = cli("run", tmp_path / "conv.rart", "--output", tmp_path / "b.npy")
    assert done.returncode == 0, done.stderr
    assert "artifact" in done.stderr.splitlines()[-1]
    assert (np.load(tmp_path / "a.npy") == np.load(tmp_path / "b.npy")).all()
    assert cli("compile", conv_file, "-o", tmp_path / "again.rart").returncode == 0
    assert (tmp_path / "conv.rart").read_bytes() == (tmp_path / "again.rart").read_bytes()


@pytest.mark.parametrize("form, magic", [("so", b"\x7fELF"), ("obj", b"\x7fELF")])
def test_kernels_alone(conv_file, tmp_path, form, magic):
    done = cli("compile", conv_file, "-o", tmp_path / "out", "--emit", form)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_bytes().startswith(magic)


def test_opt_prints_a_program_that_parses(conv_file, tmp_path):
    first = cli("opt", conv_file, "--passes", "infer_type")
    assert first.returncode == 0, first.stderr
    again = tmp_path / "again.relay"
    again.write_text(first.stdout)
    assert cli("opt", again, "--passes", "infer_type").stdout == first.stdout
    done = cli("opt", conv_file, "-o", tmp_path / "out.relay")
    assert done.returncode == 0, done.stderr
    assert cli("run", tmp_path / "out.relay").returncode == 0


LOGGED = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) -> Tensor[(4, 8), float32] {
  %0 = subtract(%x, 0f);
  %1 = nn.dense(%0, %w, units=8);
  %2 = negative(negative(%1));
  multiply(%2, add(1f, 1f))
}
"""


def test_opt_shows_what_each_pass_did(tmp_path):
    path = tmp_path / "p.relay"
    path.write_text(LOGGED)
    done = cli("opt", path, "--diff", "--timings", "--trace", tmp_path / "steps")
    assert done.returncode == 0, done.stderr
    # Lines that only got another number are context.
    assert (
        """--- before fold_constant
+++ after fold_constant
@@ -3,6 +3,5 @@
   %1 = nn.dense(%0, %w, units=8);
   %2 = negative(%1);
   %3 = negative(%2);
-  %4 = add(1f, 1f);
-  multiply(%3, %4)
+  multiply(%3, 2f)
 }
"""
        in done.stdout
    )
    [row] = re.findall(r"\d+  simplify_expr .*", done.stdout)
    rules = "1 x negative(negative(x)) becomes x; 1 x subtract(x, 0) becomes x"
    assert row.endswith(f"10 -> 6  -2 negative, -1 subtract; {rules}")
    files = sorted(f.name for f in (tmp_path / "steps").iterdir())
    assert [re.sub(r"^\d\d-", "", f) for f in files] == [
        "input.relay",
        "fold_constant.relay",
        "simplify_expr.relay",
        "fuse_ops.relay",
        "index.txt",
    ]
    assert row in (tmp_path / "steps" / "index.txt").read_text()
    (tmp_path / "file").write_text("")
    assert "cannot be written" in cli("opt", path, "--trace", tmp_path / "file").stderr


def test_each_node_is_in_a_kernel_or_removed_by_a_pass(tmp_path):
    path = tmp_path / "p.relay"
    path.write_text(LOGGED)
    nodes = cli("opt", path, "--emit", "nodes").stdout.splitlines()
    assert [" ".join(line.partition("p.relay:")[2].split()) for line in nodes] == [
        "3:8 removed by simplify_expr",
        "4:8 fused_nn_dense_multiply",
        "5:17 removed by simplify_expr",
        "5:8 removed by simplify_expr",
        "6:16 removed by fold_constant",
        "6:3 fused_nn_dense_multiply",
    ]
    report = json.loads(cli("compile", path, "-o", tmp_path / "p.rart", "--json").stdout)
    [kernel] = report["kernels"]
    assert [place.rpartition("p.relay:")[2] for place in kernel["nodes"]] == ["4:8", "6:3"]
    assert [n["removed_by"] for n in report["nodes_without_kernel"]] == ["simplify_expr"] * 3 + ["fold_constant"]
    [row] = json.loads(cli("profile", path, "--time", 0.01, "--json").stdout)["kernels"]
    assert row["nodes"] == kernel["nodes"]


@pytest.mark.parametrize("stage", ["te", "schedule", "loop", "llvm", "asm"])
def test_stages(conv_file, stage):
    done = cli("opt", conv_file, "--emit", stage)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 100
    one = cli("opt", conv_file, "--emit", stage, "--kernel", 0)
    assert one.returncode == 0 and 0 < len(one.stdout) < len(done.stdout)


def test_a_schedule_can_be_fed_back(conv_file, tmp_path):
    schedule = cli("opt", conv_file, "--emit", "schedule", "--kernel", 0, "-o", tmp_path / "s.txt")
    assert schedule.returncode == 0, schedule.stderr
    group = re.search(r"# group 0 (\S+)", cli("opt", conv_file, "--emit", "schedule").stdout).group(1)
    done = cli("run", conv_file, "--schedule", f"{group}={tmp_path}/s.txt", "--output", tmp_path / "a.npy")
    assert done.returncode == 0, done.stderr
    cli("run", conv_file, "--output", tmp_path / "b.npy")
    assert (np.load(tmp_path / "a.npy") == np.load(tmp_path / "b.npy")).all()


def test_a_changed_tile_changes_the_assembly_and_not_the_answer(conv_file, tmp_path):
    before = cli("opt", conv_file, "--emit", "schedule", "--kernel", 0).stdout
    group = re.search(r"# group 0 (\S+)", cli("opt", conv_file, "--emit", "schedule").stdout).group(1)
    # The first tile of a root stage: `x/14` without `:unroll` or `:vector`. What is inside adapts to what is left.
    after = re.sub(
        r"/([2-9]|\d\d+)(?=[ :](?!unroll|vector))", lambda step: f"/{int(step.group(1)) // 2}", before, count=1
    )
    assert after != before
    (tmp_path / "s.txt").write_text(after)
    edited = ("--schedule", f"{group}={tmp_path}/s.txt")
    assembly = [cli("opt", conv_file, "--emit", "asm", *extra) for extra in ((), edited)]
    assert all(done.returncode == 0 for done in assembly), assembly[1].stderr
    assert assembly[0].stdout != assembly[1].stdout
    for extra, file in (((), "a.npy"), (edited, "b.npy")):
        assert cli("run", conv_file, *extra, "--output", tmp_path / file).returncode == 0
    assert np.abs(np.load(tmp_path / "a.npy") - np.load(tmp_path / "b.npy")).max() <= 1e-6


def test_a_model_printed_to_a_pipe_can_be_read_again(tmp_path):
    from onnx import helper, numpy_helper

    weight = np.random.default_rng(1).normal(size=(64, 300)).astype(np.float32)
    path = onnx_model(
        tmp_path / "m.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        [("x", [2, 64])],
        [("y", [2, 300])],
        initializers=[numpy_helper.from_array(weight, "w")],
    )
    first = cli("opt", path, "--passes", "infer_type,fuse_ops")
    assert first.returncode == 0 and "Primitive=1" in first.stdout
    (tmp_path / "again.relay").write_text(first.stdout)
    assert cli("opt", tmp_path / "again.relay", "--passes", "infer_type").stdout == first.stdout
    for file in (path, tmp_path / "again.relay"):
        assert cli("run", file, "--output", tmp_path / f"{pathlib.Path(file).stem}.npy").returncode == 0
    assert (np.load(tmp_path / "m.npy") == np.load(tmp_path / "again.npy")).all()


def test_ops_shows_an_operator_by_its_examples():
    listed = cli("ops").stdout.splitlines()
    assert listed[-1].startswith(f"{len(listed) - 1} operators") and len(listed) == len(relay.operators()) + 1
    text = cli("ops", "nn.dense").stdout
    for part in (
        "  units              int or None; None.",
        "Gradient: yes",
        "  (n, ",
        "sum(k < ",
        "Constraints, each with a call that violates it:\n  C1  ",
    ):
        assert part in text
    assert "did you mean 'nn.dense'" in cli("ops", "nn.dens").stderr


def test_list_passes():
    text = cli("opt", "--list-passes").stdout
    assert "fuse_ops" in text and "-O2:" in text
    assert re.search(r"^fuse_ops.max_group +The maximum number of calls in a group. \(256\)$", text, re.MULTILINE)


def test_options_of_passes(tmp_path):
    program = tmp_path / "chain.relay"
    program.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n  exp(exp(exp(exp(%x))))\n}\n')
    kernels = lambda *more: cli("opt", program, *more).stdout.count("Primitive")  # noqa: E731
    assert [kernels(), kernels("--pass-option", "fuse_ops.max_group=2")] == [1, 2]
    assert kernels("--passes", "fuse_ops", "--pass-option", "fuse_ops.max_group=1") == 4
    for option, message, help_text in [
        ("fuse_ops.max_grop=2", "no pass has an option", "did you mean 'fuse_ops.max_group'"),
        ("fuse_ops.max_group", "does not have the form", "fuse_ops.max_group=8"),
        ("fuse_ops.max_group=-1", "must be a count", "non-negative"),
        ("dead_code.inline_once=2", "must be 0 or 1", "give 0 or 1"),
        ("gradient.seed=true", "has no effect", "--passes gradient"),
    ]:
        done = cli("opt", program, "--pass-option", option)
        assert done.returncode == 1 and message in done.stderr and help_text in done.stderr, done.stderr


def test_bench(dense_file):
    report = cli_json("bench", dense_file, "--time", "0.2", "--threads", "1,2", "--json")
    assert [one["threads"] for one in report] == [1, 2]
    assert all(one["relay"]["median_us"] > 0 for one in report)


def test_bench_beside_a_peer(tmp_path):
    pytest.importorskip("onnxruntime")
    from onnx import helper

    path = onnx_model(
        tmp_path / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", [64, 64])], [("y", [64, 64])]
    )
    (one,) = cli_json("bench", path, "--vs", "onnxruntime", "--time", "1", "--threads", "1", "--json")
    (peer,) = one["peers"]
    assert peer["version"].startswith("onnxruntime") and peer["engine"] == "onnxruntime"
    low, high = peer["ratio_interval"]
    assert 0 < low <= peer["ratio"] <= high
    assert peer["largest_difference"] == peer["rms_error"] == one["relay"]["rms_error"] == 0
    for engine in one["relay"], peer:
        assert engine["median_us"] > 0 and engine["ready_ms"] > 0 and engine["peak_bytes"] > 1 << 20


def test_bench_names_the_engines_that_read_a_model():
    done = cli("bench", ROOT / "examples" / "tour" / "dense.tflite", "--vs", "onnxruntime")
    assert done.returncode == 1 and "does not read this TFLite model" in done.stderr, done.stderr
    assert "use --vs litert instead" in done.stderr


@pytest.mark.slow
def test_bench_beside_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    from onnx import helper, numpy_helper

    class Chain(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x).to(torch.float32), x / 3

    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Div", ["x", "three"], ["z"])]
    three = [numpy_helper.from_array(np.float32(3), "three")]
    path = onnx_model(tmp_path / "chain.onnx", nodes, [("x", [8, 8])], [("y", [8, 8]), ("z", [8, 8])], three)
    done = cli("bench", path, "--vs", "torch", "--time", "0.2", "--threads", "1")
    assert done.returncode == 1 and "there is no" in done.stderr and "chain.pt2" in done.stderr
    torch.export.save(torch.export.export(Chain(), (torch.ones(8, 8),)), path.with_suffix(".pt2"))
    (one,) = cli_json("bench", path, "--vs", "torch,onnxruntime", "--time", "0.2", "--threads", "1", "--json")
    # The reference is in double precision: a third rounds.
    for engine in [one["relay"], *one["peers"]]:
        assert 1e-9 < engine["rms_error"] < 1e-7


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.slow)], ids=str)
def test_every_seed_draws_a_network(seeds):
    pytest.importorskip("torch")
    from relay.tools import random_net

    for seed in seeds:
        random_net.Draw(seed).network()


@pytest.mark.slow
def test_bench_of_a_random_net():
    pytest.importorskip("torch")
    # Seed 4 has a batch of four, symbolic in the model, odd channels, and pools whose padding is not counted.
    done = cli(
        "bench", "--random-net", 4, "--vs", "onnxruntime", "--time", "0.2", "--threads", "1", "--json", timeout=120
    )
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(done.stdout)
    assert "network 4, x=" in done.stderr
    for engine in [one["relay"], *one["peers"]]:
        assert 0 < engine["rms_error"] < 3e-6
    assert cli("bench").returncode == 2
    assert cli("bench", "net.onnx", "--random-net", 4).returncode == 2


def test_explain():
    assert "constraint" in cli("explain", "R0302").stdout
    assert cli("explain", "constraint").returncode == 0
    assert len(cli("explain").stdout.splitlines()) > 20


@pytest.mark.parametrize("name", ["tree_lstm", "char_rnn", "rnn_cells", "interpreter"])
def test_examples_run_without_inputs(name):
    file = ROOT / "examples" / f"{name}.relay"
    compiled = cli("run", file)
    assert "is not given: random" in compiled.stderr
    assert compiled.stdout == cli("run", file, "--executor", "aot").stdout
    oracle = cli("run", file, "--executor", "debug").stdout
    numbers, expected = (re.findall(r"-?\d+\.\d+", text) for text in (compiled.stdout, oracle))
    assert np.array(numbers, float) == pytest.approx(np.array(expected, float), rel=1e-5, abs=2e-6)
    assert re.sub(r"-?\d+\.\d+", "", compiled.stdout) == re.sub(r"-?\d+\.\d+", "", oracle)
