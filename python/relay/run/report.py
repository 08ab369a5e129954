"""The report of a compilation: a dictionary that prints as a summary."""

from __future__ import annotations


def _counted(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def _bytes(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


class Report(dict):
    """The entries of Compiled.report, by name; str() of it is a few lines for a reader."""

    def __str__(self) -> str:
        counts, constants, target = self["counts"], self["constants"], self["target"]
        sizes = ", ".join(
            [
                _counted(counts["groups"], "group"),
                _counted(counts["kernels"], "kernel"),
                _counted(counts["calls"], "kernel call") + " a run",
            ]
        )
        lines = [
            sizes,
            f"for {target['name']}, {_counted(self['threads'], 'thread')}, level {self['opt_level']}, "
            f"{self['numerics']}, {self['executor']} executor, {self['tier']} code",
            f"constants: {_bytes(constants['bytes'])}, of a model with {_bytes(constants['model_bytes'])}",
        ]
        if self["ms"]["total"] is not None:
            lines.append(f"compiled in {self['ms']['total']:.0f} ms")
        lines += [f"note: {note}" for note in [*self["notes"], *self["refusals"]]]
        most = 5
        groups = sorted(self["groups"], key=lambda group: -group["flops"])
        lines += [f"{group['name']}: {group['rule']}" for group in groups[:most]]
        if len(groups) > most:
            lines.append(f"and {_counted(len(groups) - most, 'group')} more")
        return "\n".join([*lines, f"entries: {', '.join(self)}"])
