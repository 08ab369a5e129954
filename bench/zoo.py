"""Networks of the zoo (test/zoo/networks.txt) beside other engines, for bench/run.py: drawn by a seed, with random
weights, so that they are others than those which anything was tuned for."""

import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "test" / "zoo"))
from exporter import exported, networks  # noqa: E402

CACHE = ROOT / "models" / "zoo"


def drawn(count, seed):
    """[(name, path)], exported; those that the exporter fails on are replaced by others."""
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
    """`means`: the geometric mean by threads; `table`: of the times."""
    if not rows:
        return ""
    said = "; ".join(f"{mean:.2f} with {threads} thread{'s' * (threads > 1)}" for threads, mean in means.items())
    count = len({row["model"] for row in rows})
    return f"""
## Networks of the zoo

`bench/run.py --zoo {count} --seed {seed}`: of the {len(networks())} networks of `test/zoo/networks.txt`, by
the seed, at batch 1; transformers are small (two layers of 64 numbers). Best peer over ours, geometric mean: {said}.

{table}
"""
