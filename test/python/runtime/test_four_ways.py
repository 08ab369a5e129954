"""A model behaves the same whether it is compiled now, cached, saved or loaded, and its artifact has the same bytes.
test_docs.py tests the same for the Python models on the pages."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from pages import PAGES, blocks_of, commands_of
from programs import ROOT

import relay

RELAY = pathlib.Path(sys.executable).parent / "relay"
EXAMPLES = sorted((ROOT / "examples").glob("*.relay"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*words, fails=False):
    result = subprocess.run([RELAY, *map(str, words)], capture_output=True, text=True)
    assert (result.returncode != 0) == fails, result.stderr
    return result


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_gives_the_same_in_four_ways(example, tmp_path):
    saved = tmp_path / "model.rart"
    run("compile", example, "-o", saved)
    fresh = run("run", example, "--no-cache")
    stored = run("run", example)
    cached = run("run", example)
    loaded = run("run", saved)
    assert "from the cache" in cached.stderr and "from the cache" not in stored.stderr
    assert fresh.stdout
    assert fresh.stdout == stored.stdout == cached.stdout == loaded.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_can_be_measured(example, tmp_path):
    saved = tmp_path / "model.rart"
    run("compile", example, "-o", saved)
    for model in (example, saved):
        assert json.loads(run("bench", model, "--time", "0.01", "--json").stdout)[0]["relay"]["runs"] > 0


# --- what the pages show
# ----------------------------------------------------------------------------------------------------


def shown_commands():
    """Every `relay run` or `relay compile` of a Relay program in README.md and docs/ that is not there to fail, nor for
    another processor's object file."""
    for page in PAGES:
        for block in blocks_of(page.read_text().splitlines()):
            if block.language != "console" or {"fails", "no-run"} & {*block.info}:
                continue
            for command, _ in commands_of(block):
                words = shlex.split(command, comments=True) if command.startswith("relay ") else []
                words = [word for word in words if word not in ("relay", "-q")]
                if "--emit" in words:
                    continue
                if words and words[0] in ("run", "compile") and words[1].startswith("examples/"):
                    yield pytest.param(words, id=f"{page.name}:{' '.join(words)}")


# Options of `relay run` that only compiling has, by how many words they take.
COMPILING = dict.fromkeys(["--schedule", "--target", "--numerics", "--donate", "--devices"], 2) | dict.fromkeys(
    ["-O0", "-O1", "-O2", "-O3", "--aot"], 1
)


@pytest.mark.parametrize("words", list(shown_commands()))
def test_a_command_of_the_pages_gives_the_same_in_four_ways(words, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    verb, model, *options = words
    how, what = [], []
    while options:
        taken = COMPILING.get(options[0], 0)
        if options[0] in ("-o", ">", "--tier"):  # files are always written in full
            del options[:2]
        elif options[0] == "--no-cache":  # one of the four ways
            del options[:1]
        else:
            (how if taken else what).extend(options[: max(taken, 1)])
            del options[: max(taken, 1)]
    schedules = [word for word in how if "$TMP" in word]
    if schedules:  # a file of the page's: the schedule as it is
        name = schedules[0].split("=")[0]
        text = run("opt", model, "--emit", "schedule", "--kernel", name).stdout
        (tmp_path / "mine.txt").write_text(text)
        how[how.index(schedules[0])] = f"{name}={tmp_path / 'mine.txt'}"
    saved = tmp_path / "model.rart"
    run("compile", model, *how, "-o", saved)
    how = [("--executor", "aot") if word == "--aot" else (word,) for word in how]
    how = [word for words in how for word in words]
    fresh = run("run", model, *how, *what, "--no-cache")
    stored, cached = (run("run", model, *how, *what) for _ in range(2))
    loaded = run("run", saved, *what)
    assert "from the cache" in cached.stderr and "from the cache" not in stored.stderr
    assert fresh.stdout
    assert fresh.stdout == stored.stdout == cached.stdout == loaded.stdout, verb


def without_times(report):
    if isinstance(report, dict):
        return {key: without_times(value) for key, value in report.items() if key != "ms"}
    return [without_times(value) for value in report] if isinstance(report, list) else report


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_report_is_the_same_in_four_ways(example, tmp_path):
    fresh = relay.compile(example, tier="full")
    fresh.save(tmp_path / "fresh.rart")
    stored = relay.compile(example, cache=True, tier="full")
    cached = relay.compile(example, cache=True, tier="full")
    loaded = relay.load(tmp_path / "fresh.rart")
    assert cached.cached and not stored.cached
    assert fresh.report["ms"]["total"] > 0 and loaded.report["ms"]["total"] is None
    want = without_times(fresh.report)
    assert want["kernels"]
    for other in (stored, cached, loaded):
        assert without_times(other.report) == want
        assert (other.inputs, other.outputs, other.executor) == (fresh.inputs, fresh.outputs, fresh.executor)
    for i, other in enumerate((cached, loaded)):
        other.save(tmp_path / f"{i}.rart")
        assert (tmp_path / f"{i}.rart").read_bytes() == (tmp_path / "fresh.rart").read_bytes()


def networks(folder):
    """Small ones with what decides orders in it: tiles of registers, branches, reductions, convolutions."""
    bodies = {
        "dense": ("%x: Tensor[({a}, 64), float32], %w: Tensor[({b}, 64), float32]", "nn.relu(nn.dense(%x, %w))"),
        "softmax": ("%x: Tensor[({a}, {b}), float32]", "nn.softmax(add(%x, sigmoid(%x)))"),
        "conv": (
            "%x: Tensor[(1, {a}, 14, 14), float32], %w: Tensor[({b}, {a}, 3, 3), float32]",
            "nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]))",
        ),
        "branches": (
            "%x: Tensor[({a}, {b}), float32]",
            "concatenate((tanh(%x), exp(%x), multiply(%x, sigmoid(%x))), axis=1)",
        ),
        "sums": ("%x: Tensor[({a}, {b}), float32]", "(sum(%x, axis=[0]), max(%x, axis=[1]), mean(%x))"),
    }
    for name, (params, body) in bodies.items():
        for a, b in ((4, 16), (7, 33), (32, 48), (3, 130), (16, 8)):
            path = folder / f"{name}_{a}_{b}.relay"
            path.write_text(f'#[version = "0.0.5"]\ndef @main({params.format(a=a, b=b)}) {{ {body} }}\n')
            yield path


PROGRAM = """
import hashlib, sys, relay
for path in sys.argv[2:]:
    relay.compile(path).save(sys.argv[1])
    print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest(), path)
"""


@pytest.mark.parametrize("processes", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_artifacts_are_byte_equal_in_all_processes(processes, tmp_path):
    models = [*EXAMPLES, *networks(tmp_path)]
    assert len(models) > 25
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, tmp_path / f"{i}.rart", *models], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for i in range(processes)
    ]
    different = [lines[0].split()[1] for lines in zip(*said, strict=True) if len(set(lines)) > 1]
    assert not different


# --- files
# ----------------------------------------------------------------------------------------------------------------

SMALL = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 8), float32]) { nn.relu(%x) }\n'


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.relay"
    path.write_text(SMALL)
    return path


def test_an_output_that_is_an_input_is_refused(model, tmp_path):
    (tmp_path / "link.relay").symlink_to(model)
    (tmp_path / "same.relay").hardlink_to(model)
    for name in ("model.relay", "link.relay", "same.relay", "./model.relay"):
        assert "would be overwritten" in run("compile", model, "-o", f"{tmp_path}/{name}", fails=True).stderr
        assert "would be overwritten" in run("opt", model, "-o", f"{tmp_path}/{name}", fails=True).stderr
        for made in (relay.compile(model), relay.compile(relay.load(model))):
            with pytest.raises(relay.CompileError, match="would be overwritten"):
                made.save(tmp_path / name)
    np.save(tmp_path / "x.npy", np.ones((4, 8), np.float32))
    said = run("run", model, "--input", f"x={tmp_path}/x.npy", "--output", tmp_path / "x.npy", fails=True).stderr
    assert "would be overwritten" in said
    assert model.read_text() == SMALL


def test_an_output_follows_links_and_leaves_devices(model, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link.rart").symlink_to("target.rart")
    (tmp_path / "chain.rart").symlink_to("inside/link.rart")
    for _ in range(2):  # to a file that is not there, and to one that is
        run("compile", model, "-o", tmp_path / "chain.rart")
        assert (tmp_path / "chain.rart").is_symlink() and (tmp_path / "inside" / "link.rart").is_symlink()
        assert relay.load(tmp_path / "inside" / "target.rart").inputs[0].name == "x"
    run("compile", model, "-o", "/dev/null")
    relay.compile(model).save("/dev/null")
    assert pathlib.Path("/dev/null").is_char_device()
    size = int(subprocess.check_output(f"'{RELAY}' compile '{model}' -o /dev/stdout | wc -c", shell=True))
    assert size == (tmp_path / "inside" / "target.rart").stat().st_size
    assert "cannot be written" in run("compile", model, "-o", tmp_path / "inside", fails=True).stderr
    assert not list(tmp_path.rglob("*.part"))


def test_what_a_killed_process_left_is_removed(model, tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = tmp_path / f"out.rart.{ended.pid}.0.part"
    kept = [
        tmp_path / name
        for name in (f"out.rart.{os.getpid()}.0.part", f"other.rart.{ended.pid}.0.part", "out.rart.part")
    ]
    for draft in [left, *kept]:
        draft.write_text("half")
    run("compile", model, "-o", tmp_path / "out.rart")
    assert not left.exists() and all(draft.exists() for draft in kept)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_draft(sent, tmp_path, folder):
    x = relay.var("x", shape=(1, 8192), dtype="float32")
    weight = relay.const(np.ones((4096, 8192), np.float32))
    relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, weight))).save(tmp_path / "large.relay")
    job = subprocess.Popen([RELAY, "compile", tmp_path / "large.relay", "-o", tmp_path / "large.rart"])
    while job.poll() is None and not list(tmp_path.glob("*.part")):
        time.sleep(0.0005)
    seen = bool(list(tmp_path.glob("*.part")))
    job.send_signal(sent)
    job.wait()
    assert not list(tmp_path.glob("*.part"))
    assert job.returncode == -sent if seen and not (tmp_path / "large.rart").exists() else job.returncode in (0, -sent)


def test_the_cache_lists_and_prunes_what_is_not_whole(model, folder):
    run("run", model)
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = folder / f"{'0' * 32}.rart.{ended.pid}.0.part"
    left.write_bytes(b"x" * 3_000_000)
    mine = folder / f"{'1' * 32}.rart.{os.getpid()}.0.part"
    mine.write_bytes(b"x")
    said = run("cache", "ls")
    assert "left by a process that has ended" in said.stdout and "being written" in said.stdout
    assert "2.86" in said.stderr  # counted
    run("cache", "prune")
    assert not left.exists() and mine.exists()
    assert "from the cache" in run("run", model).stderr


def test_a_flipped_bit_anywhere_is_found(tmp_path):
    x = relay.var("x", shape=(1, 64), dtype="float32")
    weight = relay.const(np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32))
    relay.compile(relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, weight)))).save(tmp_path / "a.rart")
    sound = (tmp_path / "a.rart").read_bytes()
    used = [i for i in range(0, len(sound), 97) if any(sound[i - 64 : i + 64])]
    accepted = []
    for i in used:
        changed = bytearray(sound)
        changed[i] ^= 1 << i % 8
        (tmp_path / "b.rart").write_bytes(changed)
        try:
            relay.load(tmp_path / "b.rart")
            accepted.append(i)
        except relay.CompileError:
            pass
    # The bytes between two parts, which are not read, may be anything: at most 63 after each.
    assert len(accepted) <= 4
