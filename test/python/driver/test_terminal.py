"""The command line on a terminal and in scripts: help, completion, colours, progress, Ctrl-C, JSON, outputs."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from forms import each_nth
from programs import DENSE, PROGRAM, ROOT, cli, cli_json, needs_program

pytestmark = needs_program


@pytest.fixture(autouse=True)
def interruptible():
    """A shell starts what runs in the background with SIGINT ignored, and what is started here would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def dense(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE)
    return path


def slow(path, layers=150):
    """A program that takes long to compile: every layer has a shape of its own."""
    body = "".join(
        f'  %{i} = nn.softmax(nn.dense(%{i - 1 if i else "x"}, ones(shape=[{i + 9}, {i + 8}], dtype="float32")));\n'
        for i in range(layers)
    )
    path.write_text(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 8), float32]) {{\n{body}  %{layers - 1}\n}}\n')
    return path


def on_terminal(*args, env=None, until=None, seconds=30, stdout=False):
    """The program's output on a terminal: its messages, or its results."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *map(str, args)],
        stderr=subprocess.DEVNULL if stdout else other,
        stdout=other if stdout else subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", **(env or {})},
    )
    os.close(other)
    text, end = b"", time.time() + seconds
    while time.time() < end and not (until and until in text):
        if select.select([main], [], [], 0.2)[0]:
            try:
                data = os.read(main, 4096)
            except OSError:
                break
            if not data:
                break
            text += data
    process.kill()
    process.wait()
    os.close(main)
    return text.decode()


@pytest.mark.parametrize("words", [["run"], ["compile"], ["cache", "prune"]])
def test_help_of_a_verb_is_its_help(words):
    assert cli("help", *words).stdout == cli(*words, "--help").stdout


def test_help_alone_and_of_what_there_is_not():
    assert "First steps" in cli("help").stdout
    done = cli("help", "cmpile")
    assert (
        done.returncode == 1 and "unknown command 'cmpile'" in done.stderr and "did you mean 'compile'?" in done.stderr
    )
    done = cli("rnu")
    assert done.returncode == 2 and "error[R0504]: unknown command 'rnu'" in done.stderr


def test_nothing_is_echoed_at_length_or_obeyed():
    done = cli("x" * 100_000)
    assert len(done.stderr) < 1000
    done = cli("run", "no\x1b[31m\x07such.onnx")
    assert "\x1b" not in done.stderr and "\\x1b" in done.stderr
    assert len(cli("run", "m.relay", "--threads", "9" * 100_000).stderr) < 1000


def bash_completes(script, *words):
    line = " ".join(f"'{w}'" for w in ["relay", *words])
    code = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _relay; echo "${{COMPREPLY[@]}}"'
    return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completion():
    script = cli("completion", "bash").stdout
    assert bash_completes(script, "ru") == ["run"]
    assert {"run", "help", "completion"} <= set(bash_completes(script, ""))
    assert bash_completes(script, "run", "--exec") == ["--executor"]
    assert bash_completes(script, "run", "--executor", "d") == ["debug"]
    assert bash_completes(script, "completion", "f") == ["fish"]
    assert bash_completes(script, "cache", "pr") == ["prune"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_every_verb_and_option(shell):
    script = cli("completion", shell).stdout
    for verb in ("run", "compile", "opt"):
        for option in re.findall(
            r"--([a-z-]+)", cli(verb, "--help").stdout.partition("Examples")[0].partition("Options")[2]
        ):
            assert option in script, (verb, option)
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True).returncode == 0


def test_man_page():
    page = cli("help", "--man").stdout
    assert page.startswith(".TH RELAY 1") and ".SS relay run" in page and "\\-\\-executor" in page
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == ""


def test_colour_on_a_terminal_only():
    assert "\x1b" not in cli("run", "missing.onnx").stderr
    assert "\x1b[1;31merror[R0401]\x1b[0m" in on_terminal("run", "missing.onnx")
    assert "\x1b[1;31m" not in on_terminal("run", "missing.onnx", env={"NO_COLOR": "1"})
    assert "\x1b[1;31m" not in on_terminal("run", "missing.onnx", env={"TERM": "dumb"})


def test_differences_are_coloured_on_a_terminal_only():
    opt = ["opt", ROOT / "examples" / "tour" / "dense.relay", "--diff"]
    assert "\x1b" not in cli(*opt).stdout
    shown = on_terminal(*opt, stdout=True)
    assert "\x1b[31m-  %0 = nn.dense" in shown and "\x1b[32m+  %2 = fn" in shown, shown


@pytest.mark.slow
def test_progress_above_two_seconds(tmp_path):
    program = slow(tmp_path / "model.relay", layers=400)
    text = on_terminal("run", program, "--no-cache", until=b", 2 s")
    assert f"relay: compiling {program}, 2 s" in text
    assert "compiling" not in on_terminal("--quiet", "run", program, "--no-cache", seconds=4)


def processor_seconds(pid):
    """The processor time that a process has used, all its threads together."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_ends_a_compilation(tmp_path):
    process = subprocess.Popen(
        [PROGRAM, "run", slow(tmp_path / "m.relay"), "--no-cache"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(0.5)
    assert process.poll() is None, process.communicate()
    before = processor_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGINT  # a shell says 130
    assert used.ru_utime + used.ru_stime - before < 0.2


def test_ctrl_c_in_python(tmp_path):
    script = f"""
import os, signal, threading, time, relay
module = relay.load({str(slow(tmp_path / "m.relay"))!r})
sent = []
threading.Timer(0.5, lambda: (sent.append(time.process_time()), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    relay.compile(module)
    print("compiled")
except KeyboardInterrupt:
    print("after", time.process_time() - sent[0])
print(relay.compile(relay.parse({DENSE!r})).executor)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("after ") and done.stdout.endswith("graph\n"), done.stdout
    assert float(done.stdout.split()[1]) < 0.2


def test_run_json(dense, tmp_path):
    told = cli_json("run", dense, "--shape", "x=2,4", "--input", "x=1", "--input", "w=2", "--json")
    assert told["executor"] == "graph" and told["run_ms"] > 0
    [one] = told["outputs"]
    assert one["dtype"] == "float32" and one["shape"] == [2, 8] and one["values"] == [8.0] * 16
    told = cli_json("run", dense, "--executor", "debug", "--json", "--input", "x=inf", "--input", "w=2")
    assert told["outputs"][0]["values"] == ["inf"] * 8
    assert json.dumps(cli_json("run", dense, "--shape", "x=1000,4", "--json")["outputs"][0]["values"]) == "null"


def test_outputs_are_files_or_folders(dense, tmp_path):
    given = ("--input", "x=1", "--input", "w=2")
    assert cli("run", dense, *given, "--output", tmp_path / "x.txt").returncode == 0
    assert (tmp_path / "x.txt").read_text().splitlines()[1] == "8 8 8 8 8 8 8 8"
    assert cli("run", dense, *given, "--output", tmp_path / "folder").returncode == 0
    [file] = (tmp_path / "folder").iterdir()
    np.testing.assert_array_equal(np.load(file), np.full((1, 8), 8, np.float32))
    done = cli("run", dense, *given, "--output", tmp_path / "x.dat")
    assert done.returncode == 1 and "the kind of file" in done.stderr
    assert not (tmp_path / "x.dat").exists()


@pytest.mark.parametrize(
    "command", [["run", "--output", "no/x.npz"], ["compile", "-o", "no/x.rart"], ["opt", "-o", "no/x.relay"]]
)
def test_outputs_are_checked_before_compiling(tmp_path, command):
    verb, option, path = command
    done = cli(verb, slow(tmp_path / "m.relay", 2), option, tmp_path / path)
    assert done.returncode == 1 and "does not exist" in done.stderr and "help: " in done.stderr
    assert "compile" not in done.stderr.lower().replace("compiled", "")


@pytest.mark.parametrize("how", [["check"], ["run"], ["run", "--executor", "debug"]])
def test_a_tensor_that_nothing_can_hold(tmp_path, how):
    path = tmp_path / "p.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main() { zeros(shape=[4611686018427387904], dtype="float32") }\n')
    done = cli(*how, path)
    assert done.returncode == 1 and "error[R0405]" in done.stderr and "help: " in done.stderr, done.stderr


def test_the_debug_executor_has_a_depth_limit(tmp_path):
    path = tmp_path / "p.relay"
    path.write_text('#[version = "0.0.5"]\ndef @f(%x: int32) -> int32 { @f(%x) + 1 }\ndef @main() { @f(0) }\n')
    done = cli("run", "--executor", "debug", path)
    assert done.returncode == 1 and "error[R0405]" in done.stderr and "help: " in done.stderr, done.stderr[:2000]


def test_a_size_is_a_number(tmp_path):
    path = tmp_path / "p.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(n < m), float32], %y: Tensor[(n, m), int8]) { %x }\n')
    done = cli("check", path)
    assert done.returncode == 1 and "error[R0301]: a size is a number" in done.stderr, done.stderr


def test_fewer_threads_where_no_more_can_be_created(tmp_path):
    path = tmp_path / "big.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(512, 512), float32]) { nn.dense(%x, %x) + exp(%x) }\n')
    # A stack that does not fit into the address space: creating a thread fails as it does at a container's limit.
    limited = f"ulimit -s 8388608; ulimit -v 6000000; exec {PROGRAM} run {path} --threads 2 --no-cache"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 threads can be created" in done.stderr
    assert done.stdout == cli("run", path, "--threads", "2", "--no-cache").stdout


def examples():
    """Code, name, meaning, example, the way out, as `relay explain` prints them."""
    if not PROGRAM.exists():
        return []
    out = []
    for line in cli("explain").stdout.splitlines():
        code = line.split()[0]
        text = cli("explain", code).stdout
        head, meaning, rest = text.split("\n\n", 2)
        example, _, remedy = rest.partition("\n\nThe way out: ")
        lines = [one.removeprefix("  ") for one in example.splitlines()[1:]]
        out.append((code, head.split()[1], meaning, "\n".join(lines), remedy.strip()))
    return out


@pytest.mark.slow
def test_explain_shows_every_example():
    for code, name, sentence, example, remedy in examples():
        text = cli("explain", code).stdout
        assert text == cli("explain", name).stdout
        assert f"{code}  {name}" in text and all((sentence, example, remedy)), code


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    onnx = pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("examples")
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }\n'
    (folder / "relu.relay").write_text(text)
    (folder / "tanh.relay").write_text(text.replace("nn.relu", "tanh"))
    (folder / "endless.relay").write_text(
        '#[version = "0.0.5"]\ndef @f(%x: int32) -> int32 { @f(%x) + 1 }\ndef @main() { @f(0) }\n'
    )
    (folder / "rows.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(8, 4), float32], %i: int64) '
        '{ take(%x, %i, axis=0, mode="checked") }\n'
    )
    (folder / "nested.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: ' + "(" * 5000 + "float32" + ",)" * 5000 + ") { 1 }\n"
    )
    assert cli("compile", folder / "relu.relay", "-o", folder / "relu.rart").returncode == 0
    cli("compile", folder / "relu.relay", "-o", folder / "foreign.rart", "--target", "sapphirerapids")
    (folder / "bad.onnx").write_bytes(b"\x08\x07\x3a\xff\xff")
    make = onnx.helper

    def model(path, node):
        info = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in "xy"]
        graph = make.make_graph([node], "g", info[:1], info[1:])
        onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), folder / path)

    model("loop.onnx", make.make_node("StringNormalizer", ["x"], ["y"]))
    model("empty.onnx", make.make_node("Relu", ["z"], ["y"]))
    return folder


@pytest.mark.parametrize("one", each_nth(3, examples()), ids=lambda one: one[0])
def test_every_example_produces_its_code(one, files, tmp_path):
    code, _, _, example, _ = one
    if code.startswith("P"):
        path = tmp_path / "program.py"
        path.write_text(f"import numpy as np\n\nimport relay\n\n{example}\n")
        done = subprocess.run([sys.executable, path], capture_output=True, text=True)
        assert f"error[{code}]" in done.stderr, done.stderr
        return
    if example.startswith("$ relay "):
        words = example.split()[2:]
        done = subprocess.run([PROGRAM, *words], cwd=files, capture_output=True, text=True)
        if "foreign.rart" in words and done.returncode == 0:
            pytest.skip("this machine runs code for sapphirerapids")
    else:
        path = tmp_path / "p.relay"
        path.write_text(example if example.startswith("#[") else f'#[version = "0.0.5"]\n{example}\n')
        done = cli("check", path)
    assert f"[{code}]" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
