"""The records of `relay tune`: a SQLite file, and the same as text.

`records` holds the fastest decisions of each group. `relay compile` reads it (src/relay/cache/tuning_records.h); a
record counts only for the same computation, machine and version of the compiler. `measured` holds every measurement, so
that a run that was interrupted goes on where it ended.
"""

import contextlib
import datetime
import pathlib
import sqlite3
import typing

SCHEMA = """
CREATE TABLE IF NOT EXISTS records(
  key TEXT, machine TEXT, compiler TEXT, decisions TEXT, default_us REAL, us REAL, threads INTEGER, kernel TEXT,
  date TEXT, PRIMARY KEY(key, machine, compiler));
CREATE TABLE IF NOT EXISTS measured(
  key TEXT, machine TEXT, compiler TEXT, threads INTEGER, decisions TEXT, family TEXT, estimate REAL, ratio REAL,
  high REAL, fault TEXT, date TEXT);
CREATE INDEX IF NOT EXISTS measured_of ON measured(machine, compiler, threads, key);
"""
HEADING = "# records of relay tune, version 1"


class Record(typing.NamedTuple):
    """The fastest decisions of a group: times in microseconds, of all calls of its kernels in a run."""

    key: str
    machine: str
    compiler: str
    decisions: str
    default_us: float
    us: float
    threads: int
    kernel: str
    date: str

    @property
    def ratio(self) -> float:
        return self.us / self.default_us


class Measurement(typing.NamedTuple):
    """A measurement of a candidate, paired with the default.

    family: of the choice; estimate: estimated time over that of the default; ratio: measured time over that of the
    default, the median over rounds; high: the upper end of its interval; fault: why there is no ratio, or "".
    """

    key: str
    machine: str
    compiler: str
    threads: int
    decisions: str
    family: str
    estimate: float
    ratio: float | None
    high: float | None
    fault: str
    date: str


def today() -> str:
    return datetime.date.today().isoformat()


class Store:
    """A file of records. Every change is committed at once: a killed process loses only its last measurement."""

    def __init__(self, path: str | pathlib.Path):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.file = sqlite3.connect(path, timeout=30, isolation_level=None)
        self.file.executescript(SCHEMA)

    def close(self) -> None:
        self.file.close()

    def records(self) -> list[Record]:
        return [Record(*row) for row in self.file.execute("SELECT * FROM records ORDER BY machine, compiler, key")]

    def keep(self, record: Record) -> None:
        self.file.execute("INSERT OR REPLACE INTO records VALUES(?,?,?,?,?,?,?,?,?)", record)

    def drop(self, key: str, machine: str, compiler: str) -> None:
        self.file.execute("DELETE FROM records WHERE key=? AND machine=? AND compiler=?", (key, machine, compiler))

    def measurements(self, machine: str, compiler: str, threads: int) -> list[Measurement]:
        rows = self.file.execute(
            "SELECT * FROM measured WHERE machine=? AND compiler=? AND threads=?", (machine, compiler, threads)
        )
        return [Measurement(*row) for row in rows]

    def add(self, measurements: list[Measurement]) -> None:
        with contextlib.closing(self.file.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany("INSERT INTO measured VALUES(?,?,?,?,?,?,?,?,?,?,?)", measurements)
            cursor.execute("COMMIT")

    def merge(self, records: list[Record]) -> int:
        """Adds records; of two for the same group, machine and compiler, the one that gains more is kept. Returns the
        number of those that were taken."""
        known = {record[:3]: record for record in self.records()}
        taken = 0
        for record in records:
            other = known.get(record[:3])
            if other is None or record.ratio < other.ratio:
                self.keep(record)
                known[record[:3]] = record
                taken += 1
        return taken


def to_text(records: list[Record]) -> str:
    """A line for each record, with tabs between its fields."""
    rows = ["\t".join(map(str, record)) for record in records]
    return "\n".join([HEADING, "# " + "\t".join(Record._fields), *rows]) + "\n"


def from_text(text: str, name: str) -> list[Record]:
    """The records of such a text; ValueError names the line that is wrong."""
    lines = text.split("\n")
    if lines[0] != HEADING:
        raise ValueError(f"{name} does not begin with '{HEADING}'")
    out = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        try:
            values = [kind(field) for kind, field in zip(_kinds(), fields, strict=True)]
        except ValueError:
            names = ", ".join(Record._fields)
            raise ValueError(f"{name}:{number}: must have {len(Record._fields)} fields: {names}") from None
        record = Record(*values)
        if not (record.default_us > 0 and record.us > 0):
            raise ValueError(f"{name}:{number}: times must be positive, but are {record.default_us} and {record.us}")
        out.append(record)
    return out


def _kinds():
    return [
        {"float": float, "int": int}.get(getattr(kind, "__name__", ""), str) for kind in Record.__annotations__.values()
    ]
