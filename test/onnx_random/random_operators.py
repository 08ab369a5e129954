"""Families of operators for random models: each function appends a node to a Draw, or none where nothing fits."""

import string

import numpy as np

FAMILIES = []


def family(times):
    def add(function):
        FAMILIES.extend([function] * times)
        return function

    return add


def axis_of(d, v):
    rank = v.array.ndim
    return d.integer(-rank, rank - 1)


def some_axes(d, v):
    rank = v.array.ndim
    axes = [a for a in range(rank) if d.chance(0.5)]
    return [a - rank if d.chance(0.3) else a for a in axes] or [0]


# --- element by element -----------------------------------------------------------------------------------------------
SMOOTH = "Relu Sigmoid Tanh Erf Softplus Softsign Elu Selu LeakyRelu HardSigmoid HardSwish Mish Celu Gelu Exp".split()
EXACT = "Abs Neg Relu".split()
STEPS = "Floor Ceil Round Sign".split()


@family(5)
def smooth(d):
    d.node(d.one_of(*SMOOTH), [d.pick("f")])


@family(2)
def exact_unary(d):
    d.node(d.one_of(*EXACT), [d.pick("f")], exact=True)


@family(1)
def steps(d):
    d.node(d.one_of(*STEPS), [d.pick("f", exact=True)], exact=True)


@family(1)
def guarded(d):
    x = d.node("Abs", [d.pick("f")], exact=True)
    op = d.one_of("Sqrt", "Log", "Reciprocal")
    if op != "Sqrt" and x:
        x = d.node("Add", [x, d.add(np.float32(0.5), constant=True)], exact=True)
    d.node(op, [x])


@family(1)
def clip(d):
    low, high = sorted([d.real(-3, 3), d.real(-3, 3)])
    bounds = [d.add(np.float32(b), constant=True) if d.chance(0.8) else None for b in (low, high)]
    d.node("Clip", [d.pick("f"), *bounds], exact=True)


@family(1)
def truth(d):
    op = d.one_of("Not", "IsNaN", "IsInf", "And", "Or", "Xor")
    if op in ("IsNaN", "IsInf"):
        d.node(op, [d.pick("f")], exact=True)
    else:
        a = d.pick("b")
        d.node(op, [a] if op == "Not" else [a, stretching(d, a)], exact=True)


@family(2)
def cast(d):
    kinds = {"FLOAT": 1, "INT32": 6, "INT64": 7, "DOUBLE": 11, "UINT8": 2, "INT8": 3, "FLOAT16": 10}
    x = d.pick("fib", exact=True)
    to = d.one_of(*kinds)
    if x and to == "UINT8" and (x.array.dtype.kind == "f" or x.array.dtype.kind == "i") and x.array.min() < 0:
        return
    d.node("Cast", [x], exact=True, to=kinds[to])


def stretching(d, a):
    """A value that stretches to a, or to which a stretches; of its type."""
    if a is None:
        return None
    for _ in range(3):
        b = d.pick(a.array.dtype.kind)
        if b and b.array.dtype == a.array.dtype:
            try:
                if np.broadcast_shapes(a.array.shape, b.array.shape):
                    return b
            except ValueError:
                pass
    shape = [1 if d.chance(0.3) else n for n in a.array.shape][d.integer(0, a.array.ndim) :]
    return d.weight(*shape, dtype=a.array.dtype)


@family(6)
def binary(d):
    a = d.pick("fi")
    b = stretching(d, a)
    op = d.one_of("Add", "Sub", "Mul", "Max", "Min", "Mean", "Sum", "Div")
    if op == "Div":
        if b is None or (np.abs(b.array.astype(np.float64)) < 0.1).any():
            return
    d.node(op, [a, b] if d.chance(0.7) else [b, a] if op != "Div" else [a, b], exact=op not in ("Mean", "Div", "Mul"))


@family(1)
def power(d):
    x = d.pick("f")
    if x is not None and np.abs(x.array).max() < 8:
        d.node("Pow", [x, d.add(np.float32(d.one_of(2, 3)), constant=True)])


@family(1)
def remainder(d):
    x = d.pick("i")
    if x is None:
        return
    by = np.full((), d.one_of(2, 3, 5, -3), x.array.dtype)
    if d.chance(0.5):
        d.node("Mod", [x, d.add(by, constant=True)], exact=True, fmod=d.integer(0, 1))
    else:
        d.node("Div", [x, d.add(np.abs(by), constant=True)], exact=True)


@family(2)
def compare(d):
    a = d.pick("fi", exact=True)
    b = stretching(d, a)
    if b is not None and b.exact:
        d.node(d.one_of("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"), [a, b], exact=True)


@family(2)
def where(d):
    a = d.pick("fi")
    if a is not None:
        d.node("Where", [d.weight(*a.array.shape, dtype=np.bool_), a, stretching(d, a)], exact=True)


@family(1)
def slope(d):
    x = d.pick("f", rank=(2, 4))
    if x is not None:
        d.node("PRelu", [x, d.weight(*([x.array.shape[1]] + [1] * (x.array.ndim - 2)))])


# --- movement ---------------------------------------------------------------------------------------------------------
@family(3)
def reshape(d):
    x = d.pick("fib")
    if x is None:
        return
    shape, rest = [], x.array.size
    while rest > 1 and len(shape) < 4:
        part = d.one_of(*[n for n in range(1, rest + 1) if rest % n == 0])
        shape.append(part)
        rest //= part
    shape.append(rest)
    if d.chance(0.4):
        shape[d.integer(0, len(shape) - 1)] = -1
    d.node("Reshape", [x, d.ints(*shape)], exact=True)


@family(3)
def transpose(d):
    x = d.pick("fib", rank=(1, 5))
    if x is not None:
        d.node("Transpose", [x], exact=True, perm=[int(i) for i in d.rng.permutation(x.array.ndim)])


@family(3)
def concatenate(d):
    x = d.pick("fib", rank=(1, 5))
    if x is None:
        return
    axis = axis_of(d, x)
    shape = list(x.array.shape)
    shape[axis] = d.integer(1, 4)
    d.node("Concat", [x, d.weight(*shape, dtype=x.array.dtype), *([x] if d.chance(0.3) else [])], exact=True, axis=axis)


@family(2)
def split(d):
    x = d.pick("fib", rank=(1, 5))
    if x is None:
        return
    axis = axis_of(d, x)
    extent = x.array.shape[axis]
    if extent < 2:
        return
    first = d.integer(1, extent - 1)
    d.node("Split", [x, d.ints(first, extent - first)], outputs=2, exact=True, axis=axis)


@family(3)
def cut(d):
    x = d.pick("fib", rank=(1, 5))
    if x is None:
        return
    axes = sorted({a % x.array.ndim for a in some_axes(d, x)})
    begins, ends, steps = [], [], []
    for a in axes:
        n = x.array.shape[a]
        step = d.one_of(1, 1, 2, -1, -2)
        begin, end = d.integer(0, n - 1), d.integer(1, n + 3)
        if step < 0:
            begin, end = n - 1, -n - 1 if d.chance(0.5) else d.integer(0, max(n - 2, 0))
        begins.append(begin)
        ends.append(end)
        steps.append(step)
    d.node("Slice", [x, d.ints(*begins), d.ints(*ends), d.ints(*axes), d.ints(*steps)], exact=True)


@family(2)
def one_axis(d):
    x = d.pick("fib", rank=(0, 4))
    if x is None:
        return
    ones = [a for a, n in enumerate(x.array.shape) if n == 1]
    if ones and d.chance(0.5):
        d.node("Squeeze", [x, d.ints(d.one_of(*ones))], exact=True)
    else:
        d.node("Unsqueeze", [x, d.ints(d.integer(-x.array.ndim - 1, x.array.ndim))], exact=True)


@family(2)
def stretch(d):
    x = d.pick("fib", rank=(1, 4), most=500)
    if x is None:
        return
    if d.chance(0.5):
        shape = [d.integer(1, 3) if n == 1 else n for n in x.array.shape]
        d.node("Expand", [x, d.ints(*([d.integer(1, 2)] if d.chance(0.3) else []), *shape)], exact=True)
    else:
        d.node("Tile", [x, d.ints(*(d.integer(1, 3) for _ in x.array.shape))], exact=True)


@family(2)
def pad(d):
    x = d.pick("fi", rank=(1, 4))
    if x is None:
        return
    mode = d.one_of("constant", "constant", "edge", "reflect")
    amounts = [
        d.integer(-1 if mode == "constant" else 0, 2 if mode != "reflect" else max(min(2, n - 1), 0))
        for _ in range(2)
        for n in x.array.shape
    ]
    value = [d.add(d.array((), x.array.dtype), constant=True)] if mode == "constant" and d.chance(0.6) else []
    d.node("Pad", [x, d.ints(*amounts), *value], exact=True, mode=mode)


def indices(d, extent, shape, constant=True):
    array = d.rng.integers(-extent, extent, shape).astype(np.int64)
    if constant:
        return d.add(np.asarray(array), constant=True)
    value = d.add(np.asarray(array))
    d.model.inputs.append(value.name)
    return value


@family(3)
def gather(d):
    x = d.pick("fib", rank=(1, 4))
    if x is None:
        return
    axis = axis_of(d, x)
    extent = x.array.shape[axis]
    if d.chance(0.5):
        shape = tuple(d.integer(1, 4) for _ in range(d.integer(0, 2)))
        d.node("Gather", [x, indices(d, extent, shape, d.chance(0.5))], exact=True, axis=axis)
    else:
        shape = list(x.array.shape)
        shape[axis] = d.integer(1, 4)
        d.node("GatherElements", [x, indices(d, extent, shape, d.chance(0.5))], exact=True, axis=axis)


@family(1)
def scatter(d):
    x = d.pick("f", rank=(1, 4))
    if x is None:
        return
    axis = axis_of(d, x)
    shape = [min(n, d.integer(1, 3)) for n in x.array.shape]
    at = d.rng.permuted(
        np.broadcast_to(np.arange(x.array.shape[axis]), (int(np.prod(shape)), x.array.shape[axis])), axis=1
    )
    at = at[:, 0].reshape(shape).astype(np.int64)
    reduction = d.one_of("add", "max", "min")
    d.node(
        "ScatterElements", [x, d.add(at, constant=True), d.weight(*shape)], exact=True, axis=axis, reduction=reduction
    )


@family(1)
def blocks(d):
    x = d.pick("f", rank=4)
    if x is not None:
        mode = {"mode": d.one_of("DCR", "CRD")} if d.chance(0.5) else {}
        d.node("DepthToSpace" if mode else "SpaceToDepth", [x], exact=True, blocksize=2, **mode)


@family(1)
def triangle(d):
    x = d.pick("fi", rank=(2, 4))
    d.node("Trilu", [x, *([d.add(np.int64(d.integer(-2, 2)), constant=True)] if d.chance(0.6) else [])],
           exact=True, upper=d.integer(0, 1))  # fmt: skip


@family(1)
def sizes(d):
    x = d.pick("fib", rank=(1, 4))
    shape = d.node(d.one_of("Shape", "Size"), [x], exact=True)
    if shape is not None and shape.array.ndim == 1 and d.chance(0.5):
        d.node("ConstantOfShape", [shape], exact=True)


# --- reductions -------------------------------------------------------------------------------------------------------
@family(4)
def reduce(d):
    op = d.one_of("Sum", "Mean", "Max", "Min", "SumSquare", "L1", "L2", "LogSumExp", "Prod")
    x = d.pick("f" if op not in ("Max", "Min", "Sum") else "fi", rank=(1, 5))
    if x is None or (op == "Prod" and x.array.size > 64):
        return
    axes = [d.ints(*some_axes(d, x))] if d.chance(0.8) else []
    d.node("Reduce" + op, [x, *axes], exact=op in ("Max", "Min"), keepdims=d.integer(0, 1))


@family(1)
def extreme(d):
    x = d.pick("fi", rank=(1, 4), exact=True)
    if x is not None:
        d.node(d.one_of("ArgMax", "ArgMin"), [x], exact=True, axis=axis_of(d, x), keepdims=d.integer(0, 1),
               select_last_index=d.integer(0, 1))  # fmt: skip


@family(1)
def greatest(d):
    x = d.pick("f", rank=(1, 3), exact=True)
    if x is None or len(np.unique(x.array)) != x.array.size:
        return
    axis = axis_of(d, x)
    k = d.integer(1, x.array.shape[axis])
    d.node("TopK", [x, d.ints(k)], outputs=2, exact=True, axis=axis, largest=d.integer(0, 1), sorted=1)


@family(1)
def running(d):
    x = d.pick("f", rank=(1, 3))
    if x is not None:
        axis = d.add(np.int64(axis_of(d, x)), constant=True)
        d.node("CumSum", [x, axis], exclusive=d.integer(0, 1), reverse=d.integer(0, 1))


@family(2)
def normal(d):
    op = d.one_of("Softmax", "LogSoftmax", "LayerNormalization", "BatchNormalization", "InstanceNormalization",
                  "LpNormalization", "GroupNormalization", "LRN")  # fmt: skip
    x = d.pick("f", rank=(2, 4) if op not in ("InstanceNormalization", "LRN", "GroupNormalization") else (3, 4))
    if x is None:
        return
    channels = x.array.shape[1]
    positive = d.add(np.abs(d.array((channels,))) + 0.5, constant=True)
    if op == "LayerNormalization":
        axis = axis_of(d, x)
        shape = x.array.shape[axis:]
        d.node(op, [x, d.weight(*shape), *([d.weight(*shape)] if d.chance(0.5) else [])], axis=axis)
    elif op == "BatchNormalization":
        d.node(op, [x, d.weight(channels), d.weight(channels), d.weight(channels), positive])
    elif op == "InstanceNormalization":
        d.node(op, [x, d.weight(channels), d.weight(channels)])
    elif op == "GroupNormalization":
        groups = d.one_of(*[g for g in range(1, channels + 1) if channels % g == 0])
        d.node(op, [x, d.weight(channels), d.weight(channels)], num_groups=groups)
    elif op == "LpNormalization":
        if np.abs(x.array).min() > 0:
            d.node(op, [x], axis=axis_of(d, x), p=d.integer(1, 2))
    elif op == "LRN":
        d.node(op, [x], size=d.one_of(1, 3, 5))
    else:
        d.node(op, [x], axis=axis_of(d, x))


# --- products ---------------------------------------------------------------------------------------------------------
@family(4)
def matmul(d):
    a = d.pick("f", rank=(1, 4), most=4000)
    if a is None:
        return
    k = a.array.shape[-1]
    batch = list(a.array.shape[:-2]) if d.chance(0.4) else []
    d.node("MatMul", [a, d.weight(*batch, k, d.integer(1, 9)) if d.chance(0.9) else d.weight(k)])


@family(1)
def gemm(d):
    a = d.pick("f", rank=2, most=4000)
    if a is None:
        return
    turned_a, turned_b = d.integer(0, 1), d.integer(0, 1)
    m, k = a.array.shape[::-1] if turned_a else a.array.shape
    n = d.integer(1, 9)
    b = d.weight(n, k) if turned_b else d.weight(k, n)
    c = [d.weight(*d.one_of((n,), (1, n), (m, 1), (m, n), ()))] if d.chance(0.7) else []
    d.node("Gemm", [a, b, *c], transA=turned_a, transB=turned_b, alpha=d.real(0.25, 2), beta=d.real(0.25, 2))


@family(1)
def einsum(d):
    a = d.pick("f", rank=(1, 3), most=2000)
    if a is None:
        return
    names = string.ascii_lowercase[: a.array.ndim]
    other = [c for c in names if d.chance(0.6)] + (["z"] if d.chance(0.5) else [])
    extents = dict(zip(names, a.array.shape, strict=True)) | {"z": d.integer(1, 5)}
    kept = [c for c in dict.fromkeys([*names, *other]) if d.chance(0.6)]
    b = d.weight(*(extents[c] for c in other))
    d.node("Einsum", [a, b], equation=f"{names},{''.join(other)}->{''.join(kept)}")


@family(5)
def convolution(d):
    x = d.pick("f", rank=(3, 4), most=4000)
    if x is None:
        return
    spatial = x.array.ndim - 2
    channels = x.array.shape[1]
    kernel = [d.one_of(1, 2, 3, 5) for _ in range(spatial)]
    more = {}
    if d.chance(0.5):
        more["strides"] = [d.integer(1, 3) for _ in range(spatial)]
    if d.chance(0.3):
        more["dilations"] = [d.integer(1, 2) for _ in range(spatial)]
    if d.chance(0.5):
        more["pads"] = [d.integer(0, 2) for _ in range(2 * spatial)]
    elif d.chance(0.3):
        more["auto_pad"] = d.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    group = d.one_of(*[g for g in range(1, channels + 1) if channels % g == 0])
    out = group * d.integer(1, 4)
    if d.chance(0.75):
        weight, op = d.weight(out, channels // group, *kernel), "Conv"
    else:
        weight, op = d.weight(channels, out // group, *kernel), "ConvTranspose"
        if "auto_pad" in more:  # of a kernel that is smaller than its stride ONNX Runtime gives less than ONNX says
            more.pop("strides", None)
        if "strides" in more and d.chance(0.4) and "auto_pad" not in more:
            more["output_padding"] = [d.integer(0, s - 1) for s in more["strides"]]
    bias = [d.weight(out)] if d.chance(0.5) else []
    y = d.node(op, [x, weight, *bias], group=group, **more)
    if y is not None and d.chance(0.5):
        d.node(d.one_of("Relu", "Sigmoid", "HardSwish"), [y])


@family(2)
def pool(d):
    x = d.pick("f", rank=(3, 4))
    if x is None:
        return
    op = d.one_of("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool")
    if op.startswith("Global"):
        d.node(op, [x])
        return
    spatial = x.array.ndim - 2
    more = {"kernel_shape": [d.integer(1, 4) for _ in range(spatial)]}
    if d.chance(0.6):
        more["strides"] = [d.integer(1, 3) for _ in range(spatial)]
    if d.chance(0.5):
        more["pads"] = [d.integer(0, k - 1) for k in more["kernel_shape"] * 2]
    if d.chance(0.3):
        more["ceil_mode"] = 1
    pads = more.get("pads", [0] * (2 * spatial))
    sizes = zip(x.array.shape[2:], more["kernel_shape"], pads[:spatial], pads[spatial:], strict=True)
    if any(n + before + after < k for n, k, before, after in sizes):
        return  # ONNX has no result for it, and ONNX Runtime one
    if op == "AveragePool":
        more["count_include_pad"] = d.integer(0, 1)
    d.node(op, [x], exact=op == "MaxPool", **more)


@family(1)
def resize(d):
    x = d.pick("f", rank=4, most=2000)
    if x is None:
        return
    mode = d.one_of("nearest", "linear", "cubic")
    how = d.one_of("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    scales = np.array([1, 1, d.one_of(0.5, 1, 2, 3), d.one_of(0.5, 1, 2)], np.float32)
    if how in (
        "align_corners",
        "pytorch_half_pixel",
    ):  # a size that is not whole ONNX Runtime rounds first, and ONNX not
        scales = np.where(np.array(x.array.shape) * scales % 1 == 0, scales, 1).astype(np.float32)
    more = {"nearest_mode": d.one_of("floor", "ceil", "round_prefer_floor")} if mode == "nearest" else {}
    d.node("Resize", [x, None, d.add(scales, constant=True)], mode=mode, coordinate_transformation_mode=how, **more)


@family(1)
def recurrent(d):
    x = d.pick("f", rank=3, most=400)
    if x is None:
        return
    op, gates = d.one_of(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    direction = d.one_of("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    hidden, features = d.integer(1, 5), x.array.shape[2]
    more = {"linear_before_reset": d.integer(0, 1)} if op == "GRU" else {}
    bias = [d.weight(ways, 2 * gates * hidden)] if d.chance(0.6) else []
    d.node(op, [x, d.weight(ways, gates * hidden, features), d.weight(ways, gates * hidden, hidden), *bias],
           outputs=2, hidden_size=hidden, direction=direction, **more)  # fmt: skip


@family(1)
def quantise(d):
    x = d.pick("f", exact=True)
    scale = d.add(np.float32(d.one_of(0.25, 0.5)), constant=True)
    zero = d.add(np.array(d.integer(0, 20), d.one_of(np.uint8, np.int8)), constant=True)
    q = d.node("QuantizeLinear", [x, scale, zero], exact=True)
    d.node("DequantizeLinear", [q, scale, zero], exact=True)


@family(1)
def hot(d):
    x = d.pick("i", rank=(0, 2), most=200)
    if x is not None:
        values = d.add(d.array((2,)), constant=True)
        d.node("OneHot", [x, d.ints(d.integer(1, 8)), values], exact=True, axis=d.integer(-1, x.array.ndim))
