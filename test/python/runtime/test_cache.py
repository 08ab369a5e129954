"""The cache of compiled models on disk: `relay run`, `relay cache`, relay.compile(path, cache=True)."""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from onnx import helper, numpy_helper
from programs import onnx_model, weights

import relay

RELAY = pathlib.Path(sys.executable).parent / "relay"
PROGRAM = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 8), float32]) {{ nn.relu(add(%x, {}f)) }}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(path, text):
    """Long enough ago for the file system's clock."""
    path.write_text(text)
    os.utime(path, ns=(time.time_ns() - 10**10, time.time_ns() - 10**10))
    return path


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "model.relay", PROGRAM.format(1))


def run(*words, fails=False):
    result = subprocess.run([RELAY, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert (result.returncode != 0) == fails, result.stderr
    return result


def from_cache(result):
    return "from the cache" in result.stderr


def entries():
    return json.loads(run("cache", "ls", "--json").stdout)


def test_a_second_run_compiles_nothing_and_gives_the_same(model):
    first = run("run", model, "--input", "x=random:3")
    second = run("run", model, "--input", "x=random:3")
    assert not from_cache(first) and from_cache(second)
    assert "compile" in first.stderr and "compiling took" in second.stderr
    assert first.stdout == second.stdout
    (entry,) = entries()
    assert entry["model"] == str(model) and entry["compile_ms"] > 0
    assert pathlib.Path(entry["artifact"]).stat().st_size == entry["bytes"]


def test_what_is_found_depends_on_the_content_and_not_on_the_time(model, tmp_path):
    run("run", model)
    os.utime(model)
    assert from_cache(run("run", model))
    copy = write(tmp_path / "copy.relay", model.read_text())
    assert from_cache(run("run", copy))
    write(model, PROGRAM.format(2))
    changed = run("run", model, "--input", "x=zeros")
    assert not from_cache(changed) and "[2, 2" in changed.stdout


def test_other_options_are_another_entry(model):
    ways = [[], ["--threads", "1"], ["-O", "1"], ["--numerics", "fast"], ["--target", "haswell"], ["--executor", "vm"]]
    for way in ways:
        assert not from_cache(run("run", model, *way)), way
    for way in ways:
        assert from_cache(run("run", model, *way)), way
    assert len(entries()) == len(ways)


def test_no_cache_and_off(model, folder, monkeypatch):
    run("run", model, "--no-cache")
    assert not folder.exists()
    monkeypatch.setenv("RELAY_CACHE", "off")
    run("run", model)
    assert not folder.exists()
    assert "the cache is off" in run("cache", "ls", fails=True).stderr


def test_files_with_weights_count(tmp_path):
    weights = np.ones((256, 256), np.float32)
    x = relay.var("x", shape=(1, 256))
    path = tmp_path / "dense.relay"

    def save(w):
        relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(w)))).save(path)
        for file in (path, path.with_suffix(".safetensors")):
            os.utime(file, ns=(time.time_ns() - 10**10,) * 2)

    save(weights)
    run("run", path, "--input", "x=ones")
    again = run("run", path, "--input", "x=ones")
    assert from_cache(again) and "[256, 256" in again.stdout
    text = path.read_text()
    save(weights * 2)
    assert path.read_text() == text
    changed = run("run", path, "--input", "x=ones")
    assert not from_cache(changed) and "[512, 512" in changed.stdout


def test_a_file_that_changes_meanwhile_is_not_kept(model):
    future = time.time_ns() + 10**12
    os.utime(model, ns=(future, future))
    result = run("run", model)
    assert "not added to the cache" in result.stderr and "changed while it was compiled" in result.stderr
    assert entries() == []


def test_prune(model, folder, tmp_path):
    other = write(tmp_path / "other.relay", PROGRAM.format(5))
    run("run", model)
    run("run", other)
    with sqlite3.connect(folder / "index.db") as index:
        index.execute("UPDATE models SET used = used - 200000 WHERE model LIKE '%model.relay'")
    assert [pathlib.Path(e["model"]).name for e in entries()] == ["other.relay", "model.relay"]
    one = max(e["bytes"] for e in entries())
    run("cache", "prune", "--max-size", one)
    assert [pathlib.Path(e["model"]).name for e in entries()] == ["other.relay"]
    run("cache", "prune", "--unused", "1")
    assert len(entries()) == 1
    ended = subprocess.Popen(["true"])
    ended.wait()
    (folder / f"0123.rart.{ended.pid}.0.part").write_bytes(b"half")
    assert "removed 2 files" in run("cache", "prune", "--max-size", "0").stderr
    assert entries() == [] and [f.name for f in folder.iterdir()] == ["index.db"]
    assert "'lots' is not a number of bytes" in run("cache", "prune", "--max-size", "lots", fails=True).stderr


def kernels(folder, then=""):
    with sqlite3.connect(folder / "index.db") as index:
        if then:
            index.execute(then)
        return dict(index.execute("SELECT key, used FROM kernels"))


def test_another_model_takes_equal_kernels_from_the_cache(model, folder, tmp_path):
    run("run", model, "--tier", "full")
    first = kernels(folder, "UPDATE kernels SET used = used - 100")
    assert len(first) == 1
    # The same kernel, under the name of another program's group, and one of its own.
    other = write(
        tmp_path / "other.relay",
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 8), float32], %y: Tensor[(4, 8), float32]) {\n'
        "  (nn.softmax(%y), nn.relu(add(%x, 1f)))\n}\n",
    )
    result = run("run", other, "--tier", "full", "--input", "x=ones", "--input", "y=ones")
    assert "[2, 2" in result.stdout and not from_cache(result)
    both = kernels(folder)
    assert len(both) > 1
    (key,) = first
    assert both[key] == first[key], "it was compiled again"
    assert f"2 models and {len(both)} kernels" in run("cache", "ls").stderr


def test_a_damaged_kernel_is_compiled_again(model, folder):
    wanted = run("run", model, "--tier", "full", "--input", "x=random:1").stdout
    (key,) = kernels(folder, "UPDATE kernels SET object = substr(object, 1, 300)")
    write(model, model.read_text() + "\n")  # another model with the same kernel
    again = run("run", model, "--tier", "full", "--input", "x=random:1")
    assert again.stdout == wanted and not from_cache(again)
    assert list(kernels(folder)) == [key]
    with sqlite3.connect(folder / "index.db") as index:
        assert index.execute("SELECT length(object) = bytes FROM kernels").fetchone() == (1,)


def test_kernels_count_for_the_size_of_the_cache(model, folder, monkeypatch):
    run("run", model, "--tier", "full")
    assert "removed 0 files, 0 KiB" in run("cache", "prune", "--max-size", "1G").stderr
    said = run("cache", "prune", "--max-size", "0").stderr
    assert "removed 1 file and 1 kernel" in said
    assert not kernels(folder)
    monkeypatch.setenv("RELAY_CACHE_SIZE", "100")  # no room for one
    run("run", model, "--tier", "full")
    assert not kernels(folder)


def test_the_size_is_bounded(model, tmp_path, monkeypatch):
    run("run", model)
    monkeypatch.setenv("RELAY_CACHE_SIZE", str(entries()[0]["bytes"] * 3 // 2))
    other = write(tmp_path / "other.relay", PROGRAM.format(5))
    run("run", other)
    assert len(entries()) == 1
    assert from_cache(run("run", other))


def test_damage_is_repaired(model, folder):
    run("run", model)
    artifact = pathlib.Path(entries()[0]["artifact"])
    artifact.write_bytes(artifact.read_bytes()[:1000])
    result = run("run", model)
    assert "the cached model cannot be loaded" in result.stderr and not from_cache(result)
    assert from_cache(run("run", model))
    artifact.unlink()
    assert not from_cache(run("run", model))
    artifact.unlink()
    os.mkfifo(artifact)  # whose writer never comes
    assert not from_cache(run("run", model))
    assert from_cache(run("run", model))
    (folder / "index.db").write_bytes(b"no database" * 1000)
    assert not from_cache(run("run", model))
    (folder / "index.db").unlink()
    os.mkfifo(folder / "index.db")
    assert not from_cache(run("run", model))
    assert from_cache(run("run", model))


def test_a_locked_index_is_not_taken_for_a_damaged_one(model, folder):
    run("run", model)
    with sqlite3.connect(folder / "index.db", isolation_level=None) as index:
        index.execute("BEGIN EXCLUSIVE")
        result = run("run", model)
        assert "cannot be used" in result.stderr and not from_cache(result)
        index.execute("ROLLBACK")
    assert from_cache(run("run", model))


def test_a_cache_that_cannot_be_used_is_said_and_done_without(model, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "file"))
    result = run("run", model)
    assert "cannot be used" in result.stderr and "compile" in result.stderr


def test_many_processes_at_once(model, tmp_path):
    others = [write(tmp_path / f"{i}.relay", PROGRAM.format(i + 2)) for i in range(3)]
    jobs = [subprocess.Popen([RELAY, "run", m], stderr=subprocess.PIPE, text=True) for m in [model, *others] * 3]
    for job in jobs:
        _, said = job.communicate()
        assert job.returncode == 0 and "cannot" not in said and "not kept" not in said, said
    assert len(entries()) == 4


def test_python(model):
    x = np.full((4, 8), 2, np.float32)
    first = relay.compile(model, cache=True)
    second = relay.compile(model, cache=True)
    assert first.cached is None and pathlib.Path(second.cached).exists()
    assert (first(x) == 3).all() and (second(x) == 3).all()
    assert first.report["kernels"] and second.report["kernels"] == first.report["kernels"]
    with pytest.raises(relay.CompileError, match="does not contain the Relay program"):
        second.module  # noqa: B018
    with pytest.raises(relay.CompileError, match="only the ONNX model or program of a file"):
        relay.compile(relay.load(model), cache=True)


def test_programs_are_kept_too(tmp_path):
    loop = write(
        tmp_path / "loop.relay",
        '#[version = "0.0.5"]\ndef @sum(%n: int32, %s: int32) -> int32 {\n'
        "  if (equal(%n, 0)) { %s } else { @sum(subtract(%n, 1), add(%s, %n)) }\n}\n"
        "def @main(%n: int32) { @sum(%n, 0) }\n",
    )
    for executor in ("vm", "aot"):
        for cached in (False, True):
            result = run("run", loop, "--input", "n=100", "--executor", executor)
            assert from_cache(result) == cached and "[5050]" in result.stdout


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def large_model(path):
    """Two products whose weights have 36 MB each. Returns their bytes."""
    arrays = weights(np.random.default_rng(1), (3072, 3072), (3072, 3072))
    onnx_model(
        path,
        [helper.make_node("MatMul", ["x", "w0"], ["y"]), helper.make_node("MatMul", ["y", "w1"], ["z"])],
        [("x", (128, 3072))],
        [("z", (128, 3072))],
        [numpy_helper.from_array(array, f"w{i}") for i, array in enumerate(arrays)],
    )
    os.utime(path, ns=(time.time_ns() - 10**10, time.time_ns() - 10**10))
    return sum(array.nbytes for array in arrays)


def test_a_first_run_frees_weights_that_the_cache_has(tmp_path):
    """It takes about as much memory as a run that finds the model there, which holds the weights and their forms for
    Strassen's products. The processes are children of a small one, because a child begins with its parent's peak."""
    bytes_of_weights = large_model(tmp_path / "large.onnx")
    command = [sys.executable, "-S", "-c", PEAK, RELAY, "run", tmp_path / "large.onnx", "--tier", "full"]
    first, second = (int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(2))
    assert first - second < 0.6 * bytes_of_weights


def test_a_large_model_can_be_saved_and_shown_after_it_was_added(tmp_path):
    """Its weights are those of the file in the cache."""
    large_model(tmp_path / "large.onnx")
    model = relay.compile(tmp_path / "large.onnx", cache=True)
    assert not model.cached and "Strassen" in model.emit("schedule")
    model.save(tmp_path / "large.rart")
    x = np.random.default_rng(2).standard_normal((128, 3072), "f")
    assert relay.load(tmp_path / "large.rart")(x).tobytes() == model(x).tobytes()
