"""Networks for bench/run.py that are drawn from the zoo (test/zoo/networks.txt) by a seed, with random weights, so that
Relay was not tuned for them."""

import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "test" / "zoo"))
from exporter import exported, networks  # noqa: E402

CACHE = ROOT / "models" / "zoo"


def drawn(count, seed):
    """[(name, path)] of exported networks; others replace those that the exporter fails on."""
    subprocess.run(["make", "-s", ".venv-zoo/ready"], cwd=ROOT, check=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    found = []
    for entry in random.Random(seed).sample(networks(), len(networks())):
        if len(found) == count:
            break
        name = ".".join(entry)
        path = CACHE / f"{name}.onnx"
        if why := exported(*entry, path, ROOT / ".venv-zoo" / "bin" / "python"):
            print(f"bench: {name} is left out: {why}", flush=True)
        else:
            found.append((name, path))
    return found


def section(rows, seed, means, table):
    """`means`: {threads: geometric mean}; `table`: the table of times."""
    if not rows:
        return ""
    said = "; ".join(f"{mean:.2f} with {threads} thread{'s' * (threads > 1)}" for threads, mean in means.items())
    count = len({row["model"] for row in rows})
    return f"""
## Networks of the zoo

`bench/run.py --zoo {count} --seed {seed}` draws from the {len(networks())} networks of `test/zoo/networks.txt`, with
batch 1. Transformers are small (two layers of width 64). The geometric mean of the best peer's time over ours: {said}.

{table}
"""
