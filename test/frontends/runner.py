"""The comparison of one front end with another program: cases, networks, and the tables of the page.

Each script that ends in `_run.py` compares one format. A run without --only writes its tables into
docs/front-ends.md, and build/front-ends/NAME.json, from which counts.py makes the table of counts. With --only and
--write, only the rows of networks are written, each as soon as its network was compared. A failure ends no run; its end
lists all.
"""

import argparse
import collections
import dataclasses
import datetime
import json
import pathlib
import platform
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterable

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "front-ends.md"
RESULTS = ROOT / "build" / "front-ends"
# Relative to the largest value: sums of up to thousands of products in float32, in another order; of deep networks.
CLOSE, CLOSE_NETWORK = 5e-6, 2e-4


def part(block: str) -> tuple[str, str, str]:
    """The page before a part, its text between its marks, and the page after it."""
    begin, end = f"<!-- {block}: written by make test-frontends -->\n", f"\n<!-- end of {block} -->"
    front, mark, rest = PAGE.read_text().partition(begin)
    held, end_mark, after = rest.partition(end)
    if not mark or not end_mark:
        raise ValueError(f"{PAGE} has no part {block}")
    return front + begin, held, end + after


def write(block: str, lines: Iterable[str]) -> None:
    """Replaces a part of the page between its marks."""
    before, _, after = part(block)
    PAGE.write_text(before + "\n".join(lines) + after)


def merged(held: list[str], head: str, rows: list[str], keys: int = 1) -> list[str]:
    """The rows of a part of the page with those of some networks replaced, or added at the end.

    held: the lines of the part. An earlier table may lack the last columns of `head`: their cells stay empty. keys: the
    number of cells that name a row.
    """
    old_head = next((line for line in held if line.startswith("| ")), head)
    if not head.startswith(old_head):
        raise ValueError(f"the table of the page has the columns {old_head}, not those of {head}")
    kept = [line for line in held if line.startswith("| ") and line != old_head and not line.startswith("| ---")]
    kept = [line + "  |" * (head.count("|") - old_head.count("|")) for line in kept]
    names = [_name_of(line, keys) for line in rows]
    place = next((k for k, line in enumerate(kept) if _name_of(line, keys) in names), len(kept))
    kept[place:] = [*rows, *(line for line in kept[place:] if _name_of(line, keys) not in names)]
    return kept


def _name_of(line: str, keys: int) -> list[str]:
    return line.split(" | ")[:keys]


def difference(got, wanted, least: float = 1e-30) -> float:
    """The largest difference of floats relative to the largest value, which counts as `least` if it is smaller.

    NaN and infinity must be in the same places. Integers differ by nothing or by all.
    """
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise AssertionError(f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}")
    return difference_of_values(got, wanted, least)


def difference_of_values(got, wanted, least: float = 1e-30) -> float:
    """The same, where types and shapes may differ: a format may hold other ones than Relay returns."""
    if got.size != wanted.size:
        raise AssertionError(f"{list(got.shape)} for {list(wanted.shape)}")
    if got.size == 0:
        return 0.0
    got, wanted = (one.astype(np.float64).reshape(-1) for one in (got, wanted))
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    apart = np.where(same, 0, np.abs(got - wanted))
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    return float(np.where(np.isnan(apart), np.inf, apart).max() / max(largest, least))


def worst_of(got: list, wanted: list, compare: Callable = difference) -> float:
    """The largest difference over all results."""
    if len(got) != len(wanted):
        raise AssertionError(f"{len(got)} results for {len(wanted)}")
    return max((compare(a, b) for a, b in zip(got, wanted, strict=True)), default=0.0)


def arrays(results) -> list:
    """The results of a compiled model, one or several, as arrays of NumPy."""
    return [np.asarray(one) for one in (results if isinstance(results, (list, tuple)) else [results])]


@dataclasses.dataclass
class Tally:
    """The cases of one reference: those that agree, by the kinds of operators in them."""

    agree: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    count: int = 0
    failed: int = 0


@dataclasses.dataclass
class _Table:
    """A table for the page. before: lines above it. keys: the number of cells that name a network; 0 in a table of
    others."""

    before: list[str]
    head: str
    rows: list[str]
    keys: int

    def lines(self) -> list[str]:
        ruled = "|".join(" --- " for _ in range(self.head.count("|") - 1))
        return [*self.before, *([""] if self.before else []), self.head, f"|{ruled}|", *self.rows]


class Run:
    """A run of a front end's comparisons. name: the front end's, as in build/front-ends/NAME.json."""

    def __init__(self, name: str, only: str = "", has_networks: bool = True, writes_rows: bool = False,
                 resumes: bool = False):  # fmt: skip
        self.name, self.only, self.has_networks, self._writes_rows = name, only, has_networks, writes_rows
        self.resumes = resumes  # true if it goes on with an interrupted one
        self.earlier = 0.0, 0.0  # seconds, and seconds of CPU, that the interrupted one took
        self.facts: dict[str, object] = {}  # for the table of counts
        self.failures: list[str] = []  # the names of cases and networks
        self._tables: dict[str, _Table] = {}
        self._begin = time.time(), _cpu_seconds()

    @property
    def is_whole(self) -> bool:
        return not self.only

    @property
    def failed(self) -> int:
        return len(self.failures)

    def wants(self, name: str) -> bool:
        return re.search(self.only, name) is not None

    # --- cases --------------------------------------------------------------------------------------------------------
    def case(self, tally: Tally, name: str, compare: Callable[[], float], close: float,
             kinds: Callable[[], Iterable[str]]) -> None:  # fmt: skip
        """Runs a comparison, and counts the kinds of operators in it if it agrees.

        compare: returns the largest difference. close: the largest that agrees.
        """
        tally.count += 1
        try:
            worst = compare()
        except Exception as error:
            print(f"FAILED {name}: {_said(error, 400)}", flush=True)
        else:
            if worst <= close:
                tally.agree.update(set(kinds()))
                return
            print(f"DIFFERS {name}: {worst:.2e}", flush=True)
        tally.failed += 1
        self.failures.append(name)

    def refused(self, tally: Tally, name: str, error: object) -> None:
        """Counts a case that the reference itself cannot run as failed."""
        print(f"FAILED {name}: {error}", flush=True)
        tally.count += 1
        tally.failed += 1
        self.failures.append(name)

    def told(self, tally: Tally, what: str) -> None:
        """Prints how many cases agree. what: "cases agree with MXNet"."""
        print(f"{tally.count - tally.failed} of {tally.count} {what}", flush=True)

    # --- networks -----------------------------------------------------------------------------------------------------
    def networks(self, block: str, head: str, before: Iterable[str] = (), keys: int = 1) -> str:
        """Begins a table of networks for the page, to which network() adds rows. head: its first line. before: lines
        above it. keys: the number of cells that name a row. Returns `block`."""
        self._tables[block] = _Table(list(before), head, [], keys)
        return block

    def network(self, block: str, name: str, compare: Callable[[], tuple[float, str]],
                close: float = CLOSE_NETWORK) -> None:  # fmt: skip
        """Runs a comparison of a whole network. compare: returns the largest difference and the row of the table."""
        if not self.wants(name) or not self.has_networks:
            return
        try:
            worst, row = compare()
        except Exception as error:
            print(f"FAILED {name}: {_said(error, 1000)}", flush=True)
            self.failures.append(name)
            return
        good = worst <= close
        print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}", flush=True)
        self._tables[block].rows.append(row)
        self.failures += [] if good else [name]
        if self._writes_rows and not self.is_whole:
            self._write_row(block, row)

    # --- the page -----------------------------------------------------------------------------------------------------
    def table(self, block: str, head: str, rows: Iterable[str], before: Iterable[str] = ()) -> None:
        """Keeps a table for the page. head: its first line. before: lines above it."""
        self._tables[block] = _Table(list(before), head, list(rows), 0)

    def counted(self, block: str, head: str, imported: Iterable[str], tally: Tally, what: str = "operator",
                more: str = "") -> None:  # fmt: skip
        """Keeps the table of operators with the number of cases that agree. more: text after the counts."""
        names = sorted(imported)
        proven = sum(tally.agree[name] > 0 for name in names)
        rows = [f"| {name} | {tally.agree[name] or ''} |" for name in names]
        self.table(block, head, rows, [f"{len(names)} {what}s are imported; {proven} of them were compared.{more}"])

    def end(self) -> bool:
        """Writes the tables, and the facts for the table of counts; returns true if anything has failed."""
        if self.is_whole:
            self._write_tables()
            self._write_facts()
        if self.failures:
            print(f"{self.name}: {self.failed} failed: {'; '.join(self.failures)}", flush=True)
        return self.failed != 0

    def _write_tables(self) -> None:
        for block, table in self._tables.items():
            if not table.keys or self.has_networks:
                write(block, table.lines())

    def _write_row(self, block: str, row: str) -> None:
        table, (_, held, _) = self._tables[block], part(block)
        rows = merged(held.splitlines(), table.head, [row], table.keys)
        write(block, dataclasses.replace(table, rows=rows).lines())

    def _write_facts(self) -> None:
        wall, cpu = time.time() - self._begin[0], _cpu_seconds() - self._begin[1]
        wall, cpu = wall + self.earlier[0], cpu + self.earlier[1]
        RESULTS.mkdir(parents=True, exist_ok=True)
        about = {
            "date": datetime.date.today().isoformat(), "machine": platform.machine(), "commit": _commit(),
            "wall_seconds": round(wall), "cpu_seconds": round(cpu), "failed": self.failed,
        }  # fmt: skip
        (RESULTS / f"{self.name}.json").write_text(json.dumps(about | self.facts, indent=1) + "\n")


def main(name: str, text: str, run_all: Callable[[Run], None], can_resume: bool = False) -> bool:
    """Runs the comparisons of a front end; returns true if any has failed. text: for --help. can_resume: true if an
    interrupted run leaves its results."""
    parser = argparse.ArgumentParser(description=text)
    only = "cases and networks with this regular expression in their name; writes nothing"
    parser.add_argument("--only", default="", help=only)
    rows = "with --only: writes the rows of these networks, each when it was compared"
    parser.add_argument("--write", action="store_true", help=rows)
    parser.add_argument("--cases", action="store_true", help="only the small cases; keeps the tables of networks")
    if can_resume:
        parser.add_argument("--resume", action="store_true", help="goes on with a run that was interrupted")
    arguments = parser.parse_args()
    resumes = can_resume and arguments.resume
    if resumes and arguments.only:
        parser.error("--resume goes on with a run of everything: leave --only out")
    run = Run(name, arguments.only, not arguments.cases, arguments.write, resumes)
    run_all(run)
    return run.end()


def _said(error: Exception, most: int) -> str:
    return f"{type(error).__name__} {str(error).strip()[:most]}"


def _cpu_seconds() -> float:
    """The CPU time of this process and of the ones that it has started."""
    return sum(
        getattr(resource.getrusage(who), part)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        for part in ("ru_utime", "ru_stime")
    )


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()
