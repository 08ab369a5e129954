"""Records figures that were written as JSON.

relay bench model.onnx --json > figures.json
python -m relay.trackers figures.json --to mlflow:figures.db --config model=model.onnx
"""

from __future__ import annotations

import json
import sys

from ..arguments import ArgumentParser
from ..errors import CompileError
from .figures import flat, name_of, record


def main(words: list[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m relay.trackers", description=__doc__.splitlines()[0])
    parser.add_argument("figures", help="a JSON file, such as `relay bench --json` writes; - for standard input")
    parser.add_argument("--to", required=True, metavar="KIND:PATH", help="lines, tensorboard, wandb or mlflow")
    parser.add_argument("--config", action="append", default=[], metavar="NAME=VALUE", help="what was measured")
    parser.add_argument("--artifact", action="append", default=[], metavar="FILE", help="a file that belongs to it")
    given = parser.parse_args(words)
    try:
        with sys.stdin if given.figures == "-" else open(given.figures, encoding="utf-8") as file:
            figures = json.load(file)
        config = dict(one.split("=", 1) if "=" in one else (one, "") for one in given.config)
        config = {"figures": given.figures, **config}
        record(given.to, config, figures, given.artifact)
    except (OSError, json.JSONDecodeError, CompileError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{name_of(config)}: {len(flat(figures))} figures in {given.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
