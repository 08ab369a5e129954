"""Checkpoints of a training on many workers.

    FOLDER/latest                                the name of the last complete checkpoint
    FOLDER/step-00000040/manifest.json           the mesh, all tensors with their shardings, and checksums of the files
    FOLDER/step-00000040/rank-00003.safetensors  the parts that rank 3 owns

Every worker writes the files of its ranks into a hidden folder, and flushes them; then the first worker writes the
manifest and renames the folder. A folder that is there is therefore complete. Files belong to ranks and not to workers:
any number of workers resumes from them.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..data import safetensors
from ..errors import wrong_input
from ..train.checkpoints import FORMAT, HIDDEN, Checkpoints, checksum, flush, identity, new_digest, write_text
from .mesh import Mesh, Sharding
from .pipeline import Pipeline
from .training import Step


class ShardedCheckpoints(Checkpoints):
    """Checkpoints of a relay.distribute.Step or Pipeline in a folder that all workers share.

    All workers call its methods."""

    def __init__(self, folder: str | os.PathLike, *, keep: int = 3):
        super().__init__(folder, keep=keep, asynchronous=False)

    # --- saving -------------------------------------------------------------------------------------------------------
    def save(self, step: Step | Pipeline, data: Any = None, **extra: Any) -> None:
        """Saves a step, the position of the data, and further values that JSON can hold."""
        name = f"step-{step.count:08d}" + (f".{step.micro}" if step.micro else "")
        hidden = self.folder / f"{HIDDEN}{name}"
        if step.me == 0:
            self._attempt(hidden, lambda: (self._remove_hidden(), hidden.mkdir(parents=True)))
        step.link.barrier()
        files: dict[str, dict] = {}
        self._attempt(hidden, lambda: files.update(self._write_ranks(hidden, step)))
        all_files = {file: facts for one in step.link.gathered(files) for file, facts in one.items()}
        if step.me == 0:
            manifest = {"format": FORMAT, "step": step.count, "calls": step.calls, "extra": extra}
            manifest["micro"] = step.micro
            manifest |= {"of": identity_of(step), "data": None if data is None else data.state(), "files": all_files}
            manifest |= {"mesh": str(step.mesh), "tensors": tensors_of(step)}
            self._attempt(hidden, lambda: self._publish(hidden, name, manifest))
        step.link.barrier()

    def _attempt(self, hidden: Path, write) -> None:
        try:
            write()
        except OSError as error:
            raise wrong_input(
                f"the checkpoint {hidden} cannot be written: {error.strerror or error}",
                "free space or choose another folder; the checkpoints before it are still there",
            ) from error

    def _write_ranks(self, hidden: Path, step: Step | Pipeline) -> dict[str, dict]:
        files = {}
        for rank in step.ranks:
            owned = step.owned(rank)
            if not owned:
                continue
            file, digest = f"rank-{rank:05d}.safetensors", new_digest()
            size = safetensors.write(hidden / file, owned, digest)
            files[file] = {"bytes": size, "blake2b": digest.hexdigest()}
        return files

    def _publish(self, hidden: Path, name: str, manifest: dict) -> None:
        text = json.dumps(manifest, indent=1, sort_keys=True)
        outer = {"blake2b": checksum(text), "manifest": manifest}
        write_text(hidden / "manifest.json", json.dumps(outer, indent=1, sort_keys=True))
        flush(hidden)
        place = self.folder / name
        if place.exists():
            os.rename(place, self.folder / f"{HIDDEN}{name}.old")
        os.rename(hidden, place)
        flush(self.folder)
        write_text(self.folder / "latest", name)
        self._remove_hidden()
        for old in self.names()[: -self.keep]:
            shutil.rmtree(self.folder / old, ignore_errors=True)

    # --- loading ------------------------------------------------------------------------------------------------------
    def resume(self, step: Step | Pipeline, data: Any = None, *, name: str | None = None, anyway: bool = False) -> bool:
        """Loads the last checkpoint, or the one called `name`. Returns false if there is none.

        anyway: also load a checkpoint of another mesh, program, processor or version, if its tensors fit. Bits may then
        differ from those of an undisturbed training."""
        step.link.barrier(starting=True)
        chosen = name or self.latest()
        if chosen is None:
            return False
        folder = self.folder / chosen
        manifest = self._manifest(folder)
        self._check_whole(folder, manifest, step)
        if not anyway:
            self._check_identity(folder, manifest["of"], identity_of(step))
        whole = _Whole(self, folder, manifest)
        step.restore(whole.tensor, int(manifest["step"]), int(manifest["calls"]))
        if data is not None and manifest["data"] is not None:
            data.restore(manifest["data"])
        return True

    def _check_whole(self, folder: Path, manifest: dict, step: Step | Pipeline) -> None:
        if "mesh" not in manifest:
            raise wrong_input(
                f"{folder} is a checkpoint of relay.train.Checkpoints", "give ShardedCheckpoints a folder of its own"
            )
        there = {name: (one["dtype"], one["shape"]) for name, one in manifest["tensors"].items()}
        here = {name: (one["dtype"], one["shape"]) for name, one in tensors_of(step).items()}
        different = [name for name in here | there if here.get(name) != there.get(name)]
        if different:
            first = different[0]
            raise wrong_input(
                f"{folder / 'manifest.json'} is of another training: `{first}` is {there.get(first, 'absent')} there "
                f"and {here.get(first, 'absent')} here",
                "make the step with the parameters, optimiser and options of the one that was saved",
            )

    def read_file(self, path: Path, facts: dict) -> dict[str, np.ndarray]:
        """Returns the tensors of a file, whose checksum is compared."""
        content, digest = self._bytes(path), new_digest()
        digest.update(content)
        if len(content) != facts["bytes"] or digest.hexdigest() != facts["blake2b"]:
            raise self._damaged(path, "its checksum differs: the file was changed or is damaged")
        return safetensors.read(path, content)


class _Whole:
    """The whole tensors of a checkpoint. Each file is read once."""

    def __init__(self, store: ShardedCheckpoints, folder: Path, manifest: dict):
        self.manifest, self.mesh = manifest, Mesh.parse(manifest["mesh"])
        self.files = {
            int(file[len("rank-") :].split(".")[0]): store.read_file(folder / file, facts)
            for file, facts in manifest["files"].items()
        }

    def tensor(self, name: str) -> np.ndarray:
        """Returns a tensor from the parts of all ranks that own one."""
        facts = self.manifest["tensors"][name]
        shape, sharding = tuple(facts["shape"]), Sharding.parse(facts["sharding"])
        out = np.empty(shape, safetensors.dtype(facts["dtype"]))
        for rank, tensors in self.files.items():
            if name in tensors:
                place = sharding.place(shape, self.mesh, rank)
                out[place] = tensors[name].reshape(out[place].shape)
        return out


def tensors_of(step: Step | Pipeline) -> dict[str, dict]:
    """Returns the facts of all tensors of a step."""
    return {
        name: {"dtype": dtype, "shape": list(shape), "sharding": str(step.shardings.get(name, Sharding()))}
        for name, (dtype, shape) in step.tensors.items()
    }


def identity_of(step: Step | Pipeline) -> dict[str, Any]:
    """Returns the facts that must agree for a training to go on bit for bit."""
    return identity(step) | {"mesh": step.layout_text}
