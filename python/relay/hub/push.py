"""Publishes a model: compiles it for targets, and writes it with its schedules, artifacts and figures."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence

from .. import _core
from ..errors import CompileError, bad_option, not_supported, told, wrong_input
from ..run.compiled import load
from .compiler import compiled, schedules_of
from .files import corrupt, digest_of, json_of, small_bytes
from .layouts import Reference, publish
from .manifest import Figures, File, Manifest, Options, Port, Target, is_plain_name, manifest_of
from .processors import described
from .signatures import sign

# The forms that docs/security.md has guarantees for and that are one file, with files beside it.
_FORMS = ("ONNX model", "Relay program", "TFLite model", "Keras model", "TensorFlow model")


def this_machine() -> str:
    """Returns the name of this machine's processor, as Linux shows it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else os.uname().machine


def figures_of(path: str, names: set[str], machine: str) -> list[Figures]:
    """Returns the figures in a file that `relay bench --json` wrote for a model of one of these names."""
    help = "write it with: relay bench MODEL --json > figures.json"
    entries = json_of(small_bytes(path), path)
    try:
        if not isinstance(entries, list) or not entries:
            raise ValueError
        for one in entries:
            if os.path.basename(one["model"]) not in names:
                raise wrong_input(
                    f"{path} has figures of {one['model']}, but the published model is {' or '.join(sorted(names))}",
                    help,
                )
        return [
            Figures(
                machine,
                one["threads"],
                one["relay"]["median_us"] / 1000,
                one["relay"]["p99_us"] / 1000,
                one["relay"]["rms_error"],
            )
            for one in entries
        ]
    except CompileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise corrupt(f"{path} does not have the figures of a measurement", help) from error


def _copied(paths: Sequence[str], folder: str) -> list[File]:
    """Copies the model and the files beside it to a folder, where nothing else is found that the model may read."""
    files = []
    for path in paths:
        name = os.path.basename(path)
        if not is_plain_name(name) or os.path.exists(os.path.join(folder, name)):
            raise bad_option(
                f"{name!r} cannot be the name of a file in a hub",
                "rename it: letters, digits and the signs _ . + -, different for each file, and not README.md",
            )
        if not os.path.isfile(path):
            raise told(
                "file_not_found", f"there is no file {path}", "name the model's file, and the files that it reads"
            )
        copy = os.path.join(folder, name)
        shutil.copyfile(path, copy)
        files.append(File(name, *digest_of(copy)))
    return files


def _written(folder: str, name: str) -> File:
    return File(name, *digest_of(os.path.join(folder, name)))


def _target(path: str, given: str, options: Options, figures: Sequence[Figures]) -> Target:
    """Compiles a model, writes the artifact and the schedules beside it, and returns their entry."""
    folder, name = os.path.split(path)
    report = compiled(path, os.path.join(folder, ".rart"), given, options)
    processor = described(report["target"])
    text = (
        processor.name + given.strip().removeprefix("native") if given.strip().startswith("native") else given.strip()
    )
    base = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{os.path.splitext(name)[0]}-{text}")
    if os.path.exists(os.path.join(folder, f"{base}.rart")):
        raise bad_option(
            f"the target {text} is given twice", "give each target once; native is this machine's processor"
        )
    os.rename(os.path.join(folder, ".rart"), os.path.join(folder, f"{base}.rart"))
    schedules = schedules_of(path, given, options) if report["counts"]["groups"] else ""
    if schedules:
        with open(os.path.join(folder, f"{base}.schedules.txt"), "w", encoding="utf-8") as file:
            file.write(schedules)
    return Target(
        text,
        processor.cpu,
        processor.triple,
        tuple(sorted(processor.features)),
        _written(folder, f"{base}.rart"),
        _written(folder, f"{base}.schedules.txt") if schedules else None,
        tuple(figures),
    )


def ports_of(path: str, options: Options) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Returns the inputs and the outputs of a model's file."""
    module = load(path, shapes=options.shapes)
    if options.shapes:
        module = module.bind_shapes(options.shapes)
    result = module["main"].checked_type.ret_type
    types = [str(one) for one in getattr(result, "fields", [result])]
    numbered = [f"output.{i}" for i in range(len(types))] if len(types) > 1 else ["output"]
    names = _core.output_names(module) or numbered
    inputs = tuple(Port(name, kind) for name, kind in _core.ports(module))
    return inputs, tuple(Port(name, kind) for name, kind in zip(names, types, strict=True))


def push(
    model: str,
    place: str,
    targets: Sequence[str] = ("native",),
    *,
    beside: Sequence[str] = (),
    figures: Mapping[str, str] | None = None,
    machine: str | None = None,
    licence: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
    opt_level: int = 2,
    numerics: str = "fp32",
    key: str | None = None,
) -> Manifest:
    """Compiles a model for targets, and publishes it with its schedules and artifacts at a place (layouts.py).

    beside: files that the model reads, such as external weights. figures: for each target, a file that `relay bench
    --json` wrote on the machine `machine`; by default this one. key: a private key, in PEM, that signs the manifest.
    """
    at = Reference.of(place)
    if not targets:
        raise bad_option("no target is given", "give native, or the name of a processor")
    if unknown := set(figures or {}) - set(targets):
        raise bad_option(f"figures are for {', '.join(sorted(unknown))}", f"the targets are: {', '.join(targets)}")
    options = Options(opt_level, numerics, {name: list(sizes) for name, sizes in (shapes or {}).items()})
    with tempfile.TemporaryDirectory(prefix="relay-hub-") as folder:
        first, *others = _copied([model, *beside], folder)
        path = os.path.join(folder, first.name)
        kind = _core.form_of(path)
        if kind not in _FORMS:
            raise not_supported(f"{model} is a {kind}, which a hub does not take", f"a hub takes: {', '.join(_FORMS)}")
        stem = os.path.splitext(first.name)[0]
        entries = []
        for target in targets:
            measured = (figures or {}).get(target)
            names = {first.name, f"{stem}.rart"}
            rows = figures_of(measured, names, machine or this_machine()) if measured else []
            entries.append(_target(path, target, options, rows))
        inputs, outputs = ports_of(path, options)
        manifest = Manifest(
            stem,
            kind,
            licence,
            _core.version,
            first,
            tuple(others),
            inputs,
            outputs,
            options,
            tuple(entries),
        )
        manifest_of(manifest.to_bytes(), "the manifest")  # refuses texts here that a pull would refuse
        signed = [sign(manifest.digest(), key)] if key else []
        publish(at, manifest, {file.name: os.path.join(folder, file.name) for file in manifest.files()}, signed)
    return manifest
