"""The results of a long run, one line each in a file, so that an interrupted run goes on where it ended."""

import dataclasses
import json
import pathlib


@dataclasses.dataclass(frozen=True)
class Result:
    """A case that has ended. kinds: of operators in it. why: "" if it agrees. wall, cpu: its seconds."""

    name: str
    kinds: list[str]
    why: str
    wall: float
    cpu: float


def begin(path: pathlib.Path, name: str) -> None:
    """Adds that a case begins: one that ends its process is found by it."""
    _add(path, {"begun": name})


def add(path: pathlib.Path, result: Result) -> None:
    _add(path, dataclasses.asdict(result))


def _add(path: pathlib.Path, held: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(held) + "\n")


def read(path: pathlib.Path) -> tuple[list[Result], list[str]]:
    """The results in a file, and the names of cases that have begun and not ended. The last line may be cut."""
    results, open_ = {}, {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            held = json.loads(line)
        except ValueError:
            continue
        if "begun" in held:
            open_[held["begun"]] = True
        else:
            results[held["name"]] = Result(**held)
            open_.pop(held["name"], None)
    return list(results.values()), list(open_)


def mend(path: pathlib.Path) -> None:
    """Takes off a line that an interruption has cut, so that further lines begin at their own."""
    text = path.read_text() if path.exists() else ""
    if text and not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1])
