"""Compiles the OpenCL C of every operator's examples and of some networks for devices that no driver here has: GPUs of
AMD (code objects of ROCm), and any device that reads SPIR-V. Nothing of it runs.

    compile.py [--for gfx90a,gfx1100,spirv] [--only REGEX] [--first] [--jobs N] [--networks mobilenet_v2,resnet18]

clang compiles the code, with the functions of libclc; SPIR-V is checked by spirv-val. Counts the kernels that AMD's
registers do not hold, which then spill into memory. Ends with 1 if anything failed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"
NETWORKS = "mlp,mobilenet_v2,resnet18,minilm_l6"
FUNCTIONS = "/usr/lib/clc/amdgcn-amd-amdhsa.bc"
OPENCL_C = ["clang-22", "-x", "cl", "-cl-std=CL1.2", "-DRELAY_FMA", "-O2", "-Werror=implicit-function-declaration"]


def printed(command):
    """Returns what a program prints. Raises RuntimeError with what it says if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stdout + done.stderr)[-1500:])
    return done.stdout


def compile_for_amd(source, processor):
    """Makes a code object. Returns the kernels that it has, and how many of them spill registers."""
    out = source.with_suffix(f".{processor}.co")
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
    printed([*OPENCL_C, *target, "-Xclang", "-mlink-builtin-bitcode", "-Xclang", FUNCTIONS, source, "-o", out])
    notes = printed(["llvm-readelf-22", "--notes", out])
    spills = [int(count) for count in re.findall(r"\.vgpr_spill_count: *(\d+)", notes)]
    return len(spills), sum(count > 0 for count in spills)


def compile_to_spirv(source, _):
    """Makes a module of SPIR-V and checks it. Returns the kernels that it has, and 0."""
    out = source.with_suffix(".spv")
    printed([*OPENCL_C, "--target=spirv64v1.2", "-c", source, "-o", out])
    printed(["spirv-val", "--target-env", "opencl2.2", out])
    return source.read_text().count("\n__kernel "), 0


def written(given, folder):
    """Writes the code of operators and networks into the folder. Returns messages of what failed."""
    wrong = []
    command = [BIN / "relay_op_kernels", "--target", "opencl:generic", "--to", folder, "--only", given.only]
    try:
        printed([*command, *(["--first"] if given.first else [])])
    except RuntimeError as error:
        wrong.append(f"operators: {error}")
    for name in filter(None, given.networks.split(",")):
        model = ROOT / f"models/{name}.onnx"
        try:
            code = printed([BIN / "relay", "opt", model, "--target", "opencl:generic", "--emit", "c"])
            (folder / f"{name}.network.cl").write_text(code)
        except RuntimeError as error:
            wrong.append(f"{name}: {error}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--for", dest="targets", default="gfx90a,gfx1100,spirv", help="processors of AMD, and spirv")
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--networks", default=NETWORKS, help="names in models/; none if empty")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        folder = pathlib.Path(name)
        wrong = written(given, folder)
        sources = sorted(folder.glob("*.cl"))
        for target in given.targets.split(","):
            kernels = spilling = 0

            def one(source, target=target):
                try:
                    return (compile_to_spirv if target == "spirv" else compile_for_amd)(source, target)
                except RuntimeError as error:
                    return f"{target}: {source.name}: {error}"

            for found in pool.map(one, sources):
                if isinstance(found, str):
                    wrong.append(found)
                else:
                    kernels, spilling = kernels + found[0], spilling + found[1]
            spills = "" if target == "spirv" else f"; {spilling} of them spill registers"
            print(f"{target}: {kernels} kernels in {len(sources)} files compile{spills}", flush=True)
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong or not sources)


if __name__ == "__main__":
    sys.exit(main())
