"""Compiles the kernels of every operator's examples and of some networks for devices that no driver here has. Nothing
of it runs.

    compile.py [--for gfx90a,hip:gfx90a,metal] [--only REGEX] [--first] [--jobs N] [--networks mobilenet_v2,resnet18]

    gfx90a, gfx1100           OpenCL C for GPUs of AMD: code objects, with the functions of libclc
    spirv                     OpenCL C to SPIR-V, which spirv-val checks
    hip:gfx90a, hip:gfx1100   HIP C++ for GPUs of AMD: code objects, with the header of stand_ins/hip
    cuda:sm_80                the same HIP C++ as CUDA C++, to machine code by NVIDIA's compiler (NVRTC)
    metal                     Metal, checked as C++ for OpenCL with the header stand_ins/metal_stdlib

clang compiles all others. For AMD, the kernels are counted that registers do not hold, which then spill into memory.
Ends with 1 if anything failed.
"""

import argparse
import concurrent.futures
import ctypes
import functools
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
STAND_INS = ROOT / "test/devices/stand_ins"
ALL = "gfx90a,gfx1100,spirv,hip:gfx90a,hip:gfx1100,cuda:sm_80,metal"
NVRTC = "nvidia/*/lib/libnvrtc.so.*"
OPENCL_C = ["clang-22", "-x", "cl", "-cl-std=CL1.2", "-DRELAY_FMA", "-O2", "-Werror=implicit-function-declaration"]


def printed(command):
    """Returns what a program prints. Raises RuntimeError with what it says if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stdout + done.stderr)[-1500:])
    return done.stdout


def kernels_of(code_object):
    """The kernels that a code object has, and how many of them spill registers."""
    notes = printed(["llvm-readelf-22", "--notes", code_object])
    spills = [int(count) for count in re.findall(r"\.vgpr_spill_count: *(\d+)", notes)]
    return len(spills), sum(count > 0 for count in spills)


def compile_for_amd(source, processor):
    out = source.with_suffix(f".{processor}.co")
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
    printed([*OPENCL_C, *target, "-Xclang", "-mlink-builtin-bitcode", "-Xclang", FUNCTIONS, source, "-o", out])
    return kernels_of(out)


def compile_hip(source, processor):
    out = source.with_suffix(f".{processor}.co")
    device = ["--cuda-device-only", "--no-gpu-bundle-output", f"--offload-arch={processor}", "-nogpuinc", "-nogpulib"]
    printed(["clang-22", "-x", "hip", "-O2", *device, "-I", STAND_INS, source, "-o", out])
    return kernels_of(out)


@functools.cache
def nvrtc():
    found = sorted((ROOT / "build/test-devices/intel/lib").glob(f"python*/site-packages/{NVRTC}"))
    if not found:
        raise RuntimeError("NVRTC is not installed: make test-devices installs it")
    return ctypes.CDLL(str(found[0]))


def compile_cuda(source, processor):
    """Makes machine code. Returns the kernels that it has, and none: NVRTC does not tell what spills."""
    program, library = ctypes.c_void_p(), nvrtc()
    options = [f"--gpu-architecture={processor}", "--fmad=false", "--std=c++17"]
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    text = source.read_bytes()
    library.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None)
    try:
        if library.nvrtcCompileProgram(program, len(options), given) != 0:
            size = ctypes.c_size_t()
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.value.decode(errors="replace")[:1500])
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return text.count(b'\nextern "C" __global__ '), None


def check_spirv(module):
    printed(["spirv-val", "--target-env", "opencl2.2", module])
    return printed(["spirv-dis", module]).count("OpEntryPoint Kernel "), None


def compile_to_spirv(source, _):
    out = source.with_suffix(".spv")
    printed([*OPENCL_C, "--target=spirv64v1.2", "-c", source, "-o", out])
    return check_spirv(out)


def compile_metal(source, _):
    out = source.with_suffix(".spv")
    language = ["-x", "clcpp", "-cl-std=clc++2021", "-Wno-unknown-attributes", "-Werror=implicit-function-declaration"]
    printed(["clang-22", *language, "-O1", "--target=spirv64v1.2", "-I", STAND_INS, "-c", source, "-o", out])
    return check_spirv(out)


def way_of(name):
    """The target of Relay, the ending of its source, the function that compiles it, and the processor."""
    if name == "spirv":
        return "opencl:generic", "cl", compile_to_spirv, ""
    if name == "metal":
        return "metal", "metal", compile_metal, ""
    if name.startswith("hip:"):
        processor = name.removeprefix("hip:")
        return f"rocm:{processor}", "hip", compile_hip, processor
    if name.startswith("cuda:"):
        return "rocm", "hip", compile_cuda, name.removeprefix("cuda:")
    return "opencl:generic", "cl", compile_for_amd, name


def written(given, target, ending, folder):
    """Writes the code of operators and networks into the folder. Returns messages of what failed."""
    wrong = []
    command = [BIN / "relay_op_kernels", "--target", target, "--to", folder, "--only", given.only]
    try:
        printed([*command, *(["--first"] if given.first else [])])
    except RuntimeError as error:
        wrong.append(f"operators: {error}")
    for name in filter(None, given.networks.split(",")):
        model = ROOT / f"models/{name}.onnx"
        try:
            code = printed([BIN / "relay", "opt", model, "--target", target, "--emit", "c"])
            (folder / f"{name}.network.{ending}").write_text(code)
        except RuntimeError as error:
            wrong.append(f"{name}: {error}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--for", dest="targets", default=ALL, help=ALL)
    parser.add_argument("--only", default=".*", help="regular expression for names of operators")
    parser.add_argument("--first", action="store_true", help="one example of each operator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--networks", default=NETWORKS, help="names in models/; none if empty")
    given = parser.parse_args()
    wrong, folders = [], {}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for one in given.targets.split(","):
            target, ending, compile_one, processor = way_of(one)
            if target not in folders:
                folders[target] = pathlib.Path(name) / str(len(folders))
                folders[target].mkdir()
                wrong += written(given, target, ending, folders[target])
            sources = sorted(folders[target].glob(f"*.{ending}"))
            wrong += [] if sources else [f"{one}: there is no source"]

            def attempt(source, compile_one=compile_one, processor=processor, one=one):
                try:
                    return compile_one(source, processor)
                except RuntimeError as error:
                    return f"{one}: {source.name}: {error}"

            found = list(pool.map(attempt, sources))
            wrong += [line for line in found if isinstance(line, str)]
            counts = [pair for pair in found if not isinstance(pair, str)]
            spilling = [spills for _, spills in counts if spills is not None]
            print(
                f"{one}: {sum(kernels for kernels, _ in counts)} kernels in {len(sources)} files compile"
                + (f"; {sum(spilling)} of them spill registers" if spilling else ""),
                flush=True,
            )
    for line in wrong:
        print(f"FAILED {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
