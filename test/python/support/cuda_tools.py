"""The mock CUDA driver, and NVIDIA's assembler where it is installed."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
MOCK = ROOT / "build/release/librelay_mock_cuda.so"
PROCESSORS = ["sm_75", "sm_80", "sm_90a"]


def mock_environment(**more):
    """The environment of a process whose CUDA driver is the mock."""
    return os.environ | {"RELAY_CUDA_LIBRARY": str(MOCK)} | more


def assembler():
    """The path of ptxas: that of make test-cuda, or the machine's; none if neither is installed."""
    for path in (ROOT / "build/test-cuda").rglob("bin/ptxas"):
        path.chmod(path.stat().st_mode | 0o100)
        return str(path)
    return shutil.which("ptxas")


def disassembler():
    """The path of nvdisasm: that of make test-cuda, or the machine's; none if neither is installed."""
    for path in (ROOT / "build/test-cuda").rglob("bin/nvdisasm"):
        path.chmod(path.stat().st_mode | 0o100)
        return str(path)
    return shutil.which("nvdisasm")


def machine_code(path, processor):
    """The machine code (SASS) of a file of PTX, as text, or raises subprocess.CalledProcessError."""
    binary = f"{path}.{processor}.cubin"
    subprocess.run([assembler(), "--gpu-name", processor, "--output-file", binary, str(path)], check=True)
    return subprocess.run([disassembler(), "-c", binary], check=True, capture_output=True, text=True).stdout


@dataclasses.dataclass
class Kernel:
    """The figures of a kernel that ptxas prints, sizes in bytes; its kind and its threads are read from the PTX."""

    name: str
    kind: str = ""
    threads: int = 0
    registers: int = 0
    stack: int = 0
    spills: int = 0
    shared: int = 0


KINDS = (
    "products on tensor cores, copied asynchronously",
    "products on tensor cores",
    "blocks with shared memory",
    "blocks without shared memory",
    "tasks",
)


def kinds_and_threads(text):
    """The kind and the threads of a block of each kernel in PTX, by name."""
    found = {}
    for part in re.split(r"(?=\.entry )", text)[1:]:
        head, _, body = part.partition("{")
        # A kernel without blocks of its own says only the most threads that it is launched with.
        needs = re.search(r"\.reqntid (\d+)", head)
        most = re.search(r"\.(?:reqntid|maxntid) (\d+)", head)
        if "mma.sync" in body:
            kind = KINDS[0] if "cp.async" in body else KINDS[1]
        elif needs:
            kind = KINDS[2] if "bar.sync" in body or ".shared" in body else KINDS[3]
        else:
            kind = KINDS[4]
        found[re.match(r"\.entry (\w+)", part)[1]] = kind, int(most[1])
    return found


def assemble(path, processor):
    """The kernels of a file of PTX, or raises RuntimeError with the messages of ptxas."""
    command = [assembler(), "-v", "--gpu-name", processor, "--output-file", os.devnull, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip()[:2000])
    kernels = []
    known = kinds_and_threads(pathlib.Path(path).read_text())
    for line in done.stderr.splitlines() + done.stdout.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            kernels.append(Kernel(found[1], *known[found[1]]))
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            kernels[-1].stack, kernels[-1].spills = int(found[1]), int(found[2]) + int(found[3])
        elif found := re.search(r"Used (\d+) registers", line):
            kernels[-1].registers = int(found[1])
            if shared := re.search(r"(\d+) bytes smem", line):
                kernels[-1].shared = int(shared[1])
    return kernels
