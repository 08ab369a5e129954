"""Rows of a page that takes hours: each is kept in a file as soon as it is measured, with its date.

A later run replaces the rows that it measures, or leaves them out (`--go-on`), and the page has all that are kept. This
file imports nothing large, because a child's peak of memory is never below that of its parent.
"""

import datetime
import json


class Rows:
    """Rows by section and name: Rows(path).put("models", "resnet18", {"gain": 1.1})."""

    def __init__(self, path):
        self.path = path
        self.sections = json.loads(path.read_text()) if path.exists() else {}

    def of(self, section):
        """The rows of a section by name, in the order in which they were first measured."""
        return self.sections.get(section, {})

    def left(self, section, names, go_on):
        """The names that are still to be measured."""
        return [name for name in names if not (go_on and name in self.of(section))]

    def put(self, section, name, row):
        """Keeps a row. A process that is killed meanwhile leaves the file as it was."""
        self.sections.setdefault(section, {})[name] = row | {"date": str(datetime.date.today())}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.sections, indent=1))
        fresh.replace(self.path)


def dates(rows):
    """ "2026-11-30", or "2026-11-30 to 2026-12-01"."""
    days = sorted({row["date"] for row in rows})
    return days[0] if days[:-1] == [] else f"{days[0]} to {days[-1]}"
