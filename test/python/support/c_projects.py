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

    def is_here(self):
        return all(shutil.which(words[0]) for words in (self.compiler, self.emulator) if words)


def _linux(triple, emulator):
    # By default, C99 on s390x computes float in double.
    rounds = ["-fexcess-precision=fast"] if triple.startswith("s390x") else []
    return Toolchain([f"{triple}-gcc", *rounds], [emulator], ["-static"])


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
ALL = HOST | EMULATED
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


def sources(folder, weights=True):
    """The C files of a project, its self-test last."""
    files = sorted(path for path in folder.glob("*.c") if path.name != "main.c")
    return [path for path in files if weights or not path.name.endswith("_weights.c")] + [folder / "main.c"]


def self_test(folder, toolchain="gcc", options=("-O2",), arguments=()):
    """Builds a project and runs its self-test; what it prints."""
    tool, program = (ALL | BOARDS)[toolchain], folder / f"test_{toolchain}"
    run(*tool.compiler, *STRICT, *options, "-o", program, *sources(folder), *tool.link, "-lm")
    return run(*tool.emulator, program, *arguments)


def writable_symbols(folder, options=("-O1",)):
    """Symbols of the model in sections that can be written."""
    found = []
    for path in sources(folder)[:-1]:
        run("gcc", *STRICT, *options, "-c", "-o", folder / "object.o", path)
        found += [line for line in run("nm", folder / "object.o").splitlines() if line.split()[-2] in set("BbCDdGgSs")]
    return found


def test_together(folder, cases, toolchain, options=("-O1",)):
    """Links the self-tests of many projects into a few programs and runs them; the names of projects that fail."""
    tool, failed = ALL[toolchain], []
    out = folder / f"objects_{toolchain}"
    out.mkdir(exist_ok=True)

    def compiled(name):
        objects = []
        for path in sources(folder / name):
            objects.append(out / f"{name}_{path.stem}.o")
            run(*tool.compiler, *STRICT, *options, f"-Dmain={name}_main", "-c", "-o", objects[-1], path)
        return objects

    for begin in range(0, len(cases), tool.batch):
        batch = cases[begin : begin + tool.batch]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [one for many in pool.map(compiled, batch) for one in many]
        main = out / f"all_{begin}.c"
        calls = "".join(f'  if ({name}_main()) printf("FAILED {name}\\n");\n' for name in batch)
        main.write_text(
            "#include <stdio.h>\n"
            + "".join(f"int {name}_main(void);\n" for name in batch)
            + f"int main(void) {{\n{calls}  return 0;\n}}\n"
        )
        program = out / f"all_{begin}"
        run(*tool.compiler, *options, "-o", program, main, *objects, *tool.link, "-lm")
        said = run(*tool.emulator, program)
        failed += [line.split()[1] for line in said.splitlines() if line.startswith("FAILED")]
        assert said.count(": ok,") == len(batch) - len(failed), said
    return failed
