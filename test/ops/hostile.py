"""Every operator with hostile attributes, sizes and values: refused with a diagnostic, or computed as the evaluator
does.

    .venv/bin/python test/ops/hostile.py                       each attribute and input of every example, in turn
    .venv/bin/python test/ops/hostile.py --only nn.pad --show  some operators; prints each call and its answer

A change is one attribute (0, negative, 2^31, 2^62, an empty list, NaN), one size (0, 1, 2^31, 2^62), one axis more or
less, another element type, or extreme elements. Failures are: a crash, more than 20 seconds, an internal error, an
exception that is not a diagnostic, a message about a schedule, other values than the evaluator's. Values are seeded.
"""

import argparse
import collections
import math
import os
import pathlib
import random
import re
import sys
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "test")]

SECONDS, MEBIBYTES = 20, 6144
MAX_RUN_BYTES, MAX_EVAL_ELEMENTS = 1 << 24, 1 << 14
INTS = (0, -1, 1, 7, 2**31, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**63))
LISTS = ("[]", "[0]", "[-1]", "[3]", f"[{2**31}]", f"[{2**62}]", f"[{-(2**62)}]", "[1, 1, 1, 1, 1, 1, 1]")
FLOATS = ("0f", "-1f", "nanf", "inff", "-3e38f", "3e38f", "1e-40f")
SIZES = (0, 1, 2**31, 2**62)
DTYPES = ("bool", "int8", "uint64", "float16", "float64", "float8_e4m3fn", "int4")
HEADER = '#[version = "0.0.5"]\n'


def tensors(text):
    """Types of an example's input, "(3, 5) int64" or "[(3,), (4,)]", as (is a tuple, [(shape, dtype)])."""
    found = re.findall(r"\(([^)]*)\)\s*([a-z0-9_]*)", text)
    return text.startswith("["), [
        ([int(d) for d in dims.split(",") if d.strip()], dtype or "float32") for dims, dtype in found
    ]


def split_top(text):
    """The parts of text between commas that stand in no bracket or string."""
    parts, depth, quoted = [""], 0, False
    for c in text:
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "[(") - (c in "])")
        if c == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def attributes(text):
    return dict(part.split("=", 1) for part in split_top(text))


def texts_of(value, kind):
    """The replacements of an attribute."""
    if kind.startswith("list of lists"):
        return ["[]", "[[]]", "[[0, 0]]", f"[[{2**62}, {2**62}]]", f"[[{-(2**62)}, 0]]"] + [
            value.replace(number, str(new), 1)
            for number in re.findall(r"-?\d+", value or "")[:1]
            for new in (2**62, 2**31, -1)
        ]
    if kind.startswith("list of ints") or kind.startswith("list of dim") or kind.startswith("int or list"):
        return [*LISTS] + [
            re.sub(r"-?\d+", str(new), value or "", count=1)
            for new in (0, -1, 2**31, 2**62, 2**63 - 1, -(2**63))
            if re.search(r"\d", value or "")
        ]
    if kind.startswith("int"):
        return [str(v) for v in INTS]
    if kind.startswith("float"):
        return list(FLOATS)
    if kind.startswith("string"):
        return ['""', '"x"', '"NCHW"', '"' + "a" * 5000 + '"']
    if kind.startswith("dtype"):
        return [f'"{dtype}"' for dtype in DTYPES]
    if kind == "bool":
        return ["True", "False"]
    return ["[]", '[""]', "[1]"]


def with_input(inputs, k, change):
    """The inputs with the first tensor of the k-th changed, or nothing."""
    is_tuple, parts = inputs[k]
    new = change(*parts[0]) if parts else None
    return None if new is None else [*inputs[:k], (is_tuple, [new, *parts[1:]]), *inputs[k + 1 :]]


def calls(op):
    """[(what is changed, inputs, attributes, values)] of an operator's examples."""
    kinds = {name: kind for name, _, kind, _, _ in op["attributes"]}
    seen = set()
    for number, (given, text) in enumerate(op["examples"]):
        inputs, attrs = [tensors(one) for one in given], attributes(text)
        yield "as it is", inputs, attrs, "usual"
        for values in ("extreme", "negative"):
            yield f"{values} values", inputs, attrs, values
        for name, kind in kinds.items():
            for new in texts_of(attrs.get(name), kind):
                if (name, new) not in seen:
                    yield f"{name}={new}", inputs, attrs | {name: new}, "usual"
                seen.add((name, new))
        if number > 0:  # other types and sizes of the first example are enough
            continue
        for k in range(len(inputs)):
            rank = len(inputs[k][1][0][0]) if inputs[k][1] else 0
            changes = [(f"input {k} {d}", lambda shape, _, d=d: (shape, d)) for d in DTYPES]
            changes.append((f"input {k} of rank 0", lambda _, dtype: ([], dtype)))
            changes.append((f"input {k} of rank {rank + 1}", lambda shape, dtype: ([2, *shape], dtype)))
            for axis in range(rank):
                for size in SIZES:

                    def resized(shape, dtype, axis=axis, size=size):
                        return [*shape[:axis], size, *shape[axis + 1 :]], dtype

                    changes.append((f"input {k} with {size} along axis {axis}", resized))
            for what, change in changes:
                if (new := with_input(inputs, k, change)) is not None:
                    yield what, new, attrs, "usual"
        sizes = {d for _, parts in inputs for shape, _ in parts for d in shape}
        for old in sizes:
            for size in SIZES:
                new = [(t, [([size if d == old else d for d in s], y) for s, y in parts]) for t, parts in inputs]
                yield f"{size} for {old}", new, attrs, "usual"


def program(name, inputs, attrs):
    def type_of(shape, dtype):
        return (
            f"Tensor[({', '.join(map(str, shape))}{',' * (len(shape) == 1)}), {dtype}]"
            if shape
            else f"Tensor[(), {dtype}]"
        )

    parameters, arguments = [], []
    for is_tuple, parts in inputs:
        names = [f"%x{len(parameters) + i}" for i in range(len(parts))]
        parameters += [f"{n}: {type_of(*part)}" for n, part in zip(names, parts, strict=True)]
        arguments.append(f"({', '.join(names)}{',' * (len(names) == 1)})" if is_tuple else names[0])
    arguments += [f"{key}={value}" for key, value in attrs.items()]
    return f"{HEADER}def @main({', '.join(parameters)}) {{ {name}({', '.join(arguments)}) }}"


def array_of(shape, dtype, values, rng):
    import ml_dtypes

    numpy = np.dtype(dtype) if hasattr(np, dtype) or dtype == "bool" else np.dtype(getattr(ml_dtypes, dtype))
    if values == "usual":
        return rng.integers(0, 3, shape).astype(numpy) if numpy.kind in "iub" else rng.random(shape).astype(numpy)
    if dtype == "bool" or not hasattr(np, dtype):
        return rng.integers(0, 2, shape).astype(numpy)
    if numpy.kind in "iu":
        limits = np.iinfo(numpy)
        given = (
            [limits.min, limits.max, limits.max - 1]
            if values == "extreme"
            else [max(limits.min, -1), max(limits.min, -2), 0]
        )
    else:
        given = [np.nan, np.inf, -np.inf, np.finfo(numpy).max] if values == "extreme" else [-1, -0.0, -1e9]
    with np.errstate(over="ignore"):
        return np.array(given).astype(numpy)[rng.integers(0, len(given), shape)]


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fV" and not str(a.dtype).startswith(("bfloat", "float")):
        return np.array_equal(a, b)
    loose = 1e-2 if a.dtype.itemsize <= 2 else 1e-4
    with np.errstate(all="ignore"):
        return np.allclose(a.astype("float64"), b.astype("float64"), rtol=loose, atol=loose, equal_nan=True)


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [value]


def answer(job):
    """("refused", message), ("ok", ""), ("only compiled", "") or ("wrong", what)."""
    import relay

    name, what, inputs, attrs, values = job
    rng = np.random.default_rng(zlib.crc32(f"{name} {what}".encode()))
    shapes = [part for _, parts in inputs for part in parts]
    count = [math.prod(shape) for shape, _ in shapes]
    try:
        module = relay.parse(program(name, inputs, attrs))
        model = relay.compile(module, threads=1)
        if max(count, default=0) * 8 > MAX_RUN_BYTES:
            return "only compiled", ""
        arrays = [array_of(*part, values, rng) for part in shapes]
        got, refused = None, None
        try:
            got = flat(model(*arrays))
        except relay.CompileError as error:
            refused = error
        if sum(count) + sum(np.asarray(g).size for g in got or ()) > MAX_EVAL_ELEMENTS:
            return ("ok", "not evaluated") if got else ("refused", str(refused))
        try:
            want = flat(relay.evaluate(module, arrays))
        except relay.CompileError as error:
            return ("refused", str(error)) if refused else ("wrong", f"runs, but the evaluator says {error}")
        if refused:
            return "wrong", f"is evaluated, but a run says {refused}"
        if values == "usual" and not all(map(same, got, want)):
            return (
                "wrong",
                f"{[np.asarray(g).ravel()[:6] for g in got]}, not {[np.asarray(w).ravel()[:6] for w in want]}",
            )
        return "ok", ""
    except relay.CompileError as error:
        said = str(error)
        if re.search(r"R0503|internal error|bad_alloc|std::", said):
            return "wrong", said
        return "refused", said
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"


def main():
    from suite import Workers, progress

    import relay

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".*", help="a regular expression: operators whose whole names it matches")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", action="store_true", help="print each call and its answer")
    options = parser.parse_args()
    os.environ["RELAY_CACHE"] = "off"
    jobs = {}
    for op in relay._core.operators():
        if re.fullmatch(options.only, op["name"]):
            for i, (what, *call) in enumerate(calls(op)):
                jobs[f"{op['name']} #{i}: {what[:200]}"] = (op["name"], what, *call)
    workers = Workers(lambda key: answer(jobs[key]), lambda why: ("wrong", why), options.jobs, SECONDS, MEBIBYTES)
    counts = collections.Counter()
    order = random.Random(0).sample(list(jobs), len(jobs))  # what takes long is not all at one place
    for key, (kind, said) in progress(workers.run(order), len(jobs)):
        counts[kind] += 1
        if options.show or kind == "wrong":
            name, _, inputs, attrs, _ = jobs[key]
            print(
                f"{kind}: {key}\n    {program(name, inputs, attrs)[len(HEADER) :][:400]}\n    {said[:600].strip()}",
                flush=True,
            )
    print(dict(counts))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
