"""Push and pull in both layouts: what is taken, what is refused, and what interrupted and concurrent pulls leave."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest
import relay.hub
from forms import each_nth
from programs import DENSE
from relay.errors import CompileError
from relay.hub import pull, push
from relay.hub.command import main
from relay.hub.layouts import Reference, published_at
from relay.hub.manifest import CARD, Manifest, manifest_of
from relay.hub.processors import choice, processor_of

import relay

pytest.importorskip("cryptography")

PLACES = ("models:v1", "hf:models")


def make_key(name):
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem"], check=True)
    subprocess.run(["openssl", "pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub"], check=True)


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A folder in which one model is published in both layouts; tests change copies."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "dense.relay").write_text(DENSE)
    push(str(folder / "dense.relay"), f"oci:{folder}/oci:v1")
    push(str(folder / "dense.relay"), f"hf:{folder}/hf")
    return folder


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """A folder with a model and a key, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dense.relay").write_text(DENSE)
    make_key("key")
    return tmp_path


def blob_of(file, place="models:v1"):
    """The path in a hub of the file for which `file` returns the entry of a manifest."""
    found = published_at(Reference.of(place))
    return found.path_of(file(found.manifest))


def message(call):
    """The text of the error that a call must raise. Each has a code and a way out."""
    with pytest.raises(CompileError) as error:
        call()
    assert "error[R0" in str(error.value) and "help: " in str(error.value)
    return str(error.value)


def results(path):
    x = np.arange(8, dtype=np.float32).reshape(2, 4) - 4
    w = np.arange(32, dtype=np.float32).reshape(8, 4) / 8 - 2
    return relay.load(path)(x, w), np.maximum(x @ w.T, 0)


@pytest.mark.parametrize("place", each_nth(2, PLACES))
def test_without_trust_the_model_is_compiled_here(place):
    push("dense.relay", place, ["native"], key="key.pem")
    pulled = pull(place, "out")
    assert pulled.is_compiled_here
    assert "--trust KEY" in pulled.notes[0] and ".schedules.txt" in pulled.notes[-1]
    assert relay.load(pulled.artifact).report["groups"][0]["scheduled_by_hand"], "the published schedule was used"
    got, wanted = results(pulled.artifact)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)  # sums of 4 products
    assert open(pulled.model).read() == DENSE


@pytest.mark.parametrize("place", each_nth(2, PLACES))
def test_trusted_code_is_taken_as_it_was_published(place):
    push("dense.relay", place, ["native"], key="key.pem")
    pulled = pull(place, "out", trust=["key.pub"])
    assert not pulled.is_compiled_here and "the same processor, signed by key.pub" in pulled.notes[0]
    published = blob_of(lambda manifest: manifest.targets[0].artifact, place)
    assert open(pulled.artifact, "rb").read() == open(published, "rb").read()
    got, wanted = results(pulled.artifact)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.slow
def test_a_masked_processor_gets_the_largest_subset_or_compiles():
    """The publisher has a processor with AVX-512; the one that pulls lacks it, or lacks AVX2 too."""
    push("dense.relay", "models:v1", ["generic", "zen4", "haswell", "neoverse-n1"], key="key.pem")
    manifest = published_at(Reference.of("models:v1")).manifest
    assert choice(manifest, processor_of("zen4")).target == "zen4"
    assert choice(manifest, processor_of("zen5")).target == "zen4"
    assert choice(manifest, processor_of("rv64gcv")) is None
    masked = pull("models:v1", "masked", trust=["key.pub"], target="zen4,-avx512f")
    assert masked.target == "haswell" and not masked.is_compiled_here and "the best fit" in masked.notes[0]
    assert pull("models:v1", "plain", trust=["key.pub"], target="zen4,-avx").target == "generic"
    other = pull("models:v1", "other", trust=["key.pub"], target="rv64gcv")
    assert other.is_compiled_here and "no published target fits" in other.notes[0]
    assert "compiled for riscv64" in message(lambda: relay.load(other.artifact))


@pytest.mark.slow
def test_code_of_another_version_is_compiled_here(monkeypatch):
    push("dense.relay", "models:v1", key="key.pem")
    monkeypatch.setattr(relay._core, "version", "9.9.9")
    pulled = pull("models:v1", "out", trust=["key.pub"])
    assert pulled.is_compiled_here and "this is 9.9.9" in pulled.notes[0]


@pytest.mark.slow
def test_schedules_that_do_not_fit_are_named(monkeypatch):
    monkeypatch.setattr(sys.modules["relay.hub.push"], "schedules_of", lambda *how: "stage nothing_here: root\n")
    push("dense.relay", "models:v1")
    pulled = pull("models:v1", "out")
    assert any(note.startswith("the schedules were not used: ") for note in pulled.notes)
    got, wanted = results(pulled.artifact)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("trust", each_nth(2, [[], ["key.pub"]]))
def test_a_flipped_byte_anywhere_is_refused(place, trust, work):
    """In each file that a pull reads, one bit of one byte. The pull ends with a place, and leaves no folder."""
    push("dense.relay", place, key="key.pem")
    files = [path for path in (work / "models").rglob("*") if path.is_file()]
    unread = 0
    for path in files:
        good = path.read_bytes()
        at = len(good) // 2
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        try:
            pull(place, "out", trust=trust)
            unread += 1
            subprocess.run(["rm", "-r", "out"], check=True)
        except CompileError as error:
            assert "models" in str(error) and "help: " in str(error), path
        path.write_bytes(good)
        assert not os.path.exists("out") and not os.path.exists(".out.relay-pull"), path
    # Not read: the marker of OCI, or the card. Without trust, neither the artifact, and in a plain folder nothing
    # covers the manifest's own texts or the signatures.
    assert unread <= (1 if trust else 4)
    assert pull(place, "out", trust=trust)


def test_a_changed_model_names_the_file_and_both_digests():
    push("dense.relay", "models:v1")
    path = blob_of(lambda manifest: manifest.model)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("relu", "tanh"))
    said = message(lambda: pull("models:v1", "out"))
    assert "error[R0402]: the file dense.relay in models/blobs/sha256/" in said
    assert said.count("sha256:") == 2 and "ask the publisher" in said


def test_a_manifest_that_was_changed_with_its_digests_fails_the_signature(work):
    """The artifact and its digest in the manifest are exchanged together: only the signature can tell."""
    push("dense.relay", "hf:models", key="key.pem")
    manifest = json.loads((work / "models/relay-manifest.json").read_text())
    evil = b"machine code of someone else"
    artifact = manifest["targets"][0]["artifact"]
    (work / "models" / artifact["name"]).write_bytes(evil)
    artifact["bytes"] = len(evil)
    artifact["digest"] = relay.hub.files.digest_of_bytes(evil)
    (work / "models/relay-manifest.json").write_text(json.dumps(manifest))
    assert "is wrong: the manifest was changed" in message(lambda: pull("hf:models", "out", trust=["key.pub"]))
    assert pull("hf:models", "out").is_compiled_here, "without trust, the artifact is not even read"


@pytest.mark.slow
def test_other_publishers_are_not_trusted():
    make_key("other")
    push("dense.relay", "models:v1", key="key.pem")
    assert "by 1 other keys" in message(lambda: pull("models:v1", "out", trust=["other.pub"]))
    push("dense.relay", "models:v2")
    assert "by nobody" in message(lambda: pull("models:v2", "out", trust=["key.pub"]))
    assert "not a public key" in message(lambda: pull("models:v1", "out", trust=["dense.relay"]))
    assert "not a private key" in message(lambda: push("dense.relay", "models:v3", key="key.pub"))
    assert not os.path.exists("out")


def changed(edit, published):
    """Changes the manifest of a published model, as JSON."""
    shutil.copytree(published / "hf", "models")
    with open("models/relay-manifest.json") as file:
        manifest = json.load(file)
    edit(manifest)
    with open("models/relay-manifest.json", "w") as file:
        json.dump(manifest, file)


NAMES = ("../evil", "/etc/evil", "a/b", "..", ".bashrc", "", "a\0b", "a\nb", "README.md", "relay-pull.json", "x" * 200)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["model", "beside", "artifact", "hub"])
def test_names_do_not_leave_the_folder(name, kind, published):
    def edit(manifest):
        if kind == "beside":
            manifest["beside"] = [manifest["model"] | {"name": name}]
        elif kind == "hub":
            manifest["name"] = name if name not in ("README.md", "relay-pull.json") else "../x"
        else:
            (manifest["targets"][0][kind] if kind == "artifact" else manifest[kind])["name"] = name

    changed(edit, published)
    before = sorted(os.listdir("..")), sorted(os.listdir("."))
    assert "models/relay-manifest.json" in message(lambda: pull("hf:models"))
    assert (sorted(os.listdir("..")), sorted(os.listdir("."))) == before


WRONG = {
    "another format": lambda m: m.update(format="relay-hub/2"),
    "an entry more": lambda m: m.update(command="rm"),
    "an entry less": lambda m: m.pop("inputs"),
    "a digest": lambda m: m["model"].update(digest="sha256:../../x"),
    "a negative size": lambda m: m["model"].update(bytes=-1),
    "a size beyond the disk": lambda m: m["model"].update(bytes=1 << 50),
    "a size that is not whole": lambda m: m["model"].update(bytes=1.5),
    "a size of another": lambda m: m["model"].update(bytes=m["model"]["bytes"] - 1),
    "a time that is a text": lambda m: m["targets"][0].update(figures=["fast"]),
    "a level": lambda m: m["options"].update(opt_level=99),
    "an option of numerics": lambda m: m["options"].update(numerics="\x1b[2J"),
    "a name twice": lambda m: m.update(beside=[m["model"]]),
    "too many targets": lambda m: m.update(targets=m["targets"] * 2000),
    "an escape sequence": lambda m: m.update(licence="\x1b]0;evil\x07"),
    "a link to elsewhere": lambda m: (os.unlink("models/dense.relay"), os.symlink("/etc/passwd", "models/dense.relay")),
    "a pipe": lambda m: (os.unlink("models/dense.relay"), os.mkfifo("models/dense.relay")),
    "a device": lambda m: (os.unlink("models/dense.relay"), os.symlink("/dev/zero", "models/dense.relay")),
    "a missing file": lambda m: os.unlink("models/dense.relay"),
}


@pytest.mark.parametrize("edit", each_nth(3, WRONG.values()), ids=WRONG)
def test_wrong_manifests_are_answered(edit, capsys, published):
    changed(edit, published)
    said = message(lambda: pull("hf:models", "out"))
    assert said.isprintable() or "\x1b" not in said
    assert not os.path.exists("out") and not os.path.exists(".out.relay-pull")
    assert main(["pull", "hf:models", "-o", "out"]) == 1 and "help: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 100000, '{"format": NaN}', '{"a": 1, "a": 2}', "\xff" * 10]
)
def test_texts_that_are_not_manifests(text, published):
    assert "models" in message(lambda: manifest_of(text.encode("latin-1"), "models"))
    shutil.copytree(published / "oci", "models")
    with open("models/index.json", "w", encoding="latin-1") as file:
        file.write(text)
    assert "models" in message(lambda: pull("models:v1", "out"))


PULL = """
import resource, signal, sys
from relay.hub.command import main
limit = int(sys.argv[1])
if limit:  # the kernel ends the process in the middle of the first file that is longer
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(main(["pull", "models:v1", "-o", "out"]))
"""


def pulling(limit=0):
    return subprocess.Popen(
        [sys.executable, "-c", PULL, str(limit)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def push_with_weights(count):
    """Publishes a model with a large file beside it."""
    with open("weights.bin", "wb") as file:
        file.write(bytes(count))
    push("dense.relay", "models:v1", beside=["weights.bin"])


@pytest.mark.slow
def test_an_interrupted_pull_leaves_nothing_and_goes_on():
    push_with_weights(3 << 20)
    ended = pulling(1 << 20)
    ended.communicate(timeout=120)
    assert ended.returncode == -signal.SIGXFSZ
    assert not os.path.exists("out")
    assert any(name.endswith(".part") for name in os.listdir(".out.relay-pull")), "it ended in the middle of a file"
    again = pull("models:v1", "out")
    assert again.notes[0] == "1 of 3 files were there from an interrupted pull"
    assert os.path.getsize("out/weights.bin") == 3 << 20 and not os.path.exists(".out.relay-pull")


@pytest.mark.slow
def test_a_file_that_an_interrupted_pull_left_is_checked_again():
    push_with_weights(3 << 20)
    pulling(1 << 20).communicate(timeout=120)
    [left] = [name for name in os.listdir(".out.relay-pull") if len(name) == 64]
    with open(f".out.relay-pull/{left}", "r+b") as file:
        file.write(b"evil")
    pulled = pull("models:v1", "out")
    assert open(pulled.model).read() == DENSE and "interrupted" not in pulled.notes[0]


def test_a_full_disk_is_a_message(capfd):
    """A limit on the size of files, which a write meets as an error, stands for the disk."""
    push_with_weights(3 << 20)
    code = PULL.replace("signal.SIG_DFL", "signal.SIG_IGN")
    done = subprocess.run([sys.executable, "-c", code, str(1 << 20)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr.startswith("error: File too large") and "help: " in done.stderr
    assert not os.path.exists("out") and not any(name.endswith(".part") for name in os.listdir(".out.relay-pull"))
    assert pull("models:v1", "out").notes[0].startswith("1 of 3 files")


@pytest.mark.slow
def test_concurrent_pulls_all_find_the_whole():
    push_with_weights(8 << 20)
    running = [pulling() for _ in range(4)]
    said = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 4, said
    assert sum("has the model already" in out for out, _ in said) == 3
    assert os.path.getsize("out/weights.bin") == 8 << 20
    assert not [name for name in os.listdir(".") if "relay-pull" in name], "no lock and no part is left"


@pytest.mark.slow
def test_a_pull_that_waits_too_long_ends(work):
    push("dense.relay", "models:v1")
    with relay.hub.files.locked(str(work / ".out.relay-pull.lock"), 1):
        assert "another process has held" in message(lambda: pull("models:v1", "out", wait=0.2))


@pytest.mark.slow
def test_a_pulled_folder_is_not_replaced_and_is_checked(work):
    push("dense.relay", "models:v1")
    pull("models:v1", "out")
    assert "has the model already" in pull("models:v1", "out").notes[0]
    assert "holds another model" in message(lambda: pull("models:v1", "out", target="generic"))
    (work / "out/dense.relay").write_text("changed")
    assert "out/dense.relay was changed after" in message(lambda: pull("models:v1", "out"))
    (work / "mine").mkdir()
    (work / "mine/file").write_text("mine")
    assert "is not a pulled model" in message(lambda: pull("models:v1", "mine"))
    assert os.listdir("mine") == ["file"]


def test_concurrent_pushes_keep_all_tags():
    code = "import sys; from relay.hub import push; push('dense.relay', 'models:' + sys.argv[1])"
    running = [subprocess.Popen([sys.executable, "-c", code, f"v{i}"]) for i in range(4)]
    assert [process.wait(timeout=300) for process in running] == [0] * 4
    assert relay.hub.layouts._Oci("models").tags() == ["v0", "v1", "v2", "v3"]


def test_oci_files_have_the_form_of_the_specification(work):
    push("dense.relay", "models:v1", key="key.pem")
    assert json.loads((work / "models/oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((work / "models/index.json").read_text())
    [entry] = index["manifests"]
    assert index["schemaVersion"] == 2 and entry["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    image = json.loads((work / "models/blobs" / entry["digest"].replace(":", "/")).read_bytes())
    for one in [entry, image["config"], *image["layers"]]:
        path = work / "models/blobs" / one["digest"].replace(":", "/")
        assert relay.hub.files.digest_of(str(path)) == (one["digest"], one["size"])
    assert len(list((work / "models/blobs/sha256").iterdir())) == 2 + len(image["layers"])


def test_a_snapshot_of_hugging_face_is_pulled(published):
    """Its cache holds links to blobs, as huggingface_hub.snapshot_download() returns them."""
    shutil.copytree(published / "hf", "blobs")
    os.makedirs("snapshots/main")
    for name in os.listdir("blobs"):
        os.symlink(f"../../blobs/{name}", f"snapshots/main/{name}")
    assert open(pull("hf:snapshots/main", "out").model).read() == DENSE


@pytest.mark.slow
def test_weights_beside_a_model_go_with_it():
    """An ONNX model with external weights. Without --beside, the push fails as a pull would."""
    weights = onnx.numpy_helper.from_array(np.eye(4, dtype=np.float32) * 2, "w")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 4]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    external = {"save_as_external_data": True, "location": "big.bin", "size_threshold": 0}
    onnx.save_model(model, "scale.onnx", **external)
    assert "big.bin" in message(lambda: push("scale.onnx", "models:v1"))
    manifest = push("scale.onnx", "models:v1", beside=["big.bin"])
    assert [port.type for port in manifest.inputs] == ["Tensor[(n, 4), float32]"]
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(relay.load(pull("models:v1", "out").artifact)(x), 2 * x)


@pytest.mark.slow
def test_figures_are_those_of_the_measurement(capsys):
    measured = {"median_us": 1500.0, "p99_us": 2500.0, "rms_error": 1e-7}
    with open("figures.json", "w") as file:
        json.dump([{"model": "some/dense.relay", "threads": 2, "relay": measured, "peers": []}], file)
    arguments = ["dense.relay", "hf:models", "--target", "haswell", "--target", "generic", "--machine", "A machine"]
    assert main(["push", *arguments, "--bench", "haswell=figures.json", "--licence", "MIT"]) == 0
    card = open(os.path.join("models", CARD)).read()
    assert "license: mit" in card and "| A machine | 2 | 1.5 | 2.5 | 1e-07 |" in card and "not measured" in card
    assert "- input `x`: `Tensor[(n, 4), float32]`" in card
    capsys.readouterr()
    assert main(["show", "hf:models"]) == 0 and capsys.readouterr().out == card
    assert main(["show", "models", "--json"]) == 0
    assert isinstance(manifest_of(capsys.readouterr().out.encode(), "shown"), Manifest)
    assert "figures of some/dense.relay" in message(lambda: push_as("other.relay", figures={"native": "figures.json"}))
    with open("figures.json", "w") as file:
        file.write('[{"model": "dense.relay"}]')
    assert "does not have the figures" in message(
        lambda: push("dense.relay", "m:1", figures={"native": "figures.json"})
    )


def push_as(name, **how):
    with open(name, "w") as file:
        file.write(DENSE)
    return push(name, "m:1", **how)


@pytest.mark.parametrize("place", ["", ":", "models:a b", "models:", "oci:", "mod\0els"])
def test_wrong_places(place):
    assert "place of a model" in message(lambda: push("dense.relay", place))


def test_wrong_pushes(work):
    assert "there is no file nothing.onnx" in message(lambda: push("nothing.onnx", "m:1"))
    assert "given twice" in message(lambda: push("dense.relay", "m:1", ["haswell", "haswell"]))
    assert "no processor is named" in message(lambda: push("dense.relay", "m:1", ["hasswell"]))
    relay.compile("dense.relay").save("dense.rart")
    assert "which a hub does not take" in message(lambda: push("dense.rart", "m:1"))
    (work / "a b.relay").write_text(DENSE)
    assert "rename it" in message(lambda: push("a b.relay", "m:1"))
    assert not os.path.exists("m")


@pytest.mark.slow
def test_ls_goes_on_after_a_model_that_is_unreadable(capsys):
    push("dense.relay", "models:v1")
    push("dense.relay", "models:v2", ["generic"], key="key.pem")
    os.unlink(f"models/blobs/sha256/{published_at(Reference.of('models:v1')).digest.removeprefix('sha256:')}")
    assert main(["ls", "models"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("models:v1  unreadable: ") and second.endswith("for generic, 1 signature")
    assert "0 models have the tag v3" in message(lambda: pull("models:v3", "out"))


def test_the_command_reaches_the_hub():
    done = subprocess.run(
        [sys.executable, "-m", "relay", "hub", "ls", "nothing"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "neither an OCI image layout" in done.stderr and "Traceback" not in done.stderr
