"""Signatures of files and folders: made and checked here, and by minisign if it is installed."""

import shutil
import subprocess

import pytest
from programs import cli, needs_program
from relay.hub.command import main

pytest.importorskip("cryptography")
MINISIGN = shutil.which("minisign")


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """A folder with two keys and things to sign, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("key", "other"):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem"], check=True)
        subprocess.run(["openssl", "pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub"], check=True)
    (tmp_path / "package" / "inner").mkdir(parents=True)
    (tmp_path / "package" / "model.wasm").write_bytes(bytes(range(256)))
    (tmp_path / "package" / "inner" / "two words.c").write_text("int x;\n")
    (tmp_path / "network.rart").write_bytes(b"an artifact" * 1000)
    return tmp_path


def succeeds(*arguments, capsys):
    assert main(list(arguments)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(*arguments, capsys):
    assert main(list(arguments)) == 1
    said = capsys.readouterr().err
    assert "error[R0" in said and "help:" in said
    return said


@pytest.mark.parametrize("path", ["network.rart", "package"])
def test_what_was_signed_is_verified(path, capsys):
    succeeds("sign", path, "--key", "key.pem", capsys=capsys)
    assert f"{path}: signed by key.pub" in succeeds("verify", path, "--trust", "key.pub", capsys=capsys)
    assert "is not the signature of" in refused("verify", path, "--trust", "other.pub", capsys=capsys)


def test_the_same_content_gives_the_same_signature(work, capsys):
    signatures = set()
    for _ in range(2):
        succeeds("sign", "package", "--key", "key.pem", capsys=capsys)
        signatures.add((work / "package" / "MANIFEST.sha256.minisig").read_bytes())
    assert len(signatures) == 1


@pytest.mark.skipif(not MINISIGN, reason="minisign is not installed")
def test_minisign_verifies_ours_and_we_verify_its(work, capsys):
    succeeds("sign", "package", "--key", "key.pem", capsys=capsys)
    (work / "key.minisign").write_text(succeeds("minisign-key", "key.pub", capsys=capsys))
    check = [MINISIGN, "-Vm", "package/MANIFEST.sha256", "-p", "key.minisign"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Trusted comment: file:MANIFEST.sha256" in done.stdout, done
    done = subprocess.run(["sha256sum", "-c", "MANIFEST.sha256"], cwd="package", capture_output=True, check=False)
    assert done.returncode == 0
    subprocess.run([MINISIGN, "-GW", "-p", "m.pub", "-s", "m.key"], check=True, capture_output=True)
    subprocess.run([MINISIGN, "-Sm", "network.rart", "-s", "m.key", "-t", "a comment"], check=True, capture_output=True)
    assert "signed by m.pub, a comment" in succeeds("verify", "network.rart", "--trust", "m.pub", capsys=capsys)


def test_changed_missing_and_added_files_are_named(work, capsys):
    succeeds("sign", "package", "--key", "key.pem", capsys=capsys)
    file = work / "package" / "inner" / "two words.c"
    file.write_text("int y;\n")
    assert "two words.c was changed" in refused("verify", "package", "--trust", "key.pub", capsys=capsys)
    file.rename(work / "package" / "new.c")
    assert "new.c is not in the signed manifest" in refused("verify", "package", "--trust", "key.pub", capsys=capsys)
    (work / "package" / "new.c").unlink()
    assert "two words.c is in the signed" in refused("verify", "package", "--trust", "key.pub", capsys=capsys)


@pytest.mark.parametrize("line", range(4))
def test_damaged_signatures_are_refused(line, work, capsys):
    succeeds("sign", "network.rart", "--key", "key.pem", capsys=capsys)
    path = work / "network.rart.minisig"
    lines = path.read_text().splitlines()
    for damaged in ("", "!" + lines[line], lines[line][:-8], lines[line][:-3] + "AAA" if line else "x"):
        path.write_text("\n".join([*lines[:line], damaged, *lines[line + 1 :]]) + "\n")
        if line == 0 and damaged.startswith("untrusted comment:"):
            continue  # the comment is not signed
        refused("verify", "network.rart", "--trust", "key.pub", capsys=capsys)


def test_files_that_do_not_exist(capsys):
    assert "nothing does not exist" in refused("sign", "nothing", "--key", "key.pem", capsys=capsys)
    assert "network.rart.minisig" in refused("verify", "network.rart", "--trust", "key.pub", capsys=capsys)
    assert "not a private key" in refused("sign", "network.rart", "--key", "key.pub", capsys=capsys)


@needs_program
def test_a_signed_package_of_a_network(work, capsys):
    (work / "net.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n')
    done = cli("compile", work / "net.relay", "--emit", "wasm", "-o", work / "net")
    assert done.returncode == 0, done.stderr
    succeeds("sign", "net", "--key", "key.pem", capsys=capsys)
    assert "net: signed by" in succeeds("verify", "net", "--trust", "key.pub", capsys=capsys)
