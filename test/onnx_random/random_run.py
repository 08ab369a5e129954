"""Random ONNX models in Relay beside ONNX Runtime.

    make test-onnx-random N=5000                     seeds 0 .. 4999; a failure is made small, printed and saved
    make test-onnx-random RANDOM='--seed 17 --show'  one seed, with its model

A model that Relay refuses counts as a failure too. Of one with named dimensions, which may contradict each other as
types, that holds for the same model with numbers in their place.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from random_compare import fault, minimise, text  # noqa: E402
from random_model import generate  # noqa: E402

BAD = ("wrong", "refused", "crash")


def verdict(seed):
    """(seed, operators, what came of it: "passed", one of BAD, .., the words)."""
    os.environ.setdefault("RELAY_CACHE", "off")
    model = generate(seed)
    if not model.nodes:
        return seed, [], "empty", ""
    operators = [node.op_type for node in model.nodes]
    found = fault(model)
    if found is None:
        return seed, operators, "passed", ""
    if found[0] == "refused" and model.named:
        found = fault(dataclasses.replace(model, named={})) or ("refused for named dimensions", found[1])
    kind, words = found
    return seed, operators, kind, words


def shown(seed, kind, words, folder):
    model = generate(seed)
    plain = dataclasses.replace(model, named={})
    small, outputs = minimise(plain if fault(plain) else model, kind)
    found = fault(small, outputs)
    path = folder / f"random-{seed}.onnx"
    path.write_bytes(small.proto(outputs).SerializeToString())
    words = found[1] if found else words
    return f"seed {seed}: {kind}: {words}\n{text(small, outputs)}\n  saved as {path}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", action="store_true", help="print the model of --seed")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "onnx-random")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.seed is not None:
        model = generate(args.seed)
        if args.show:
            print(text(model, model.outputs()))
    seeds = [args.seed] if args.seed is not None else range(args.first, args.first + args.count)
    begin, counts, operators = time.time(), collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for seed, names, kind, words in pool.map(verdict, seeds, chunksize=4):
            counts[kind] += 1
            operators.update(set(names))
            if kind in BAD:
                print(shown(seed, kind, words, args.folder), flush=True)
    print(f"{sum(counts.values())} models of {len(operators)} operators in {time.time() - begin:.0f} s:", dict(counts))
    bad = sum(counts[kind] for kind in BAD)
    sys.exit(bool(bad) or counts["passed"] == 0)


if __name__ == "__main__":
    main()
