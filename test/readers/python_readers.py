#!/usr/bin/env python3
"""The readers of models that are written in Python, for fuzzing: their files, how each is changed, and planted faults.

    RELAY_READER=mxnet python_readers.py [arguments of libFuzzer]

A case is the files of a model, one after the other, each with its length before it (u32, little-endian). The last one
is the shapes of the inputs, JSON. `readers.py` runs this program; it needs atheris, from build/test-fuzz.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import io
import json
import os
import pathlib
import pkgutil
import random
import re
import resource
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

from structure import changed_bytes, changed_json, changed_message, changed_text  # noqa: E402

SECONDS = 5.0  # of CPU time that a reader may take for a case of at most 24 KiB
MEMORY = 6 << 30  # bytes of address space, of which Python's libraries take about 1.5 GiB


@dataclasses.dataclass(frozen=True)
class Reader:
    """A reader of one format.

    files: names of the files, the first of which is imported, and how each is changed.
    planted: the check that is left out: a module of relay.frontend, a name in it, and what stands for it.
    """

    module: str
    files: dict[str, Callable[[bytes, random.Random], bytes]]
    planted: tuple[str, str, object]
    path: str = ""  # the folder that is imported, if it is not the first file
    pack: Callable[[dict[str, bytes]], dict[str, bytes]] | None = None  # of the files into those on disk


# --- planted faults ---------------------------------------------------------------------------------------------------
def _unchecked_varint(content, at, base):
    """wire.varint, without the check for the end of the file."""
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _unchecked_take(reader, count, what):
    """binary.Reader.take, without the check of the length."""
    reader.at += count
    return reader.content[reader.at - count : reader.at]


def _unchecked_pairs(found):
    """mxnet.symbol._pairs, without the check of types."""
    return [(one[0], one[1] if len(one) > 1 else 0) for one in found]


def _unchecked_entry(reader, held, name, kind):
    """paddle.pir._Reader.entry, without the check of the type."""
    return held.get(name)


def _unchecked_shape(about):
    """oneflow.job._shape, without its checks."""
    return about["shape"][-1]["dim"]


def _unchecked_json(name, part, content):
    """keras.file._json, without its checks."""
    return json.loads(content)


JSON = ("keras.file", "_json", _unchecked_json)
VARINT = ("shared.wire", "varint", _unchecked_varint)
TAKE = ("shared.binary", "Reader.take", _unchecked_take)


# --- readers ----------------------------------------------------------------------------------------------------------
def _archive(files):
    """The members of a .keras file as the archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return {"net.keras": held.getvalue()}


_CORE_ML = "net.mlpackage/Data/com.apple.CoreML"
CORE_ML_MANIFEST = json.dumps({
    "fileFormatVersion": "1.0.0", "rootModelIdentifier": "b",
    "itemInfoEntries": {"a": {"path": "com.apple.CoreML/weights"}, "b": {"path": "com.apple.CoreML/model.mlmodel"}},
}).encode()  # fmt: skip

READERS = {
    "keras": Reader(
        "keras", {"config.json": changed_json, "metadata.json": changed_json, "model.weights.h5": changed_bytes},
        JSON, "net.keras", _archive,
    ),
    "keras_h5": Reader("keras", {"net.h5": changed_bytes}, JSON),
    "tensorflow": Reader("tensorflow", {"net.pb": changed_message}, VARINT),
    "saved_model": Reader(
        "tensorflow",
        {"net/saved_model.pb": changed_message, "net/variables/variables.index": changed_bytes,
         "net/variables/variables.data-00000-of-00001": changed_bytes}, VARINT, "net",
    ),
    "darknet": Reader("darknet", {"net.cfg": changed_text, "net.weights": changed_bytes}, TAKE),
    "caffe": Reader("caffe", {"net.prototxt": changed_text, "net.caffemodel": changed_message}, VARINT),
    "caffe2": Reader("caffe2", {"predict_net.pb": changed_message, "init_net.pb": changed_message}, VARINT),
    "mxnet": Reader(
        "mxnet", {"net-symbol.json": changed_json, "net-0000.params": changed_bytes},
        ("mxnet.symbol", "_pairs", _unchecked_pairs),
    ),
    "coreml": Reader(
        "coreml",
        {f"{_CORE_ML}/model.mlmodel": changed_message, f"{_CORE_ML}/weights/weight.bin": changed_bytes,
         "net.mlpackage/Manifest.json": changed_json}, VARINT, "net.mlpackage",
    ),
    "paddle": Reader("paddle", {"net.pdmodel": changed_message, "net.pdiparams": changed_bytes}, TAKE),
    "paddle_json": Reader(
        "paddle", {"net.json": changed_json, "net.pdiparams": changed_bytes},
        ("paddle.pir", "_Reader.entry", _unchecked_entry),
    ),
    "oneflow": Reader(
        "oneflow", {"model.mlir": changed_text, "w/meta": changed_text, "w/out": changed_bytes},
        ("oneflow.job", "_shape", _unchecked_shape), "model.mlir",
    ),
}  # fmt: skip


# --- cases ------------------------------------------------------------------------------------------------------------
def packed(contents: list[bytes]) -> bytes:
    """The case of these files."""
    return b"".join(struct.pack("<I", len(one)) + one for one in contents)


def unpacked(case: bytes, count: int) -> list[bytes]:
    """The `count` files of a case; those that it lacks are empty."""
    made, at = [], 0
    while len(made) < count:
        size = int.from_bytes(case[at : at + 4], "little")
        made.append(case[at + 4 : at + 4 + size])
        at += 4 + size
    return made


def _shapes(text: bytes) -> dict:
    """The shapes of inputs by name; none if the text has another form."""
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict) and all(
            isinstance(one, list) and all(type(size) is int and -1 <= size < 1 << 31 for size in one)
            for one in found.values()
        ):
            return found
    return {}


class Fault(Exception):
    """A reader's answer that is none of a model or a diagnostic with a way out."""


def read(name: str, case: bytes) -> str:
    """Imports a case; returns the kind of the outcome. Raises Fault, or whatever the reader raises besides its own
    diagnostics."""
    import relay

    reader = READERS[name]
    *contents, shapes = unpacked(case, len(reader.files) + 1)
    files = dict(zip(reader.files, contents, strict=True))
    importer = importlib.import_module(f"relay.frontend.{reader.module}")
    begin = time.process_time()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for path, content in (reader.pack(files) if reader.pack else files).items():
            place = pathlib.Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        try:
            importer.import_file(os.path.join(folder, reader.path or next(iter(files))), _shapes(shapes))
            kind = "model"
        except relay.CompileError as error:
            kind = _kind_of(name, error)
    used = time.process_time() - begin
    if used > SECONDS:
        raise Fault(f"it takes {used:.1f} s of CPU time")
    return kind


# Keras's reader turns every exception into a diagnostic, because h5py raises nearly any. These are its own.
_OWN_MISTAKES = ("AttributeError", "IndexError", "TypeError", "UnboundLocalError", "ZeroDivisionError")
_UNEXPLAINED = re.compile(r"cannot be (?:read|imported):? \(?(\w*(?:Error|Exception|Iteration))\b")


def _kind_of(name: str, error) -> str:
    """The code of a diagnostic, and the exception behind it if the reader does not explain that itself."""
    text = str(error)
    if "help:" not in text or "Traceback" in text:
        raise Fault(f"a diagnostic without a way out: {text}") from error
    hidden = _UNEXPLAINED.search(text)
    if hidden and READERS[name].module == "keras" and hidden[1] in _OWN_MISTAKES:
        raise Fault(f"an exception of the reader itself: {text}") from error
    first = re.sub(r"[`'\"].*?[`'\"]|\d+|/\S+", "_", text.splitlines()[0])[:90]
    return f"{hidden[1]} | {first}" if hidden else first


@contextlib.contextmanager
def planted(name: str) -> Iterator[None]:
    """Leaves out a check of a reader."""
    module, attribute, stand_in = READERS[name].planted
    holder = importlib.import_module(f"relay.frontend.{module}")
    *classes, attribute = attribute.split(".")
    for one in classes:
        holder = getattr(holder, one)
    with mock.patch.object(holder, attribute, stand_in):
        yield


def remember_good_hdf5() -> None:
    """Makes the check of HDF5 files in a process of its own remember files that have passed, because most cases leave
    the weights of a .keras file as they are."""
    from relay.frontend.keras import file as keras_file

    check, passed = keras_file._try_elsewhere, set()

    def once(name, file):
        if isinstance(file, io.BufferedReader):
            return check(name, file)
        key = hashlib.sha256(file.getvalue()).digest()
        if key not in passed:
            check(name, file)
            passed.add(key)

    keras_file._try_elsewhere = once


# --- the fuzzer -------------------------------------------------------------------------------------------------------
def change(name: str, case: bytes, most: int, rng: random.Random, plainly: Callable[[bytes, int], bytes]) -> bytes:
    """A changed case of at most `most` bytes. plainly: libFuzzer's own changes of bytes."""
    reader = READERS[name]
    contents = unpacked(case, len(reader.files) + 1)
    at = 0 if rng.random() < 0.7 else rng.randrange(len(contents))
    ways = [*reader.files.values(), changed_json]
    if rng.random() < 0.1:
        contents[at] = plainly(contents[at], max(most // 2, 1))
    else:
        contents[at] = (ways[at] if rng.random() < 0.9 else changed_bytes)(contents[at], rng)
    made = packed(contents)
    return made if len(made) <= most else case[:most]


def crossed(name: str, first: bytes, second: bytes, most: int, rng: random.Random) -> bytes:
    """The files of two cases, each from one of them."""
    count = len(READERS[name].files) + 1
    made = packed([rng.choice(pair) for pair in zip(unpacked(first, count), unpacked(second, count), strict=True)])
    return made if len(made) <= most else first[:most]


def main() -> None:
    name = os.environ["RELAY_READER"]  # not an argument: libFuzzer starts this program again, with its own ones
    sys.path.insert(0, str(ROOT / "build" / "test-fuzz"))
    import atheris

    parts = ["shared", READERS[name].module, *(["stablehlo"] if name == "oneflow" else [])]
    with atheris.instrument_imports(include=[f"relay.frontend.{one}" for one in parts]):
        import relay  # noqa: F401

        package = importlib.import_module(f"relay.frontend.{READERS[name].module}")
        for one in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{one.name}")
    remember_good_hdf5()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    outcomes, seen = os.environ.get("RELAY_OUTCOMES"), set()

    def one(case: bytes) -> None:
        kind = read(name, case)
        if outcomes and kind not in seen:
            seen.add(kind)
            with open(outcomes, "a") as file:
                file.write(f"{kind}\n")

    def mutated(case, most, seed):
        return change(name, bytes(case), most, random.Random(seed), atheris.Mutate)

    def joined(first, second, most, seed):
        return crossed(name, bytes(first), bytes(second), most, random.Random(seed))

    with planted(name) if os.environ.get("RELAY_PLANTED") else contextlib.nullcontext():
        atheris.Setup(sys.argv, one, custom_mutator=mutated, custom_crossover=joined)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
