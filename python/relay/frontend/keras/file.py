"""Files of Keras: a .keras archive (config.json, metadata.json, model.weights.h5), or an HDF5 file with `model_config`.

Everything in a file is untrusted: sizes are bounded before anything of that size is allocated, and links and datasets
that refer to other files are refused. HDF5 itself checks the lengths inside an HDF5 file, but not well enough: a
process of its own reads the file first.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import zipfile

import numpy as np

from ...data.arrays import fixed
from ...errors import told

HDF5, ZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"
MOST_CONFIG = 32 << 20  # bytes of a configuration; those of the largest networks of Keras have 1 MiB
MOST_DEPTH = 200  # brackets inside brackets of a configuration
# Members and datasets above SMALL bytes must not be this many times larger than in the file.
SMALL, MOST_RATIO = 64 << 20, 64
_AGAIN = "save the model again with model.save('model.keras')"


def corrupt(message: str, help: str = _AGAIN):
    """Returns the error of a file that is not as Keras writes it."""
    return told("corrupt_file", message, help)


def beyond(message: str):
    """Returns the error of a count, depth or size that no real model has."""
    return told("limit_exceeded", message, _AGAIN)


def is_keras(content: bytes) -> bool:
    """Returns true if these bytes are an HDF5 file, or an archive with the members of a Keras model."""
    return content.startswith(HDF5) or (
        content.startswith(ZIP) and b"config.json" in content[-4096:] and b"model.weights.h5" in content[-4096:]
    )


@contextlib.contextmanager
def opened(name: str, content: bytes | None):
    """Yields (configuration, version of Keras, HDF5 file, true for an archive) of a file, or of its bytes."""
    import h5py

    file = open(name, "rb") if content is None else io.BytesIO(content)
    with file, contextlib.ExitStack() as stack:
        head = file.read(len(HDF5))
        file.seek(0)
        if head.startswith(ZIP):
            config, version, file = _members(name, file)
        elif head != HDF5:
            raise corrupt(f"{name} is neither a zip archive nor an HDF5 file, as Keras writes")
        _try_elsewhere(name, file)
        try:
            store = stack.enter_context(h5py.File(file, "r"))
        except Exception as error:  # h5py raises nearly any class for a file that is damaged
            raise corrupt(f"the HDF5 part of {name} cannot be read: {first_line(error)}") from error
        if head.startswith(ZIP):
            yield config, version, store, True
        else:
            yield *_attributes(name, store), store, False


_CHECK = pathlib.Path(__file__).parents[2] / "tools" / "hdf5_check.py"
_SECONDS, _BYTES_A_SECOND = 10, 4 << 20  # the processor time that HDF5 may take


def _try_elsewhere(name: str, file) -> None:
    """Reads an HDF5 file in a process of its own first: HDF5 does not end, or crashes, on some damaged files."""
    content = None if isinstance(file, io.BufferedReader) else file.getvalue()
    size = os.fstat(file.fileno()).st_size if content is None else len(content)
    source, seconds = "-" if content is not None else file.name, _SECONDS + size / _BYTES_A_SECOND
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", str(_CHECK), source, str(seconds)]
    done = subprocess.run(command, input=content, capture_output=True, env=environment)
    if done.returncode == -signal.SIGXCPU:
        raise corrupt(f"{name} is damaged: HDF5 does not finish reading it")
    if done.returncode < 0:
        raise corrupt(f"{name} is damaged: HDF5 crashes when it reads it ({signal.Signals(-done.returncode).name})")


def _members(name: str, file) -> tuple[dict, str, io.BytesIO]:
    """Returns the configuration, Keras's version and the weights of an archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            config = _json(name, "config.json", _member(name, archive, "config.json", MOST_CONFIG))
            about = {}
            if "metadata.json" in archive.namelist():
                about = _json(name, "metadata.json", _member(name, archive, "metadata.json", MOST_CONFIG))
            weights = io.BytesIO(_member(name, archive, "model.weights.h5"))
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError, zipfile.zlib.error) as error:
        raise corrupt(f"the archive {name} cannot be read: {first_line(error)}") from error
    version = about.get("keras_version")
    return config, version if isinstance(version, str) else "3", weights


def _member(name: str, archive: zipfile.ZipFile, member: str, most: int | None = None) -> bytes:
    """Returns the bytes of a member, at most `most` of them if that is set."""
    try:
        about = archive.getinfo(member)
    except KeyError as error:
        raise corrupt(f"the archive {name} has no {member}") from error
    if most is not None and about.file_size > most:
        raise beyond(f"{member} in {name} has {about.file_size} bytes, more than {most}")
    if about.file_size > SMALL and about.file_size > MOST_RATIO * about.compress_size:
        raise beyond(f"{member} in {name} has {about.file_size} bytes, compressed to {about.compress_size}")
    with archive.open(about) as file:
        content = file.read(about.file_size + 1)
    if len(content) != about.file_size:
        raise corrupt(f"{member} in {name} has another size than the archive says")
    return content


def _attributes(name: str, store) -> tuple[dict, str]:
    """Returns the configuration and Keras's version of an HDF5 file."""
    text = text_of(store.attrs, "model_config")
    if text is None:
        is_weights = "layer_names" in store.attrs or "layers" in store or "_layer_checkpoint_dependencies" in store
        what = "contains weights but no layers" if is_weights else "is an HDF5 file without `model_config`"
        raise told(
            "bad_model",
            f"{name} {what}: model.save_weights() writes such files",
            "build the model in Keras, load the weights with model.load_weights(), then pass the model to "
            "relay.frontend.from_keras, or save it with model.save('model.keras')",
        )
    if len(text) > MOST_CONFIG:
        raise beyond(f"`model_config` in {name} has {len(text)} bytes, more than {MOST_CONFIG}")
    version = text_of(store.attrs, "keras_version") or text_of(store.get("model_weights"), "keras_version")
    return _json(name, "model_config", text), version or "2"


def text_of(holder, attribute: str) -> str | None:
    """Returns a text among the attributes of a group, or the attributes themselves; None if there is none."""
    attributes = getattr(holder, "attrs", holder)
    try:
        value = None if attributes is None else attributes.get(attribute)
    except (OSError, RuntimeError, ValueError, TypeError):
        return None
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return value if isinstance(value, str) else None


def _json(name: str, part: str, content: bytes | str) -> dict:
    """Returns a JSON object. Nesting is bounded first, because the reader and Keras's structures are recursive."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        if _depth(text) > MOST_DEPTH:
            raise beyond(f"{part} in {name} is nested more than {MOST_DEPTH} levels deep")
        made = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise corrupt(f"{part} in {name} is not JSON: {first_line(error)}") from error
    if not isinstance(made, dict):
        raise corrupt(f"{part} in {name} is not a JSON object")
    return made


def _depth(text: str) -> int:
    """Returns the deepest nesting of brackets, those inside of texts included."""
    signs = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    opening = (signs == ord("[")) | (signs == ord("{"))
    closing = (signs == ord("]")) | (signs == ord("}"))
    steps = opening.astype(np.int8) - closing.astype(np.int8)
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0))


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def child(group, name: str):
    """Returns a member of a group, or None. Links to other places or files are refused."""
    import h5py

    try:
        link = group.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise corrupt(f"`{name}` in the HDF5 group {group.name} is a link to another place")
        return group[name]
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise corrupt(f"`{name}` in the HDF5 group {group.name} cannot be read: {first_line(error)}") from error


def array_of(dataset) -> np.ndarray:
    """Returns the elements of a dataset. Refuses those that lie in other files, and sizes that the file cannot have."""
    import h5py

    name = getattr(dataset, "name", "?")
    if not isinstance(dataset, h5py.Dataset):
        raise corrupt(f"{name} in the HDF5 file is a group, where weights are expected")
    try:
        if dataset.external or dataset.is_virtual:
            raise corrupt(f"the elements of {name} lie in another file")
        if dataset.shape is None or dataset.nbytes > max(SMALL, MOST_RATIO * dataset.id.get_storage_size()):
            stored = dataset.id.get_storage_size()
            raise beyond(f"{name} has the shape {dataset.shape}, and {stored} bytes in the file")
        found = dataset[()]
    except (OSError, RuntimeError, ValueError, TypeError, MemoryError, OverflowError) as error:
        raise corrupt(f"{name} in the HDF5 file cannot be read: {first_line(error)}") from error
    found = fixed(np.asarray(found))
    if found.dtype.kind == "V" and found.dtype.itemsize == 2 and text_of(dataset, "dtype") == "bfloat16":
        import ml_dtypes

        found = found.view(ml_dtypes.bfloat16)
    if found.dtype.kind not in "fiub" and found.dtype.name != "bfloat16":
        raise corrupt(f"{name} in the HDF5 file has elements of the type {found.dtype}, not numbers")
    return found
