"""Coverage-guided fuzzing of what reads files of strangers: one libFuzzer program a reader, with the address and
undefined-behaviour sanitizers.

    make fuzz FUZZ_SECONDS=3600   each reader for so long; what is new for coverage goes to build/fuzz/corpus
    make fuzz-short               the kept corpus once, then each reader with a planted fault, which must be found
    make fuzz-python              the readers that are written in Python (python_readers.py), by atheris; --python here

A planted fault is a check of the reader that is left out (src/relay/base/fuzzing.h). `--merge` makes the kept corpus
(corpus/READER) anew, as small as its coverage allows, of itself, of what fuzzing found and of seeds.py.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import python_readers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = ROOT / "build" / "fuzz" / "bin"
READERS = sorted(path.stem for path in HERE.glob("*.cpp"))
PYTHON_READERS = sorted(python_readers.READERS)
LARGEST = 12 << 10  # bytes of a kept case
LARGEST_PYTHON = 32 << 10  # Keras's HDF5 files have 15 KiB and more
# Readers in Python bound their own CPU time and address space (python_readers.py).
LIMITS = ["-timeout=20", "-rss_limit_mb=3000", f"-max_len={2 * LARGEST}"]
LIMITS_PYTHON = ["-timeout=300", "-rss_limit_mb=0", f"-max_len={2 * LARGEST_PYTHON}"]


def fuzzer(reader, *arguments, planted=False, seconds=None):
    """Output and exit status; of what it found the file is in build/fuzz/found."""
    found = ROOT / "build" / "fuzz" / "found"
    found.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=0"}
    environment.pop("RELAY_PLANTED", None)
    if planted:
        environment["RELAY_PLANTED"] = "1"
    dictionary = HERE / f"{reader}.dict"
    words = [BIN / f"relay_read_{reader}", *LIMITS]
    if reader in PYTHON_READERS:
        words = [python_readers.__file__, *LIMITS_PYTHON]
        outcomes = ROOT / "build" / "fuzz" / "outcomes" / f"{reader}.txt"
        outcomes.parent.mkdir(parents=True, exist_ok=True)
        search = f"{pathlib.Path(sys.executable).parent}:{environment['PATH']}"
        environment |= {"RELAY_READER": reader, "RELAY_OUTCOMES": str(outcomes), "PATH": search}
    words += [f"-artifact_prefix={found / (reader + '-')}", "-print_final_stats=1"]
    if dictionary.exists():
        words.append(f"-dict={dictionary}")
    if seconds:
        words.append(f"-max_total_time={seconds}")
    done = subprocess.run([*map(str, words), *map(str, arguments)], capture_output=True, text=True, env=environment,
                          errors="replace")  # fmt: skip
    return done.stderr, done.returncode


def figures(output):
    """Executions and edges covered."""
    runs = re.findall(r"stat::number_of_executed_units: (\d+)", output)
    edges = re.findall(r"cov: (\d+)", output)
    return int(runs[-1]) if runs else 0, int(edges[-1]) if edges else 0


def said(output):
    lines = [line for line in output.splitlines() if not re.match(r"#\d+\s|INFO:|stat::|Dictionary|\s*$", line)]
    return "\n".join("    " + line for line in lines[:40])


def replay(reader):
    """The kept corpus once."""
    cases = sorted((HERE / "corpus" / reader).iterdir())
    output, status = fuzzer(reader, "-runs=0", HERE / "corpus" / reader)
    return status == 0, f"{reader}: {len(cases)} kept cases, {figures(output)[1]} edges", output


def planted(reader, seconds):
    """With its fault the reader must fail: on the kept corpus or on what is made of it."""
    begin = time.time()
    with tempfile.TemporaryDirectory() as folder:
        output, status = fuzzer(reader, folder, HERE / "corpus" / reader, "-seed=1", planted=True, seconds=seconds)
    what = re.search(r"(AddressSanitizer|UndefinedBehaviorSanitizer|libFuzzer|runtime error): ?([\w\- ]+)", output)
    words = f"{what[2].strip()}" if what else "nothing"
    return status != 0, f"{reader}: planted fault: {words}, after {time.time() - begin:.1f} s", output


def fuzz(reader, seconds):
    grown = ROOT / "build" / "fuzz" / "corpus" / reader
    grown.mkdir(parents=True, exist_ok=True)
    more = [folder for folder in (python_seeds_of(reader), HERE / "corpus" / reader) if folder and folder.is_dir()]
    output, status = fuzzer(reader, grown, *more, seconds=seconds)
    runs, edges = figures(output)
    return status == 0, f"{reader}: {runs} executions, {edges} edges, in {seconds} s", output


def python_seeds_of(reader):
    """The folder of seeds of a reader in Python, if they were made; None for others."""
    return ROOT / "build" / "fuzz" / "seeds" / reader if reader in PYTHON_READERS else None


def merge(reader):
    """The kept corpus anew."""
    if reader in PYTHON_READERS:
        import python_seeds as seeds
    else:
        import seeds

    largest = LARGEST_PYTHON if reader in PYTHON_READERS else LARGEST
    kept = HERE / "corpus" / reader
    with tempfile.TemporaryDirectory() as folder:
        made, smallest = pathlib.Path(folder) / "made", pathlib.Path(folder) / "smallest"
        made.mkdir(), smallest.mkdir()
        sources = [path for path in (kept, ROOT / "build" / "fuzz" / "corpus" / reader) if path.exists()]
        for source in sources:
            for path in source.iterdir():
                if path.stat().st_size <= largest:
                    shutil.copy(path, made)
        for index, data in enumerate(seeds.of(reader, largest)):
            (made / f"seed{index}").write_bytes(data)
        output, status = fuzzer(reader, "-set_cover_merge=1", smallest, made)
        if status == 0:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(smallest, kept)
    count = len(list(kept.iterdir())) if kept.exists() else 0
    return status == 0 and count > 0, f"{reader}: {count} cases kept", output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, help="fuzz each reader for so long")
    parser.add_argument("--only", choices=[*READERS, *PYTHON_READERS])
    parser.add_argument("--python", action="store_true", help="the readers that are written in Python")
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    readers = [args.only] if args.only else PYTHON_READERS if args.python else READERS
    if args.merge:
        work = [(merge, reader) for reader in readers]
    elif args.seconds:
        work = [(fuzz, reader, args.seconds) for reader in readers]
    else:
        work = [(replay, reader) for reader in readers] + [(planted, reader, 60) for reader in readers]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for job in [pool.submit(*one) for one in work]:
            passed, line, output = job.result()
            print(line if passed else f"{line}: FAILED\n{said(output)}", flush=True)
            failed += not passed
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
