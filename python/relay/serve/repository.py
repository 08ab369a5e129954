"""Repository, the models of a server: their files, their versions, and how a version takes the place of another."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import re

from .. import _core
from ..errors import CompileError, wrong_input
from .batching import Lanes
from .metrics import Metrics
from .models import Version, fingerprint, load
from .problems import Refused, bad_request
from .settings import Settings

logger = logging.getLogger("relay.serve")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


@dataclasses.dataclass(frozen=True)
class Source:
    """A model on the command line: its name, and a file or a folder of versions."""

    name: str
    path: str

    @classmethod
    def of(cls, text: str) -> Source:
        """Returns the source of "NAME=PATH" or "PATH", whose name is that of the file. Raises InputError (R0601)."""
        name, is_named, path = text.partition("=")
        if not is_named:
            path = text
            name = os.path.splitext(os.path.basename(os.path.normpath(path)))[0]
        if not _NAME.fullmatch(name):
            raise wrong_input(
                f"`{name}` is not a name of a model",
                "give NAME=PATH; a name has up to 128 letters, digits, and the signs _ . -",
            )
        if not os.path.exists(path):
            raise wrong_input(f"there is no file or folder {path}", f"model `{name}` needs one: NAME=PATH")
        return cls(name, path)

    @property
    def is_language_model(self) -> bool:
        """True for what relay.generate reads: a GGUF file, or a folder with config.json."""
        return self.path.endswith(".gguf") or os.path.exists(os.path.join(self.path, "config.json"))

    def versions(self) -> dict[str, str]:
        """Returns the file of each version. A file is version 1. In a folder, 3.onnx is version 3, and so is the only
        file of the folder 3/. Raises InputError (R0601)."""
        if not os.path.isdir(self.path):
            return {"1": self.path}
        found: dict[str, str] = {}
        for entry in sorted(os.scandir(self.path), key=lambda entry: entry.name):
            number = os.path.splitext(entry.name)[0] if entry.is_file() else entry.name
            if not re.fullmatch(r"[1-9][0-9]{0,17}", number):
                continue
            files = [entry.path]
            if entry.is_dir():
                files = [one.path for one in os.scandir(entry.path) if one.is_file() and not one.name.startswith(".")]
            count = len(files) + (number in found)
            if count != 1:
                raise wrong_input(
                    f"version {number} of model `{self.name}` has {count} files in {self.path}",
                    f"keep one file: {number}.onnx, or one file in the folder {number}/",
                )
            found[number] = files[0]
        if not found:
            raise wrong_input(
                f"the folder {self.path} of model `{self.name}` has no version",
                "name a file or a folder by a number: 1.onnx",
            )
        return found


def sources_of(texts: list[str]) -> list[Source]:
    """Returns the sources of a command line. Raises InputError (R0601)."""
    sources = [Source.of(text) for text in texts]
    names = [source.name for source in sources]
    if twice := {name for name in names if names.count(name) > 1}:
        raise wrong_input(f"two models are called `{twice.pop()}`", "give them names: NAME=PATH")
    return sources


class Repository:
    """The models of a server. All methods are called on the event loop; models are compiled on other threads."""

    def __init__(self, sources: list[Source], settings: Settings, metrics: Metrics):
        names = [source.name for source in sources]
        self.is_ready = False
        self._sources = {source.name: source for source in sources}
        self._settings, self._metrics = settings, metrics
        self._lanes = Lanes(settings)
        self._models: dict[str, dict[str, Version]] = {name: {} for name in names}  # each replaced as a whole
        self._files: dict[str, dict[str, tuple]] = {name: {} for name in names}  # fingerprints
        self._locks = {name: asyncio.Lock() for name in names}

    async def load_all(self) -> None:
        """Loads all models. Raises CompileError if one of them cannot be served."""
        for name in self._sources:
            await self.load(name)
        self.is_ready = True

    async def load(self, name: str) -> list[str]:
        """Reads the files of a model again, and returns its versions.

        New and changed versions are compiled and run beside the old ones, which answer meanwhile. All take their place
        at once, and the old ones finish the requests that they have. After an error, which is raised as CompileError,
        nothing has changed.
        """
        async with self._locks[name]:
            try:
                versions, files = await self._read(name)
            except (CompileError, OSError) as error:
                self._metrics.reloads.labels(name, "failed").inc()
                if isinstance(error, OSError):
                    raise wrong_input(f"the files of model `{name}` cannot be read: {error}", "check them") from error
                raise
            self._metrics.reloads.labels(name, "loaded").inc()
            self._replace(name, versions, files)
            return list(versions)

    async def _read(self, name: str) -> tuple[dict[str, Version], dict[str, tuple]]:
        """Returns the versions of a model, those with unchanged files as they are, and fingerprints of the files."""
        loaded, files = {}, {}
        paths = await asyncio.to_thread(self._sources[name].versions)
        old = self._models[name]
        for number, path in paths.items():
            files[number] = fingerprint(path)  # before it is read, so that a later change is noticed
            if number not in old or files[number] != self._files[name].get(number):
                loaded[number] = await asyncio.to_thread(load, name, path, self._settings)
        made = {
            number: Version(name, number, paths[number], one, self._settings, self._lanes, self._metrics)
            for number, one in loaded.items()
        }
        return {number: made.get(number) or old[number] for number in sorted(paths, key=int)}, files

    def _replace(self, name: str, versions: dict[str, Version], files: dict[str, tuple]) -> None:
        old, self._models[name] = self._models[name], versions
        self._files[name] = files
        for number, version in old.items():
            if versions.get(number) is not version:
                version.retire()
        logger.info("model `%s`: versions %s", name, ", ".join(versions) or "none")

    @property
    def running(self) -> int:
        """The number of runs that have begun and not ended."""
        return self._lanes.running

    async def unload(self, name: str) -> None:
        """Takes a model out of service. Its requests are finished."""
        async with self._locks[name]:
            self._replace(name, {}, {})

    def known(self, name: str) -> str:
        """Returns the name of a model. Raises Refused (404) if there is none."""
        if name not in self._sources:
            near = _core.suggestions(name[:200], list(self._sources), 1)
            raise Refused(
                404,
                f"there is no model `{name[:200]}`",
                f"did you mean `{near[0]}`?" if near else f"the models are {', '.join(self._sources)}",
            )
        return name

    def controlled(self, name: str) -> str:
        """Returns the name of a model that a client wants to load or unload. Raises Refused (403, 404)."""
        if not self._settings.control:
            raise Refused(403, "clients may not load models", "start the server with --control, or send it SIGHUP")
        return self.known(name)

    def versions(self, name: str) -> list[str]:
        """Returns the numbers of a model's versions, the lowest first."""
        return list(self._models[self.known(name)])

    def find(self, name: str, number: str | None) -> Version:
        """Returns a version of a model, by default the highest. Raises Refused (404)."""
        versions = self._models[self.known(name)]
        if not versions:
            raise Refused(404, f"model `{name}` is not loaded", "load it, or ask for another model")
        if number is None:
            return next(reversed(versions.values()))
        if number not in versions:
            raise Refused(
                404, f"model `{name}` has no version {number[:40]}", f"its versions are {', '.join(versions)}"
            )
        return versions[number]

    def index(self) -> list[dict]:
        """Returns all models and versions in the form of the protocol's repository extension."""
        listed = []
        for name, versions in self._models.items():
            listed += [{"name": name, "version": number, "state": "READY", "reason": ""} for number in versions]
            if not versions:
                listed.append({"name": name, "version": "", "state": "UNAVAILABLE", "reason": "unloaded"})
        return listed


def refused_load(error: CompileError) -> Refused:
    """Returns the answer to a client whose model could not be loaded."""
    problem = error.diagnostics[0].message if error.diagnostics else str(error)
    return bad_request(f"the model was not loaded, the old one still answers: {problem}", "correct its file")
