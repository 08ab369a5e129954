"""The card of a published model, README.md: its inputs, its targets and the figures that its manifest has."""

from __future__ import annotations

from .manifest import Figures, Manifest, Target


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"


def _row(target: Target, one: Figures | None) -> str:
    start = [target.target, _size(target.artifact.bytes)]
    if one is None:
        return f"| {' | '.join([*start, 'not measured', '', '', '', ''])} |"
    error = "" if one.rms_error is None else f"{one.rms_error:.3g}"
    figures = [one.machine, str(one.threads), f"{one.median_ms:.4g}", f"{one.p99_ms:.4g}", error]
    return f"| {' | '.join([*start, *figures])} |"


def card_of(manifest: Manifest) -> str:
    """Returns the card as Markdown. Its first lines are the properties that Hugging Face reads."""
    rows = [_row(target, one) for target in manifest.targets for one in target.figures or (None,)]
    options = manifest.options
    sizes = "".join(f", {name} {dims}" for name, dims in options.shapes.items())
    lines = [
        "---",
        "library_name: relay",
        *([f"license: {manifest.licence.lower()}"] if manifest.licence else []),
        "---",
        f"# {manifest.name}",
        "",
        f"{manifest.kind}, {_size(manifest.model.bytes)}, compiled by Relay {manifest.relay} "
        f"(-O{options.opt_level}, {options.numerics}{sizes}).",
        "",
        *(f"- input `{port.name}`: `{port.type}`" for port in manifest.inputs),
        *(f"- output `{port.name}`: `{port.type}`" for port in manifest.outputs),
        "",
        "| target | artifact | machine | threads | median ms | p99 ms | RMS error |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *rows,
    ]
    return "\n".join(lines) + "\n"
