#!/usr/bin/env python3
"""Measures compiled models on disk and in memory, compared with ONNX Runtime.

    make bench-sizes                                     six models; writes docs/benchmarks/sizes-CPU.md
    bench/sizes.py resnet18 --binaries OLD build/release/bin/relay     this model with each program; writes no page

Each memory figure is the peak resident memory of a separate process (getrusage), libraries included. Times are medians
of five processes. This file imports nothing large, because a child's peak is never below its parent's memory.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELAY = ROOT / "build" / "release" / "bin" / "relay"
MODELS = ["resnet18", "resnet50", "mobilenet_v2", "minilm_l6", "bert_base", "vit_b16"]
THREADS = 2
PROCESSES = 5
ONNX_RUNTIME = """
import sys, onnxruntime, numpy
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
types = {"tensor(float)": "float32", "tensor(int64)": "int64"}
if sys.argv[3] == "run":
    session.run(None, {i.name: numpy.ones(i.shape, types[i.type]) for i in session.get_inputs()})
"""


def peak_mib(command):
    """The peak resident memory of a process, in MiB, and its output."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    if child.returncode:
        sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{said}")
    return used.ru_maxrss / 1024, said


def inputs_of(binary, model):
    """Arguments that set integer inputs to ones, because they may be indices."""
    done = subprocess.run([binary, "inspect", model], capture_output=True, text=True, check=True)
    names = re.findall(r"^input (\S+): Tensor\[.*int64\]", done.stdout, re.MULTILINE)
    return [part for name in names for part in ("--input", f"{name}=ones")]


def measure(binary, model, folder):
    artifact = folder / "model.rart"
    compile_peak, _ = peak_mib([binary, "compile", model, "-o", artifact, "--threads", THREADS])
    run = [binary, "run", artifact, *inputs_of(binary, artifact)]
    run_peak, _ = peak_mib(run)
    said = []
    for _ in range(PROCESSES):
        said.append(json.loads(subprocess.run([*run, "--json"], capture_output=True, text=True, check=True).stdout))
    about = json.loads(subprocess.run([binary, "inspect", artifact, "--json"], capture_output=True, text=True).stdout)
    bench = [binary, "bench", artifact, *run[3:], "--threads", str(THREADS), "--time", "2", "--json"]
    (timed,) = json.loads(subprocess.run(bench, capture_output=True, text=True, check=True).stdout)
    return {
        "model": model.stat().st_size / 1e6,
        "artifact": artifact.stat().st_size / 1e6,
        "made": about.get("prepared_bytes", 0) / 1e6,
        "compile": compile_peak,
        "run": run_peak,
        "load_ms": statistics.median(s["read_ms"] for s in said),
        "median_ms": timed["relay"]["median_us"] / 1e3,
    }


def onnx_runtime(model):
    peak = lambda what: peak_mib([sys.executable, "-c", ONNX_RUNTIME, model, THREADS, what])[0]  # noqa: E731
    return {"session": peak("open"), "session_run": peak("run")}


HEAD = "| model | model, MB | artifact, MB | computed on loading, MB | compile, peak MiB | ONNX Runtime's session | ratio |"
HEAD += " run, peak MiB | ONNX Runtime's | load, ms | run, ms |"


def line(name, row):
    peer, peer_run = row.get("session"), row.get("session_run")
    cells = [name, *(f"{row[k]:.1f}" for k in ("model", "artifact", "made")), f"{row['compile']:.0f}"]
    cells += [f"{peer:.0f}", f"{row['compile'] / peer:.2f}"] if peer else ["-", "-"]
    cells += [f"{row['run']:.0f}", f"{peer_run:.0f}" if peer_run else "-"]
    cells += [f"{row['load_ms']:.1f}", f"{row['median_ms']:.2f}"]
    return f"| {' | '.join(cells)} |"


def page(lines, cpu):
    load = os.getloadavg()[0]
    busy = (
        f"\nThe machine was busy with other work (load {load:.0f}), so the times are too long.\n"
        if load > THREADS + 1
        else ""
    )
    return f"""<!-- Written by bench/sizes.py. Do not edit. -->
# Sizes and memory: {cpu}

Measured {datetime.date.today()} with {THREADS} threads on {cpu}. To repeat: `make bench-sizes`.
{busy}
An artifact contains each weight once. Winograd's form of a weight and the sums of quarters for Strassen's product are computed
when the artifact is loaded (`relay inspect ARTIFACT --constants` lists them). The time of loading includes this work and the
checksums of all parts. A peak is the largest resident memory of a process, libraries included. `relay compile` to a file is
compared with the creation of a session of ONNX Runtime in Python, and `relay run` of the artifact with creating a session and
running it.

{HEAD}
| --- |{" ---: |" * 10}
{chr(10).join(lines)}
"""


def main():
    parser = argparse.ArgumentParser(description="Measures compiled models on disk and in memory.")
    parser.add_argument("models", nargs="*", help=f"default {' '.join(MODELS)}")
    parser.add_argument("--binaries", nargs="+", metavar="RELAY", help="relay programs to compare")
    arguments = parser.parse_args()
    names = arguments.models or MODELS
    subprocess.run([sys.executable, ROOT / "bench" / "networks.py", *names], check=True)
    lines = []
    for name in names:
        model = ROOT / "models" / f"{name}.onnx"
        peer = onnx_runtime(model)
        for binary in arguments.binaries or [RELAY]:
            with tempfile.TemporaryDirectory() as folder:
                row = measure(binary, model, pathlib.Path(folder)) | peer
            said = f"{name} ({binary})" if arguments.binaries else name
            lines.append(line(said, row))
            print(lines[-1], flush=True)
    if arguments.models or arguments.binaries:
        return
    said = subprocess.run([RELAY, "doctor", "--quick"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    native = re.search(r"native = (\S+)", said).group(1)
    cpu = f"{match.group(1).strip() if match else os.uname().machine} ({native})"
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", cpu.lower())).strip("-")
    path = ROOT / "docs" / "benchmarks" / f"sizes-{slug}.md"
    path.write_text(page(lines, cpu))
    print(f"bench: written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
