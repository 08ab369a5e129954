"""Checks the code for CUDA without a GPU: make test-cuda.

    run.py [--only REGEX] [--first] [--jobs N] [--networks mobilenet_v2,resnet18] [--processors sm_80] [--assemble]

1. Relay's declarations of the driver are those of cuda.h.
2. Every operator's examples run on the mock driver, which interprets their PTX, and equal the evaluator.
3. NVIDIA's assembler takes the kernels of every operator and of the networks, for each processor; none may spill
   registers, but for a few that are listed. A table has what the kernels use, by their kind, and
   build/test-cuda/kernels.json has each kernel. A run over everything writes the table, with the text above it, into
   docs/cuda.md.

Ends with 1 if anything failed.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/support"))

import cuda_tools  # noqa: E402

BIN = ROOT / "build/release/bin"
PAGE = ROOT / "docs/cuda.md"
NETWORKS = "mlp,mobilenet_v2,resnet18,minilm_l6"
ABOUT_TABLE = f"""The table has all examples of the operators, and four networks ({NETWORKS.replace(",", ", ")}).
Registers, spills and shared memory are those that ptxas states. Occupancy is the part of a multiprocessor's threads
that run at once, predicted from these and the threads of a block (`target::occupancy`).
"""
# Kernels that spill registers, by the name of their operator: bytes of a thread, stored and loaded, at most.
KNOWN_SPILLS = {
    "dyn_tile": 8,
    "nn_conv2d_nn_bias_add_add": 16,
    "nn_group_norm": 24,
    "nn_gru_steps": 8,
    "nn_modulated_deformable_conv2d": 72,
    "sparse_fill_empty_rows": 8,
    "vision_regular_non_max_suppression": 32,
}


def run_examples(given, pool):
    """Runs the operators' examples on the mock driver. Returns failures by example."""

    def shard(k):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            command = [
                BIN / "relay_op_device",
                "--target",
                "cuda",
                "--only",
                given.only,
                "--shard",
                f"{k}/{given.jobs}",
            ]
            command += ["--json", out.name, *(["--first"] if given.first else [])]
            done = subprocess.run(command, env=cuda_tools.mock_environment(), capture_output=True, text=True)
            text = pathlib.Path(out.name).read_text()
            if not text:
                raise RuntimeError(f"the mock driver: {done.stdout[-2000:]}{done.stderr[-2000:]}")
            return json.loads(text)

    found = list(pool.map(shard, range(1, given.jobs + 1)))
    failed = {case: why for one in found for case, why in one["failed"].items()}
    refused = {}
    for one in found:
        for reason, names in one["refused"].items():
            refused.setdefault(reason, []).extend(names)
    print(
        f"interpreted PTX: {sum(one['passed'] for one in found)} examples passed, "
        f"{sum(one['same_bits'] for one in found)} of them with the bits of the CPU; "
        f"{sum(map(len, refused.values()))} refused, {len(failed)} failed"
    )
    for reason, names in refused.items():
        print(f"  refused, {len(names)} times: {reason}")
    return failed


def check_declarations():
    """Compiles the comparison with cuda.h. Returns messages."""
    header = next((ROOT / "build/test-cuda").rglob("cuda.h"), None)
    if header is None:
        return ["cuda.h is not installed: run make test-cuda, which installs it"]
    command = ["g++", "-std=c++20", "-fsyntax-only", "-I", ROOT / "src", "-isystem", header.parent]
    done = subprocess.run([*command, ROOT / "test/cuda/declarations.cpp"], capture_output=True, text=True)
    return [done.stderr[:2000]] if done.returncode else []


def write_kernels(given, processor, folder, pool):
    """Writes the PTX of operators and networks into the folder. Returns messages of what failed."""
    wrong = []

    def shard(k):
        command = [BIN / "relay_op_kernels", "--target", f"cuda:{processor}", "--to", folder, "--only", given.only]
        command += ["--shard", f"{k}/{given.jobs}", *(["--first"] if given.first else [])]
        return subprocess.run(command, capture_output=True, text=True)

    for done in pool.map(shard, range(1, given.jobs + 1)):
        if done.returncode != 0:
            wrong.append(f"{processor}: {done.stdout.strip()} {done.stderr.strip()[-1000:]}")

    def network(name):
        model = ROOT / f"models/{name}.onnx"
        if not model.exists():
            return f"{model} is not here: make models-fetch"
        out = folder / f"{name}.network.ptx"
        command = [BIN / "relay", "compile", model, "--target", f"cuda:{processor}", "--emit", "ptx", "-o", out]
        done = subprocess.run(command, capture_output=True, text=True)
        return f"{name}: {done.stderr.strip()[-1000:]}" if done.returncode != 0 else ""

    wrong += filter(None, pool.map(network, filter(None, given.networks.split(","))))
    return wrong


def check_kernels(given, processor, pool):
    """Assembles all kernels for a processor. Returns the kernels by file, and what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wrong = write_kernels(given, processor, folder, pool)

        def one(path):
            try:
                return path.name.removesuffix(".ptx"), cuda_tools.assemble(path, processor), ""
            except RuntimeError as error:
                return path.name.removesuffix(".ptx"), [], f"{processor}: {path.name}: {error}"

        found = list(pool.map(one, sorted(folder.glob("*.ptx"))))
    wrong += [problem for _, _, problem in found if problem]
    kernels = {name: [dataclasses.asdict(k) for k in listed] for name, listed, _ in found}
    add_occupancy([k for listed in kernels.values() for k in listed], processor)
    for k in [k for listed in kernels.values() for k in listed]:
        if k["spills"] and not any(name in k["name"] and k["spills"] <= most for name, most in KNOWN_SPILLS.items()):
            wrong.append(f"{processor}: {k['name']} spills {k['spills']} bytes")
    return kernels, wrong


def add_occupancy(kernels, processor):
    """The part of a multiprocessor's threads that run at once, as Relay's figures predict it."""
    command = [BIN / "relay_op_kernels", "--target", f"cuda:{processor}", "--occupancy"]
    lines = "".join(f"{k['threads']} {k['registers']} {k['shared']}\n" for k in kernels)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    for kernel, part in zip(kernels, done.stdout.split(), strict=True):
        kernel["occupancy"] = float(part)


def table(all_kernels):
    """Registers, spills, shared memory and occupancy, by processor and kind of kernel."""
    lines = [
        "| processor, kernels | number | registers, median and most | that spill | most shared memory, KiB "
        "| occupancy, median and least |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for processor, by_file in all_kernels.items():
        for is_network, where in ((False, "operators"), (True, "networks")):
            listed = [k for name, ks in by_file.items() if name.endswith(".network") == is_network for k in ks]
            for kind in cuda_tools.KINDS:
                of_kind = [k for k in listed if k["kind"] == kind]
                if not of_kind:
                    continue
                registers, parts = [k["registers"] for k in of_kind], [k["occupancy"] for k in of_kind]
                lines.append(
                    f"| {processor}, {where}: {kind} | {len(of_kind)} "
                    f"| {statistics.median(registers):.0f}, {max(registers)} | {sum(k['spills'] > 0 for k in of_kind)} "
                    f"| {max(k['shared'] for k in of_kind) / 1024:.1f} "
                    f"| {statistics.median(parts):.0%}, {min(parts):.0%} |".replace("%", " %")
                )
    return "\n".join(lines)


def write_page(text):
    before, mark, rest = PAGE.read_text().partition("<!-- registers: written by make test-cuda -->\n")
    _, end, after = rest.partition("<!-- end of registers -->")
    if not mark or not end:
        raise ValueError(f"{PAGE} has lost the marks around the table of registers")
    PAGE.write_text(f"{before}{mark}{ABOUT_TABLE}\n{text}\n{end}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--networks", default=NETWORKS, help="names in models/; none if empty")
    parser.add_argument("--processors", default=",".join(cuda_tools.PROCESSORS))
    parser.add_argument("--assemble", action="store_true", help="only step 3")
    given = parser.parse_args()
    if not cuda_tools.assembler():
        print("ptxas is not installed: run make test-cuda, which installs it")
        return 1
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        wrong = [] if given.assemble else check_declarations()
        if not given.assemble:
            wrong += [f"{case}: {why}" for case, why in run_examples(given, pool).items()]
        all_kernels = {}
        for processor in given.processors.split(","):
            all_kernels[processor], problems = check_kernels(given, processor, pool)
            wrong += problems
    print(table(all_kernels))
    is_whole = given.only == ".*" and not given.first and given.networks == NETWORKS
    if is_whole and list(all_kernels) == cuda_tools.PROCESSORS and not wrong:
        write_page(table(all_kernels))
    out = ROOT / "build/test-cuda/kernels.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(all_kernels, indent=1))
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
