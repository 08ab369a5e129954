"""tvm.runtime.profiling: Report, the steps of a run with their times."""

from __future__ import annotations

import csv
import io
import json

from ...outside import missing as _missing

__getattr__ = _missing("tvm.runtime.profiling")

_COLUMNS = ["Name", "Duration (us)", "Percent", "Device", "Count"]


class Report:
    """calls: a row for each step; device_metrics: the total time; configuration: the executor."""

    def __init__(self, calls: list[dict], device_metrics: dict, configuration: dict):
        self.calls, self.device_metrics, self.configuration = calls, device_metrics, configuration

    @classmethod
    def of(cls, steps: list[dict]) -> Report:
        """Makes a report of the result of Compiled.profile()."""
        whole = sum(step["us"] for step in steps) or 1.0
        calls = [
            dict(zip(_COLUMNS, (one["kernel"], one["us"], 100 * one["us"] / whole, "cpu0", 1), strict=True))
            for one in steps
        ]
        threads = max((one["threads"] for one in steps), default=1)
        return cls(calls, {"cpu0": {"Duration (us)": whole}}, {"Executor": "VM", "Number of threads": threads})

    def _rows(self, sort: bool, aggregate: bool) -> list[dict]:
        rows: dict = {}
        for place, call in enumerate(self.calls):
            key = call["Name"] if aggregate else place
            row = rows.setdefault(key, {**call, "Duration (us)": 0.0, "Percent": 0.0, "Count": 0})
            for column in ("Duration (us)", "Percent", "Count"):
                row[column] += call[column]
        return sorted(rows.values(), key=lambda row: -row["Duration (us)"]) if sort else list(rows.values())

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Returns a table for people: the longest step first, calls of a kernel added up, the total at the end."""
        rows = self._rows(sort, aggregate)
        if col_sums:
            sums = {column: sum(row[column] for row in rows) for column in ("Duration (us)", "Percent", "Count")}
            rows = [*rows, {"Name": "Sum", "Device": "", **sums}]
        cells = [_COLUMNS, *([_cell(row[column]) for column in _COLUMNS] for row in rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(_COLUMNS))]
        lines = ["  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip() for row in cells]
        settings = [f"{name}: {value}" for name, value in self.configuration.items()]
        return "\n".join([*lines, "", "Configuration", *settings]) + "\n"

    def csv(self) -> str:
        """Returns a line for each step."""
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS)
        writer.writeheader()
        writer.writerows(self.calls)
        return out.getvalue()

    def json(self) -> str:
        """Returns the whole report as JSON."""
        parts = {"calls": self.calls, "device_metrics": self.device_metrics, "configuration": self.configuration}
        return json.dumps(parts)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Reads the output of json()."""
        read = json.loads(text)
        return cls(read["calls"], read["device_metrics"], read["configuration"])

    __str__ = table


def _cell(value) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


__all__ = ["Report"]
