"""The manifest of a published model: its files with their digests, its inputs, its targets with measured figures."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeVar

from .files import corrupt, digest_of_bytes, json_bytes, json_of

FORMAT = "relay-hub/1"
NAME = "relay-manifest.json"
SIGNATURES = "relay-signatures.json"
RECORD = "relay-pull.json"
CARD = "README.md"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")
_LICENCE = re.compile(r"[A-Za-z0-9.+ ()-]{0,128}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_FEATURE = re.compile(r"[+-][A-Za-z0-9_.-]{1,64}")
_MOST_ENTRIES = 1000  # of a list
_MOST_BYTES = 1 << 50  # of a file

T = TypeVar("T")


def is_plain_name(name: str) -> bool:
    """True if a file of this name stays in its folder, and is none of the hub's own."""
    own = {NAME, SIGNATURES, RECORD, CARD.lower()}
    return bool(_PLAIN_NAME.fullmatch(name)) and name.lower() not in own and not name.endswith(".part")


@dataclasses.dataclass(frozen=True)
class File:
    """A file of a published model."""

    name: str  # without a folder
    digest: str  # "sha256:" and 64 hexadecimal digits
    bytes: int


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str
    type: str  # "Tensor[(n, 8), float32]": n is a size that each run chooses


@dataclasses.dataclass(frozen=True)
class Figures:
    """Times of one run, as `relay bench --json` measured them."""

    machine: str
    threads: int
    median_ms: float
    p99_ms: float
    rms_error: float | None  # against the evaluator in float64; unset if it was not measured


@dataclasses.dataclass(frozen=True)
class Target:
    """A processor with the artifact that was compiled for it."""

    target: str  # as --target takes it: "zen4", "zen5,-avx512f"
    cpu: str
    triple: str
    features: tuple[str, ...]  # LLVM's names: those with "+" are needed
    artifact: File
    schedules: File | None
    figures: tuple[Figures, ...]

    @property
    def needed(self) -> frozenset[str]:
        """The features that its code needs."""
        return frozenset(feature for feature in self.features if feature.startswith("+"))


@dataclasses.dataclass(frozen=True)
class Options:
    """The options that all artifacts of a model were compiled with, and that a compilation after a pull takes."""

    opt_level: int
    numerics: str
    shapes: dict[str, list[int]]


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A published model. to_bytes() depends only on the values, and its digest is what a publisher signs."""

    name: str
    kind: str  # "ONNX model"
    licence: str
    relay: str  # the version that compiled the artifacts
    model: File
    beside: tuple[File, ...]  # files that the model reads, such as weights
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    options: Options
    targets: tuple[Target, ...]

    def files(self) -> list[File]:
        """All files: the model, those beside it, and the artifact and the schedules of each target."""
        own = [[target.artifact, *([target.schedules] if target.schedules else [])] for target in self.targets]
        return [self.model, *self.beside, *(file for files in own for file in files)]

    def to_bytes(self) -> bytes:
        return json_bytes({"format": FORMAT, **dataclasses.asdict(self)})

    def digest(self) -> str:
        return digest_of_bytes(self.to_bytes())


class _Reader:
    """Reads values of a manifest that anyone may have written. Each problem is an error (R0402) with its place."""

    def __init__(self, where: str):
        self._where = where

    def wrong(self, place: str, expected: str) -> Exception:
        return corrupt(
            f"{self._where}: {place} must be {expected}", "the publisher has to push the model again; nothing was used"
        )

    def entries(self, value: object, place: str, names: set[str]) -> dict[str, Any]:
        if not isinstance(value, dict) or set(value) != names:
            raise self.wrong(place, f"an object with the entries {', '.join(sorted(names))}")
        return value

    def items(self, value: object, place: str) -> list:
        if not isinstance(value, list) or len(value) > _MOST_ENTRIES:
            raise self.wrong(place, f"a list of at most {_MOST_ENTRIES} entries")
        return value

    def text(self, value: object, place: str, pattern: re.Pattern | None = None, expected: str = "") -> str:
        if not isinstance(value, str) or len(value) > 4096 or not value.isprintable() or "|" in value:
            raise self.wrong(place, "a text of at most 4096 characters on one line without `|`")
        if pattern and not pattern.fullmatch(value):
            raise self.wrong(place, expected)
        return value

    def whole(self, value: object, place: str, most: int) -> int:
        if type(value) is not int or not 0 <= value <= most:
            raise self.wrong(place, f"a whole number from 0 to {most}")
        return value

    def number(self, value: object, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
            raise self.wrong(place, "a number from 0")
        return float(value)

    def file(self, value: object, place: str) -> File:
        given = self.entries(value, place, {"name", "digest", "bytes"})
        name = self.text(given["name"], f"{place}.name")
        if not is_plain_name(name):
            raise self.wrong(
                f"{place}.name",
                "a plain name of letters, digits and _ . + -, without a folder, and not one of the hub's",
            )
        digest = self.text(given["digest"], f"{place}.digest", _DIGEST, "`sha256:` and 64 hexadecimal digits")
        return File(name, digest, self.whole(given["bytes"], f"{place}.bytes", _MOST_BYTES))

    def ports(self, value: object, place: str) -> tuple[Port, ...]:
        ports = []
        for i, one in enumerate(self.items(value, place)):
            given = self.entries(one, f"{place}[{i}]", {"name", "type"})
            ports.append(Port(*(self.text(given[key], f"{place}[{i}].{key}") for key in ("name", "type"))))
        return tuple(ports)

    def figures(self, value: object, place: str) -> Figures:
        given = self.entries(value, place, {field.name for field in dataclasses.fields(Figures)})
        error = given["rms_error"]
        return Figures(
            machine=self.text(given["machine"], f"{place}.machine"),
            threads=self.whole(given["threads"], f"{place}.threads", 1 << 16),
            median_ms=self.number(given["median_ms"], f"{place}.median_ms"),
            p99_ms=self.number(given["p99_ms"], f"{place}.p99_ms"),
            rms_error=None if error is None else self.number(error, f"{place}.rms_error"),
        )

    def target(self, value: object, place: str) -> Target:
        given = self.entries(value, place, {field.name for field in dataclasses.fields(Target)})
        names = self.items(given["features"], f"{place}.features")
        features = [self.text(one, f"{place}.features", _FEATURE, "names such as +avx2") for one in names]
        schedules = given["schedules"]
        figures = self.items(given["figures"], f"{place}.figures")
        return Target(
            target=self.text(given["target"], f"{place}.target"),
            cpu=self.text(given["cpu"], f"{place}.cpu"),
            triple=self.text(given["triple"], f"{place}.triple"),
            features=tuple(features),
            artifact=self.file(given["artifact"], f"{place}.artifact"),
            schedules=None if schedules is None else self.file(schedules, f"{place}.schedules"),
            figures=tuple(self.figures(one, f"{place}.figures[{i}]") for i, one in enumerate(figures)),
        )

    def options(self, value: object, place: str) -> Options:
        given = self.entries(value, place, {field.name for field in dataclasses.fields(Options)})
        shapes = given["shapes"]
        if not isinstance(shapes, dict):
            raise self.wrong(f"{place}.shapes", "an object")
        sizes = {
            self.text(name, f"{place}.shapes"): [
                self.whole(size, f"{place}.shapes", 1 << 40) for size in self.items(dims, f"{place}.shapes")
            ]
            for name, dims in shapes.items()
        }
        numerics = self.text(given["numerics"], f"{place}.numerics")
        return Options(self.whole(given["opt_level"], f"{place}.opt_level", 3), numerics, sizes)

    def manifest(self, value: object) -> Manifest:
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise self.wrong("the entry format", f"`{FORMAT}`, the only one that this version reads")
        names = {field.name for field in dataclasses.fields(Manifest)}
        given = self.entries(value, "the manifest", names | {"format"})
        beside, targets = self.items(given["beside"], "beside"), self.items(given["targets"], "targets")
        name = self.text(given["name"], "name", _PLAIN_NAME, "a plain name of letters, digits and _ . + -")
        found = Manifest(
            name=name,
            kind=self.text(given["kind"], "kind"),
            licence=self.text(given["licence"], "licence", _LICENCE, "an identifier such as Apache-2.0"),
            relay=self.text(given["relay"], "relay"),
            model=self.file(given["model"], "model"),
            beside=tuple(self.file(one, f"beside[{i}]") for i, one in enumerate(beside)),
            inputs=self.ports(given["inputs"], "inputs"),
            outputs=self.ports(given["outputs"], "outputs"),
            options=self.options(given["options"], "options"),
            targets=tuple(self.target(one, f"targets[{i}]") for i, one in enumerate(targets)),
        )
        files = [file.name.lower() for file in found.files()]
        if len(set(files)) != len(files):
            raise self.wrong("the names of files", "different, also without regard to case")
        return found


def manifest_of(content: bytes, where: str) -> Manifest:
    """Returns the manifest in a JSON text, which may come from anyone. Raises an error (R0402) that names `where`."""
    return _Reader(where).manifest(json_of(content, where))
