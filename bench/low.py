#!/usr/bin/env python3
"""Compares int8 and bfloat16 networks with ONNX Runtime and OpenVINO, and with themselves in float32, with one and two
threads.

    make bench-low                                    all of them; writes docs/benchmarks/low-CPU.md
    .venv/bin/python bench/low.py --only mobilenet_v2 --time 2    only this one
    .venv/bin/python bench/low.py --only --page                   measures nothing; writes the page from the rows so far

The models are those of bench/networks.py, quantised by ONNX Runtime's own tool (QDQ, per channel, weights in int8):
"u8s8" has activations in uint8, "s8s8" in int8. They are kept in models/low/. "bf16" is the float32 network with
`--precision bf16`, next to OpenVINO's bfloat16; ONNX Runtime has none on processors. "bf16x3" is the float32 network
with `--precision bf16x3`, next to the peers in float32. Each measurement is `relay bench`, as in bench/run.py. Rows for
which the processor lacks instructions are not measured, and the page says so.

A network takes minutes, so rows are kept in build/low.json with their dates. A later run replaces those that it
measures, and the page has all that are kept. A run of everything, and one with --page, writes it.
"""

import argparse
import json
import logging
import pathlib
import re
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
import low_programs  # noqa: E402
import networks  # noqa: E402
import run  # noqa: E402

FOLDER = ROOT / "models" / "low"
NAMES = ["resnet18", "resnet50", "mobilenet_v2", "densenet121", "minilm_l6", "bert_base", "vit_b16"]
FORMS = ["u8s8", "s8s8", "bf16", "bf16x3"]
PEERS = {"bf16": ["openvino-bf16"]}  # of a form; others have run.ONNX_PEERS
THREADS = [1, 2]
# Flags of /proc/cpuinfo: instructions that a form needs to be faster than float32.
NEEDS = {"bf16": {"amx_bf16", "avx512_bf16"}, "bf16x3": {"amx_bf16"}}
# Goals of the page that depend on the processor: the flags, the form, the text.
GOALS = [
    ({"avx512_vnni", "avx_vnni"}, "int8 at least 2.5 times as fast as Relay's float32 on ResNet-50 (VNNI)"),
    ({"amx_int8"}, "int8 at least 5 times as fast as Relay's float32 on ResNet-50 (AMX)"),
    ({"amx_bf16"}, "bf16 at least 3 times as fast as Relay's float32 (AMX)"),
    ({"amx_bf16"}, "float32 from bfloat16 parts at least 1.4 times as fast as the best float32 peer (AMX)"),
]
BATCHES = 3  # of random inputs, which set the ranges of the activations


class Batches:
    """Samples for the calibration: one dictionary after the other, then None."""

    def __init__(self, samples):
        self.left = list(samples)

    def get_next(self):
        return self.left.pop() if self.left else None


def random_samples(path, count=BATCHES):
    """Random inputs of an ONNX file, as dictionaries."""
    import onnx
    from onnx import helper

    random = np.random.default_rng(0)

    def draw(given):
        kind = given.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        if np.issubdtype(helper.tensor_dtype_to_np_dtype(kind.elem_type), np.floating):
            return random.standard_normal(shape).astype(np.float32)
        most = 1000 if "ids" in given.name and "type" not in given.name else 2  # tokens; segments or a mask
        return random.integers(0, most, shape).astype(np.int64)

    inputs = onnx.load(path, load_external_data=False).graph.input
    return [{i.name: draw(i) for i in inputs} for _ in range(count)]


def quantised(path, form, samples=None):
    """The path of a network that ONNX Runtime quantised, which is made unless it is newer than its network. The samples
    set the ranges of the activations; by default they are random."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    made = FOLDER / f"{path.stem}_{form}.onnx"
    if made.exists() and made.stat().st_mtime >= path.stat().st_mtime:
        return made
    FOLDER.mkdir(parents=True, exist_ok=True)
    logging.getLogger().setLevel(logging.ERROR)
    prepared = FOLDER / f"{path.stem}_prepared.onnx"
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    quantize_static(
        str(prepared),
        str(made),
        Batches(samples or random_samples(prepared)),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8 if form == "u8s8" else QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    prepared.unlink()
    return made


def cpu_flags():
    match = re.search(r"^flags\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(match.group(1).split()) if match else set()


def is_measured(form):
    return form not in NEEDS or bool(NEEDS[form] & cpu_flags())


def measure(name, form, seconds):
    """A row for each thread count. Form None: the network in float32."""
    if form in (None, "bf16", "bf16x3"):
        what = networks.export([name]) + (["--precision", form] if form else [])
    else:
        what = [quantised(*networks.export([name]), form)]
    return run.measure(name, what, PEERS.get(form, run.ONNX_PEERS), THREADS, seconds)


def measure_all(name, forms, seconds):
    """For each form that the processor can show: its rows and those of float32, for each thread count, and the date."""
    wide = measure(name, None, seconds)
    return {
        form: {"low": measure(name, form, seconds), "float32": wide, "date": time.strftime("%Y-%m-%d")}
        for form in filter(is_measured, forms)
    }


def head():
    peers = [run.PEERS[peer] for peer in run.ONNX_PEERS]
    titles = ["model", "threads", "Relay, ms", *(f"{p}, ms" for p in peers), "best / Relay", "95 % confidence interval"]
    titles += ["Relay, float32, ms", *(f"{p}, float32, ms" for p in peers), "float32 / this", "date"]
    return [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]


def line(name, form, low, wide, date):
    """A row: times in the form and in float32, Relay's own speed-up, and the date."""

    def times(row):
        row = row | {"peers": [peer | {"engine": peer["engine"].removesuffix("-bf16")} for peer in row["peers"]]}
        return run.cells(row, run.ONNX_PEERS, lambda engine: f"{engine['median_us'] / 1e3:.2f}")

    peer = run.best(low)
    interval = "{:.2f} to {:.2f}".format(*peer["ratio_interval"]) if peer["ratio_interval"] else "too few rounds"
    busy = "" if low["quiet"] and wide["quiet"] else ", busy"
    speed_up = wide["relay"]["median_us"] / low["relay"]["median_us"]
    cells = [f"{name}, {form}", str(low["threads"]), *times(low), f"{peer['ratio']:.2f}", interval + busy]
    return f"| {' | '.join(cells + times(wide) + [f'{speed_up:.2f}', date])} |"


def summary(rows):
    """Lines on the goals: the geometric mean, the rows that are behind, what this processor cannot show."""
    lines = []
    for threads in THREADS:
        of = [row for row in rows if row["threads"] == threads and row["form"] != "bf16x3"]
        parts = [row for row in rows if row["threads"] == threads and row["form"] == "bf16x3"]
        if not of:
            continue
        behind = [
            f"{row['model']} {row['form']} ({run.best(row)['ratio']:.2f})" for row in of if run.best(row)["ratio"] < 1
        ]
        title = f"- {threads} thread{'s' if threads > 1 else ''}"
        lines.append(
            f'{title}: geometric mean of "best / Relay" {run.mean(of, threads):.2f} '
            f"(goal 1.15); behind on {len(behind)} of {len(of)}{': ' if behind else ''}{', '.join(behind)}."
        )
        if parts:
            lines.append(
                f"{title}, float32 from bfloat16 parts: {run.mean(parts, threads):.2f} of the best float32 peer."
            )
    flags = cpu_flags()
    missing = [text for needed, text in GOALS if not needed & flags]
    missing += [f"{form} (needs {' or '.join(sorted(NEEDS[form]))})" for form in FORMS if not is_measured(form)]
    if not {"avx512_vnni", "avx_vnni"} & flags:
        lines.append(
            "- This processor has no dot products of bytes. The peers add pairs of products of u8s8 in 16 bits, which "
            "saturate for weights of eight bits; Relay's sums are exact ([what that costs](accuracy.md))."
        )
    if missing:
        lines.append("- Not measured, since this processor lacks the instructions: " + "; ".join(missing) + ".")
    return lines


def page(kept, load):
    lines, rows, versions = head(), [], {}
    for name, form, low, wide, date in rows_of(kept["networks"]):
        versions |= dict.fromkeys(peer["version"] for peer in low["peers"])
        rows.append(low | {"form": form})
        lines.append(line(name, form, low, wide, date))
    missing = [name for name in NAMES if name not in kept["networks"]]
    if missing:
        lines += ["", f"Not measured yet: {', '.join(missing)}."]
    crashes = ' "crashed": the engine ended itself on this network.' if any(low.get("crashed") for low in rows) else ""
    programs = ""
    if "programs" in kept:
        programs = f"""
Programs with recursion and loops, quantised by `relay quantize` with all layers on integers
(`bench/low_programs.py`). The error is that on the samples, which are random; one other character changes the rest of a
text.

{chr(10).join(kept["programs"])}
"""
    return f"""<!-- Written by bench/low.py. Do not edit. -->
# Networks in int8 and bfloat16: {run.cpu_name()}

Medians in milliseconds. The networks of `bench/networks.py`, with batch 1, were
quantised by ONNX Runtime's own tool: QDQ, per channel, weights in int8, activations in uint8 (u8s8) or int8 (s8s8).
The engines take turns in short bursts on the same input, each in its own process, as in `make bench`.
"best / Relay" is the best peer's time over ours, as the median over the rounds. The columns of float32 are the same
network before it was quantised, measured with it. Rows of bf16x3 are `--precision bf16x3`, next to peers in float32.
Peers: {", ".join(versions)}. ONNX Runtime has all graph optimisations on; OpenVINO is
set to LATENCY with one stream, and INFERENCE_PRECISION_HINT is f32, or bf16 in rows of bf16.{crashes}
{run.busy(load)}
{chr(10).join(summary(rows))}

{chr(10).join(lines)}
{programs}
To repeat: `make bench-low`.
"""


def rows_of(networks_kept):
    """(network, form, its row, the row of float32, date) of all that is kept, in the order of the lists."""
    for name in NAMES:
        for form in FORMS:
            of = networks_kept.get(name, {}).get(form)
            for low, wide in zip(of["low"], of["float32"], strict=True) if of else ():
                yield name, form, low, wide, of["date"]


def main():
    parser = argparse.ArgumentParser(description="Compares int8 and bfloat16 networks with ONNX Runtime and OpenVINO.")
    parser.add_argument("--only", nargs="*", choices=NAMES, help="only these")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS, help="default: all")
    parser.add_argument(
        "--time", type=float, default=6, metavar="S", help="seconds per model and thread count (default 6)"
    )
    parser.add_argument("--go-on", action="store_true", help="leave out what is kept from an earlier run")
    parser.add_argument("--page", action="store_true", help="write the page from all that is kept")
    arguments = parser.parse_args()
    load = run.machine_load()
    everything = arguments.only is None and arguments.forms == FORMS
    file = ROOT / "build" / "low.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    kept.setdefault("networks", {})

    def keep():
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(kept, indent=1))

    if arguments.only != []:
        run.install_peers()
        print("\n".join(head()), flush=True)
    for name in NAMES if arguments.only is None else arguments.only:
        of = kept["networks"].setdefault(name, {})
        forms = [form for form in arguments.forms if not (arguments.go_on and form in of)]
        if any(map(is_measured, forms)):
            of |= measure_all(name, forms, arguments.time)
            kept["load"] = load
            keep()
        for row in rows_of({name: of}):
            print(line(*row), flush=True)
    print("\n".join(summary([low | {"form": form} for _, form, low, _, _ in rows_of(kept["networks"])])))
    if everything and not (arguments.go_on and "programs" in kept):
        kept["programs"] = []
        for row in low_programs.table():
            kept["programs"].append(row)
            print(row, flush=True)
        keep()
    if everything or arguments.page:
        path = ROOT / "docs" / "benchmarks" / f"low-{run.slug(run.cpu_name())}.md"
        path.write_text(page(kept, kept.get("load", 0)))
        print(f"bench: wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
