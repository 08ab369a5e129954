"""Runs hostile kinds: python test/hostile/run.py [--only WORDS] [--seed N] [--variants N] [--list]

make test-hostile runs all of them; test/python/security/test_hostile.py one variant of those that are quick.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import run_variant


def all_kinds():
    import arrays
    import artifacts
    import commands
    import coreml_models
    import environments
    import keras_models
    import letters
    import lite_models
    import network_models
    import onnx_models
    import operators
    import paddle_models
    import sizes
    import tensorflow_models
    import texts

    models = (
        coreml_models, keras_models, lite_models, network_models, onnx_models, paddle_models, tensorflow_models,
    )  # fmt: skip
    files = (texts, sizes, letters, *models, operators, artifacts, arrays, environments, commands)
    return [kind for file in files for kind in file.kinds]


def run_all(kinds, variants, seed, jobs, program=None, sanitized=False, say=lambda line: None):
    """The failures, as (kind, variant, what is wrong, stderr)."""
    failures, times = [], []

    def one(kind, index):
        begin = time.time()
        try:
            wrong, err = run_variant(kind, index, variants, seed, program, sanitized)
        except Exception as error:
            wrong, err = f"the kind cannot be made: {type(error).__name__}: {error}", b""
        return kind, index, wrong, err, time.time() - begin

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for job in [pool.submit(one, kind, index) for kind in kinds for index in range(variants)]:
            kind, index, wrong, err, seconds = job.result()
            times.append((seconds, f"{kind.name}/{index}"))
            if wrong:
                failures.append((kind, index, wrong, err))
                say(report(*failures[-1]))
    times.sort(reverse=True)
    return failures, times


def report(kind, index, wrong, err):
    text = err[:600].decode(errors="backslashreplace")
    return f"{kind.name}/{index} ({kind.attacks}; right: {kind.answer}): {wrong}\n    " + text.replace("\n", "\n    ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", help="kinds whose name has this in it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variants", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--short", action="store_true", help="only those that are quick")
    parser.add_argument("--program", type=pathlib.Path, help="another build of relay")
    parser.add_argument("--sanitized", action="store_true", help="it has sanitizers: no limit of memory, more time")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--times", action="store_true", help="the slowest ones")
    args = parser.parse_args()
    kinds = [k for k in all_kinds() if (not args.only or args.only in k.name) and not (args.short and k.long)]
    if args.list:
        for kind in kinds:
            print(f"{kind.name:40} {kind.attacks:70} {kind.answer}")
        print(f"{len(kinds)} kinds")
        return
    failures, times = run_all(
        kinds,
        args.variants,
        args.seed,
        args.jobs,
        args.program and args.program.resolve(),
        args.sanitized,
        lambda s: print(s, flush=True),
    )
    if args.times:
        for seconds, name in times[:20]:
            print(f"{seconds:6.1f} s  {name}")
    print(f"{len(kinds)} kinds, {len(times)} runs, {len(failures)} wrong")
    sys.exit(bool(failures) or not kinds)


if __name__ == "__main__":
    main()
