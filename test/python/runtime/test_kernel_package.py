"""Packages of kernels: `relay cache pack`, and RELAY_KERNELS, from which processes take kernels that they would compile
otherwise."""

import pathlib
import sqlite3
import subprocess
import sys

import pytest

RELAY = pathlib.Path(sys.executable).parent / "relay"
HEAD = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 64), float32]) '
SOFTMAX = HEAD + "{ nn.softmax(%x) }\n"
BOTH = HEAD + "{ (nn.softmax(%x), sum(exp(%x), axis=[0])) }\n"


def run(*words, fails=False):
    result = subprocess.run([RELAY, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert (result.returncode != 0) == fails, result.stderr
    return result


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RELAY_KERNELS", "off")


@pytest.fixture
def package(tmp_path):
    (tmp_path / "softmax.relay").write_text(SOFTMAX)
    said = run("cache", "pack", tmp_path / "softmax.relay", "-o", tmp_path / "kernels.db").stderr
    assert "softmax.relay for native: 1 kernel new" in said and "1 kernel for 1 build of Relay" in said
    return tmp_path / "kernels.db"


def compiled_by(folder):
    """The number of kernels that processes with this cache have compiled."""
    with sqlite3.connect(folder / "index.db") as index:
        return index.execute("SELECT count(*) FROM kernels").fetchone()[0]


def test_a_cold_run_takes_kernels_from_the_package(package, tmp_path, monkeypatch):
    (tmp_path / "both.relay").write_text(BOTH)
    command = ("run", tmp_path / "both.relay", "--tier", "full", "--input", "x=random:3")
    wanted = run(*command).stdout
    alone = compiled_by(tmp_path / "cache")
    assert alone == 2
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("RELAY_KERNELS", str(package))
    assert run(*command).stdout == wanted
    assert compiled_by(tmp_path / "empty") == alone - 1
    assert f"1 kernel in the package {package}" in run("cache", "ls").stderr
    assert "1 kernel taken from it instead of being compiled" in run("cache", "ls").stderr


@pytest.mark.parametrize("damage", ["bytes", "build", "format", "missing", "object"])
def test_a_package_that_cannot_be_used_is_said_and_done_without(package, damage, tmp_path, monkeypatch):
    sql = {"build": "UPDATE builds SET id = 'another'", "format": "PRAGMA user_version = 99",
           "object": "UPDATE kernels SET object = substr(object, 1, 99)"}  # fmt: skip
    if damage in sql:
        with sqlite3.connect(package) as file:
            file.execute(sql[damage])
    elif damage == "bytes":
        package.write_bytes(b"no database" * 1000)
    else:
        package.unlink()
    monkeypatch.setenv("RELAY_KERNELS", str(package))
    said = run("run", tmp_path / "softmax.relay", "--tier", "full").stderr
    assert compiled_by(tmp_path / "cache") == 1
    if damage != "object":  # of one kernel, which is compiled
        assert f"the package of kernels {package} cannot be used" in said
        assert "make it again with `make kernels`" in run("cache", "ls", fails=True).stderr


def test_what_cannot_be_packed(tmp_path):
    (tmp_path / "softmax.relay").write_text(SOFTMAX)
    pack = ("cache", "pack", tmp_path / "softmax.relay", "-o", tmp_path / "kernels.db")
    assert "is not a program or library with a build id" in run(*pack, "--also-for", __file__, fails=True).stderr
    assert "softmax.relay" in run(*pack[:3], "-o", tmp_path / "softmax.relay", fails=True).stderr
    assert "no processor is named 'z80'" in run(*pack, "--target", "z80", fails=True).stderr
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["softmax.relay"]
