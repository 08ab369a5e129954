"""C projects: built by several compilers, and run on this machine or on emulated processors."""

import concurrent.futures
import os
import shutil
import subprocess
from dataclasses import dataclass, field

from programs import cli

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]


@dataclass
class Toolchain:
    compiler: list
    emulator: list = field(default_factory=list)
    link: list = field(default_factory=list)
    batch: int = 10000  # cases in one program
    target: str = ""  # of kernels as machine code; empty: they are C
    fault: str = ""  # what the emulator prints when it aborts on an instruction that the processor has

    def is_here(self):
        return all(shutil.which(words[0]) for words in (self.compiler, self.emulator) if words)


def _linux(triple, emulator, **more):
    # By default, C99 on s390x computes float in double.
    rounds = ["-fexcess-precision=fast"] if triple.startswith("s390x") else []
    return Toolchain([f"{triple}-gcc", *rounds], emulator.split(), ["-static"], **more)


def _aarch64(target, bits=512):
    """`bits`: of the emulated processor's vectors of SVE."""
    return _linux("aarch64-linux-gnu", f"qemu-aarch64 -cpu max,sve-default-vector-length={bits // 8}", target=target)


def _riscv(target, bits):
    processor = f"rv64,v=true,vlen={bits},vext_spec=v1.0"
    # QEMU 7.2 aborts on roundings of vectors that are not the current one, such as vfcvt.rtz; QEMU 10 does not.
    fault = "decode_save_opc: Assertion"
    return _linux("riscv64-linux-gnu", f"qemu-riscv64 -cpu {processor}", target=target, fault=fault)


def _board(compiler, cpu, emulator, machine, flash, ram, kib):
    """A processor without an operating system. `flash`, `ram`: their addresses; `kib`: of each."""
    link = [
        "--oslib=semihost", "--crt0=hosted", f"-Wl,--defsym=__flash={flash},--defsym=__flash_size={kib << 10}",
        f"-Wl,--defsym=__ram={ram},--defsym=__ram_size={kib << 10},--defsym=__stack_size=0x8000",
    ]  # fmt: skip
    run = [emulator, "-M", *machine.split(), "-display", "none", "-serial", "null"]
    run += ["-semihosting-config", "enable=on,target=native", "-kernel"]
    return Toolchain([f"{compiler}-gcc", *cpu.split(), "--specs=picolibc.specs"], run, link, batch=40)


def _arm_board(cpu, machine, kib=4096):
    return _board("arm-none-eabi", f"-mthumb {cpu}", "qemu-system-arm", machine, "0x0", "0x20000000", kib)


HOST = {"gcc": Toolchain(["gcc"]), "clang": Toolchain(["clang-22"])}
EMULATED = {
    "aarch64": _linux("aarch64-linux-gnu", "qemu-aarch64"),
    "armhf": _linux("arm-linux-gnueabihf", "qemu-arm"),
    "riscv64": _linux("riscv64-linux-gnu", "qemu-riscv64"),
    "s390x": _linux("s390x-linux-gnu", "qemu-s390x"),  # big-endian
    "ppc64": _linux("powerpc64-linux-gnu", "qemu-ppc64"),  # big-endian
    "cortex-m4": _arm_board("-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16", "mps2-an386"),
}
# Kernels as machine code, with vectors.
VECTORS = {
    "neon": _aarch64("armv8-a"),
    "dotprod": _aarch64("armv8.2-a"),
    "i8mm": _aarch64("armv8.6-a"),
    "sve-128": _aarch64("sve-128", 128),
    "sve-256": _aarch64("sve-256", 256),
    "sve-512": _aarch64("sve-512", 512),
    "rvv-128": _riscv("rv64gcv", 128),
    "rvv-256": _riscv("rv64gcv-256", 256),
    "rvv-512": _riscv("rv64gcv-512", 512),
    "armv7-neon": _linux("arm-linux-gnueabihf", "qemu-arm -cpu max", target="armv7-neon"),
}
ALL = HOST | EMULATED | VECTORS
# Processors of networks only (test/anywhere/count_instructions.py). There is no board with a Cortex-M0 and enough
# memory, and a Cortex-M3 runs its code.
BOARDS = {
    "cortex-m0": _arm_board("-mcpu=cortex-m0 -mfloat-abi=soft", "mps2-an385"),
    "cortex-m4": EMULATED["cortex-m4"],
    "cortex-m55": _arm_board("-mcpu=cortex-m55 -mfloat-abi=hard", "mps3-an547", kib=512),
    "rv32": _board(
        "riscv64-unknown-elf", "-march=rv32imac -mabi=ilp32 -mcmodel=medany", "qemu-system-riscv32", "virt -bios none",
        "0x80000000", "0x80400000", 4096,
    ),
}  # fmt: skip


def run(*words, cwd=None, timeout=600):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout + done.stderr


def write(model, folder, *options):
    """`relay compile --emit c-project`; the folder."""
    done = cli("compile", model, "--emit", "c-project", "-o", folder, *options, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def objects(folder):
    """The kernels of a project that are machine code."""
    return sorted(folder.glob("*_kernels.o"))


def sources(folder, weights=True):
    """The C files of a project, its self-test last."""
    files = sorted(path for path in folder.glob("*.c") if path.name != "main.c")
    return [path for path in files if weights or not path.name.endswith("_weights.c")] + [folder / "main.c"]


def self_test(folder, toolchain="gcc", options=("-O2",), arguments=()):
    """Builds a project and runs its self-test; what it prints."""
    tool, program = (ALL | BOARDS)[toolchain], folder / f"test_{toolchain}"
    run(*tool.compiler, *STRICT, *options, "-o", program, *sources(folder), *objects(folder), *tool.link, "-lm")
    return run(*tool.emulator, program, *arguments)


def writable_symbols(folder, options=("-O1",)):
    """Symbols of the model in sections that can be written."""
    found = []
    for path in sources(folder)[:-1]:
        run("gcc", *STRICT, *options, "-c", "-o", folder / "object.o", path)
        found += [line for line in run("nm", folder / "object.o").splitlines() if line.split()[-2] in set("BbCDdGgSs")]
    return found


def _said_by(tool, program, cases):
    """The text of all cases in a program, and the names of those on which the emulator aborts."""
    done = subprocess.run([*tool.emulator, program], capture_output=True, text=True, timeout=1800)
    if not tool.fault or tool.fault not in done.stderr:
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout + done.stderr, []
    said, lost = "", []
    for i, name in enumerate(cases):
        done = subprocess.run([*tool.emulator, program, str(i)], capture_output=True, text=True, timeout=600)
        if tool.fault in done.stderr:
            lost.append(name)
        else:
            assert done.returncode == 0, done.stdout + done.stderr
            said += done.stdout + done.stderr
    return said, lost


def test_together(folder, cases, toolchain, options=("-O1",), aborted=None):
    """Links the self-tests of many projects into a few programs and runs them; the names of projects that fail. Those
    on which the emulator aborts by a fault of its own are added to the list `aborted`, if there is one."""
    tool, failed = ALL[toolchain], []
    out = folder / f"objects_{toolchain}"
    out.mkdir(exist_ok=True)

    def compiled(name):
        made = objects(folder / name)
        for path in sources(folder / name):
            made.append(out / f"{name}_{path.stem}.o")
            run(*tool.compiler, *STRICT, *options, f"-Dmain={name}_main", "-c", "-o", made[-1], path)
        return made

    for begin in range(0, len(cases), tool.batch):
        batch = cases[begin : begin + tool.batch]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            linked = [one for many in pool.map(compiled, batch) for one in many]
        main = out / f"all_{begin}.c"
        calls = "".join(
            f'  if ((only < 0 || only == {i}) && {name}_main()) printf("FAILED {name}\\n");\n'
            for i, name in enumerate(batch)
        )
        main.write_text(
            "#include <stdio.h>\n#include <stdlib.h>\n"
            + "".join(f"int {name}_main(void);\n" for name in batch)
            + "int main(int count, char **words) {\n  const int only = count > 1 ? atoi(words[1]) : -1;\n"
            + f"{calls}  return 0;\n}}\n"
        )
        program = out / f"all_{begin}"
        run(*tool.compiler, *options, "-o", program, main, *linked, *tool.link, "-lm")
        said, lost = _said_by(tool, program, batch)
        if aborted is not None:
            aborted += lost
        now_failed = [line.split()[1] for line in said.splitlines() if line.startswith("FAILED")]
        assert said.count(": ok,") == len(batch) - len(now_failed) - len(lost), said
        failed += now_failed if aborted is not None else now_failed + lost
    return failed
