"""Compares Relay with LiteRT on the small models of test/python/tflite and on real ones from packages.

    make test-frontends                          all of them; writes the tables of docs/front-ends.md
    test/frontends/tflite_run.py --only CONV     cases with this in their name; writes nothing
    test/frontends/tflite_run.py --models        only the real models

LiteRT runs its reference kernels (BUILTIN_REF), or for operators that these lack its other ones, without delegates. The
times of real models are those of LiteRT as its users run it, with its default delegate, on one thread as Relay.
"""

import argparse
import collections
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "build" / "test-frontends"), str(ROOT / "test" / "python" / "tflite"), str(ROOT / "dev")]

import elementwise_cases  # noqa: E402, F401
import fetch_models  # noqa: E402
import lite_cases  # noqa: E402
import numpy as np  # noqa: E402
import quantised_cases  # noqa: E402, F401
import recurrent_cases  # noqa: E402, F401
import segment_cases  # noqa: E402, F401
import shape_cases  # noqa: E402, F401
import wide_cases  # noqa: E402, F401
import window_cases  # noqa: E402, F401
from ai_edge_litert.interpreter import Interpreter, OpResolverType  # noqa: E402
from report import write  # noqa: E402

import relay  # noqa: E402

MODELS = ["face_landmark", "iris_landmark", "face_detection_back", "face_detection_front", "face_detection_full_range",
          "face_detection_full_range_sparse", "basic_pitch_lite", "okay_nabu", "hey_jarvis", "hey_mycroft",
          "alexa", "star_trek_activation_phrase_v2"]  # fmt: skip
STEPS = 60  # runs of a model with variables
# Relative to the largest value: sums of up to thousands of products in float32, in another order.
CLOSE, CLOSE_MODEL = 5e-6, 2e-4
# The reference kernel leaves out the last neighbour of each channel; the other one, and TensorFlow, do not.
WRONG_REFERENCE = {"LOCAL_RESPONSE_NORMALIZATION"}


def interpreter(content, resolver=OpResolverType.BUILTIN_REF, **more):
    it = Interpreter(model_content=content, experimental_op_resolver_type=resolver, **more)
    it.allocate_tensors()
    return it


def reference(content, name=""):
    try:
        if name in WRONG_REFERENCE:
            return interpreter(content, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        return interpreter(content)
    except Exception as error:
        if "Didn't find op" not in str(error):
            raise
        return interpreter(content, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


def run(it, inputs):
    for detail, array in zip(it.get_input_details(), inputs, strict=True):
        it.set_tensor(detail["index"], np.asarray(array, detail["dtype"]))
    it.invoke()
    return [it.get_tensor(detail["index"]) for detail in it.get_output_details()]


def as_list(result):
    return [np.asarray(one) for one in (result if isinstance(result, (list, tuple)) else [result])]


def difference(a, b):
    """The largest difference: of integers as it is, of floats relative to the largest value of the reference."""
    if a.shape != b.shape or a.dtype != b.dtype:
        raise AssertionError(f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}")
    if a.size == 0:
        return 0.0
    scale = max(np.abs(b).max(), 1e-30) if b.dtype.kind == "f" else 1
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max() / scale)


def forms_of(content):
    """The operators of a model, and the types of their data."""
    it = reference(content)
    details = {detail["index"]: detail for detail in it.get_tensor_details()}
    for op in it._get_ops_details():
        if op["op_name"] == "DELEGATE":
            continue
        types = {np.dtype(details[i]["dtype"]).name for i in [*op["inputs"], *op["outputs"]] if i in details}
        quantised = types & {"int16"} or types & {"int8", "uint8"}
        one_of = quantised or (types & {"float32"}) or types or {"float32"}
        yield op["op_name"], min(one_of, key=lambda name: (name == "bool", name))


def run_cases(only):
    """Compares all cases; returns the number of failures, and by operator the cases that agree in each type."""
    agree = collections.defaultdict(collections.Counter)
    failed = count = 0
    for case in lite_cases.CASES:
        if only not in case.name:
            continue
        count += 1
        content, inputs = case.model()
        try:
            wanted = run(reference(content, case.name), inputs)
            ours = as_list(relay.compile(content)(*inputs, *case.states))
            worst = max(difference(a, b) for a, b in zip(ours, wanted, strict=not case.states))
        except Exception as error:
            print(f"FAILED {case.name}: {str(error).strip()[:300]}")
            failed += 1
            continue
        if worst > (0 if case.exact else CLOSE):
            print(f"DIFFERS {case.name}: {worst:.2e}")
            failed += 1
            continue
        for op, kind in set(forms_of(content)):
            agree[op][kind] += 1
    print(f"{count - failed} of {count} cases agree with LiteRT")
    return failed, agree


def best_times(calls, seconds=3.0):
    """The least time of each call, in milliseconds; the calls take turns."""
    best, end = [float("inf")] * len(calls), time.perf_counter() + seconds
    for call in calls:
        call()
    while time.perf_counter() < end:
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - begin)
    return [one * 1e3 for one in best]


def run_model(name, path):
    """A row of the table: the largest difference over several inputs, and the times on one thread."""
    content, rng = path.read_bytes(), np.random.default_rng(1)
    it = reference(content)
    details = it.get_input_details()
    shapes = {d["name"]: d["shape"].tolist() for d in details}
    module, _ = relay.frontend.from_tflite(content, shape_dict=shapes)
    model = relay.compile(module, threads=1)
    names = [port.name for port in model.inputs]
    attrs = module["main"].attrs
    starts = dict(zip(attrs.get("state_names", ()), attrs.get("state_starts", ()), strict=True))
    states = {p.name: np.full(p.shape, starts[p.name], p.dtype) for p in model.inputs[len(details) :]}

    def make(detail):
        if detail["dtype"] == np.float32:
            return rng.uniform(0, 1, detail["shape"]).astype(np.float32)
        return rng.integers(-128, 128, detail["shape"]).astype(detail["dtype"])

    worst, outputs = 0.0, len(it.get_output_details())
    for _ in range(STEPS if states else 3):
        inputs = [make(detail) for detail in details]
        wanted = run(it, inputs)
        results = as_list(model(*inputs, *(states[n] for n in names[len(inputs) :])))
        states = dict(zip((port.name for port in model.outputs[outputs:]), results[outputs:], strict=True))
        worst = max(worst, *(difference(a, b) for a, b in zip(results, wanted, strict=False)))
    fast = interpreter(content, OpResolverType.AUTO, num_threads=1)
    ours, theirs = best_times(
        [lambda: model(*inputs, *(states[n] for n in names[len(inputs) :])), lambda: run(fast, inputs)]
    )
    exact = details[0]["dtype"] != np.float32
    good = worst == 0 if exact else worst < CLOSE_MODEL
    print(f"{'' if good else 'DIFFERS '}{name}: {worst:.1e}, {ours:.3f} ms, LiteRT {theirs:.3f} ms", flush=True)
    size, error = f"{path.stat().st_size:,}", "0" if worst == 0 else f"{worst:.1e}"
    return good, f"| {name} | {size} | {error} | {ours:.3f} | {theirs:.3f} |"


def run_models(names):
    failed, rows = 0, []
    for name, path in zip(names, fetch_models.fetch(names), strict=True):
        try:
            good, row = run_model(name, path)
            rows.append(row)
        except Exception as error:
            print(f"FAILED {name}: {str(error).strip()[:1500]}", flush=True)
            good = False
        failed += not good
    return failed, rows


def operators_table(agree):
    text = (ROOT / "src/relay/frontend/tflite/operators.def").read_text()
    imported = re.findall(r"^RELAY_TFLITE\((\w+),", text, re.MULTILINE)
    lines = ["| operator | agrees with LiteRT: cases by type of data |", "| --- | --- |"]
    for op in imported:
        counts = ", ".join(f"{kind} {n}" for kind, n in sorted(agree.get(op, {}).items()))
        lines.append(f"| {op} | {counts} |")
    proven = sum(op in agree for op in imported)
    return [f"{len(imported)} operators are imported; {proven} of them were compared.", "", *lines]


def main():
    parser = argparse.ArgumentParser(description="Compares TFLite models with LiteRT.")
    parser.add_argument("--only", default="", help="cases and models with this in their name")
    parser.add_argument("--models", action="store_true", help="only the real models")
    arguments = parser.parse_args()
    failed = 0
    if not arguments.models:
        failed, agree = run_cases(arguments.only)
        if not arguments.only:
            write("TFLite operators", operators_table(agree))
    names = [name for name in MODELS if arguments.only in name]
    missed, rows = run_models(names)
    if not arguments.only:
        machine = relay.compile(ROOT / "examples/tour/dense.relay").report["target"]["name"]
        text = f"Times are the least of a run on one thread of a processor of the kind `{machine}`, in turn."
        head = ["| model | bytes | largest difference | Relay, ms | LiteRT, ms |", "| --- | --- | --- | --- | --- |"]
        write("TFLite models", [text, "", *head, *rows])
    return failed + missed != 0


if __name__ == "__main__":
    sys.exit(main())
