"""Small graphs of TensorFlow, operator by operator, for tensorflow_run.py.

A case is a call of an operator, by its name in tf.raw_ops, or a function of tensors. Arrays become inputs of the graph;
K(array) is a constant in it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class K:
    """A constant of the graph."""

    value: object
    dtype: object = None


@dataclasses.dataclass
class Case:
    """name: unique. build: a function of the inputs. inputs: arrays. open_axes: true if the first axis has no size.
    signature: true if a SavedModel is written as well. tolerance: relative to the largest value, or None."""

    name: str
    build: object
    inputs: list
    open_axes: bool = False
    saved: bool = False
    tolerance: float | None = None


_rng = np.random.default_rng(7)


def f(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return _rng.uniform(low, high, shape).astype(dtype)


def i(*shape, low=-5, high=6, dtype=np.int32):
    return _rng.integers(low, high, shape).astype(dtype)


def b(*shape):
    return _rng.integers(0, 2, shape).astype(bool)


CASES: list[Case] = []


def raw(op: str, tag: str = "", *, open_axes=False, saved=False, tolerance=None, first=None, **arguments):
    """Adds a case that calls tf.raw_ops.OP. Arrays are inputs."""
    names = [name for name, value in arguments.items() if isinstance(value, np.ndarray)]

    def build(*tensors):
        given = dict(zip(names, tensors, strict=True))
        whole = {
            name: given.get(
                name,
                tf.constant(value.value, value.dtype)
                if isinstance(value, K)
                else [tf.constant(one.value, one.dtype) if isinstance(one, K) else one for one in value]
                if isinstance(value, list) and any(isinstance(one, K) for one in value)
                else value,
            )
            for name, value in arguments.items()
        }
        made = getattr(tf.raw_ops, op)(**whole)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        return made if first is None else [made[place] for place in first]

    CASES.append(
        Case(f"{op}{' ' if tag else ''}{tag}", build, [arguments[name] for name in names], open_axes, saved, tolerance)
    )


def case(name: str, inputs: list, *, open_axes=False, saved=False, tolerance=None):
    """Adds a case that is a function of tensors."""

    def add(build):
        CASES.append(Case(name, build, inputs, open_axes, saved, tolerance))
        return build

    return add


# --- each element alone -----------------------------------------------------------------------------------------------
for _name in (
    "Abs Atan Asinh Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor IsFinite IsInf IsNan Neg Rint Round Sigmoid Sign Sin "
    "Sinh Square Tan Tanh"
).split():
    raw(_name, x=f(3, 5)) if _name != "Elu" else raw(_name, features=f(3, 5))
for _name in "Acos Asin Atanh".split():
    raw(_name, x=f(3, 5, low=-0.9, high=0.9))
for _name in "Log Log1p Sqrt Rsqrt Reciprocal Inv".split():
    raw(_name, x=f(3, 5, low=0.2))
raw("Acosh", x=f(3, 5, low=1.1, high=4))
raw("Abs", "int32", x=i(7))
raw("Neg", "int64", x=i(7, dtype=np.int64))
raw("Sign", "int32", x=i(7))
raw("Round", "halves", x=np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4999], np.float32))
raw("IsNan", "nan", x=np.array([1, np.nan, np.inf, -np.inf], np.float32))
raw("IsFinite", "nan", x=np.array([1, np.nan, np.inf, -np.inf], np.float32))
raw("IsInf", "nan", x=np.array([1, np.nan, np.inf, -np.inf], np.float32))
for _name in "Relu Relu6 Selu Softplus Softsign LeakyRelu".split():
    raw(_name, features=f(3, 5, low=-8, high=8))
raw("LeakyRelu", "slope", features=f(3, 5), alpha=0.3)
raw("Relu", "int32", features=i(3, 5))
raw("Relu6", "int32", features=i(3, 5, low=-9, high=9))
raw("Softmax", logits=f(3, 5))
raw("LogSoftmax", logits=f(3, 5))
raw("ZerosLike", x=f(3, 5))
raw("OnesLike", x=i(3, 5))
raw("Identity", input=f(3, 5))
raw("StopGradient", input=f(3, 5))
raw("PreventGradient", input=f(3, 5))
raw("Snapshot", input=f(3, 5))
raw("CheckNumerics", tensor=f(3, 5), message="not finite")
raw("IdentityN", input=[K([1.0, 2.0]), K([3])])
raw("LogicalNot", x=b(9))
raw("Invert", x=i(9))
for _from, _to in (
    ("float32", "int32"),
    ("int32", "float32"),
    ("float32", "bool"),
    ("bool", "int64"),
    ("float32", "float16"),
    ("uint8", "float32"),
):
    raw("Cast", f"{_from} to {_to}", x=np.abs(f(3, 5, low=-9, high=9)).astype(_from), DstT=getattr(tf, _to))
raw("Bitcast", input=f(3, 5), type=tf.int32)
raw("ClipByValue", t=f(3, 5), clip_value_min=K(-0.5), clip_value_max=K(0.75))
raw("L2Loss", t=f(3, 5))
raw("FakeQuantWithMinMaxArgs", inputs=f(3, 5, low=-4, high=4), min=-3.0, max=2.5)
raw("FakeQuantWithMinMaxVars", inputs=f(3, 5, low=-4, high=4), min=K(-3.0), max=K(2.5), num_bits=6)
raw(
    "FakeQuantWithMinMaxVarsPerChannel",
    inputs=f(3, 2, low=-4, high=4),
    min=K([-3.0, -1.0]),
    max=K([2.5, 1.5]),
    narrow_range=True,
)

# --- pairs of elements ------------------------------------------------------------------------------------------------
_PAIRS = (
    "Add AddV2 Sub Mul Maximum Minimum SquaredDifference FloorMod Equal NotEqual Greater GreaterEqual Less LessEqual"
)
for _name in _PAIRS.split():
    raw(_name, x=i(3, 4).astype(np.float32), y=(i(4, low=1)).astype(np.float32))
    raw(_name, "int32", x=i(3, 4), y=i(3, 1, low=1))
raw("Add", "open", open_axes=True, x=f(3, 4), y=f(3, 4))
for _name in "RealDiv Div FloorDiv".split():
    raw(_name, x=f(3, 4), y=f(4, low=0.5))
for _name in "Div FloorDiv Mod TruncateMod TruncateDiv".split():
    raw(_name, "int32", x=i(3, 4, low=-20, high=20), y=i(3, 4, low=1))
raw("FloorDiv", "negative int32", x=i(3, 4, low=-20, high=20), y=-i(3, 4, low=1))
raw("FloorMod", "negative int32", x=i(3, 4, low=-20, high=20), y=-i(3, 4, low=1))
raw("FloorMod", "fractions", x=f(3, 4), y=-f(3, 4, low=0.3))
_zeros = f(3, 4) * b(3, 4)
for _name in "DivNoNan MulNoNan".split():
    raw(_name, x=f(3, 4), y=_zeros)
for _name in "Xdivy Xlogy Xlog1py".split():
    raw(_name, x=_zeros, y=f(3, 4, low=0.3))
raw("Pow", x=f(3, 4, low=0.1), y=f(4))
raw("Pow", "int32", x=i(3, 4), y=K(3))
raw("Pow", "constant", x=f(3, 4), y=K(2.0))
raw("Atan2", y=f(40), x=f(40))
raw("Atan2", "axes", y=np.array([0, 0, 1, -1], np.float32), x=np.array([1, -1, 0, 0], np.float32))
raw("ApproximateEqual", x=f(9), y=f(9), tolerance=1.0)
for _name in "LogicalAnd LogicalOr".split():
    raw(_name, x=b(9), y=b(9))
for _name in "BitwiseAnd BitwiseOr BitwiseXor".split():
    raw(_name, x=i(9), y=i(9))
raw("LeftShift", x=i(9), y=i(9, low=0, high=8))
raw("RightShift", x=i(9, low=-999, high=999), y=i(9, low=0, high=8))
raw("AddN", inputs=[K([1.0, 2.0]), K([3.0, 4.0]), K([5.0, 6.0])])
raw("BiasAdd", value=f(2, 3, 4), bias=f(4))
raw("BiasAddV1", value=f(2, 3, 4), bias=f(4))
raw("BiasAdd", "NCHW", value=f(2, 3, 4, 5), bias=f(3), data_format="NCHW")
raw("Select", condition=b(3, 4), x=f(3, 4), y=f(3, 4))
raw("Select", "rows", condition=b(3), x=f(3, 4), y=f(3, 4))
raw("SelectV2", condition=b(3, 1), t=f(4), e=f(3, 4))

# --- reductions -------------------------------------------------------------------------------------------------------
for _name in "Sum Mean Prod Max Min EuclideanNorm".split():
    raw(_name, input=f(3, 4, 5), axis=K([0, -1]))
    raw(_name, "keeps", input=f(3, 4, 5), axis=K(1), keep_dims=True)
for _name in "Sum Max Min Prod".split():
    raw(_name, "int32", input=i(3, 4), axis=K(1))
raw("Mean", "open", open_axes=True, input=f(3, 4, 5), axis=K([1]))
raw("Mean", "int32", input=i(3, 4, low=-20, high=20), axis=K(1))
raw("Sum", "no axes", input=f(3, 4), axis=K(np.zeros(0, np.int32)))
for _name in "All Any".split():
    raw(_name, input=b(3, 4), axis=K(1))
for _name in "ArgMax ArgMin".split():
    raw(_name, input=f(3, 4), dimension=K(1))
    raw(_name, "int32", input=i(3, 9, low=0, high=3), dimension=K(-1), output_type=tf.int32)
for _name in "Cumsum Cumprod".split():
    for _exclusive in (False, True):
        for _reverse in (False, True):
            raw(
                _name,
                f"exclusive={_exclusive} reverse={_reverse}",
                x=f(3, 4),
                axis=K(1),
                exclusive=_exclusive,
                reverse=_reverse,
            )
raw("CumulativeLogsumexp", x=f(3, 4), axis=K(1))
_ids = K(np.array([0, 0, 1, 3, 3, 3], np.int32))
for _name in "Sum Prod Max Min Mean".split():
    raw(f"Segment{_name}", data=f(6, 3), segment_ids=_ids)
raw("SegmentSum", "int32", data=i(6, 3), segment_ids=_ids)
for _name in "Sum Prod Max Min".split():
    raw(f"UnsortedSegment{_name}", data=f(6, 3), segment_ids=np.array([3, 0, 1, -1, 3, 0], np.int32), num_segments=K(5))
raw(
    "UnsortedSegmentSum",
    "matrix",
    data=f(2, 3, 4),
    segment_ids=np.array([[3, 0, 1], [1, 3, 0]], np.int32),
    num_segments=K(4),
)
for _name in "Sum Mean SqrtN".split():
    raw(
        f"SparseSegment{_name}",
        data=f(6, 3),
        indices=np.array([5, 0, 2, 2], np.int32),
        segment_ids=K(np.array([0, 0, 1, 3], np.int32)),
    )
    raw(
        f"SparseSegment{_name}WithNumSegments",
        data=f(6, 3),
        indices=np.array([5, 0, 2, 2], np.int32),
        segment_ids=np.array([0, 0, 1, 3], np.int32),
        num_segments=K(6),
    )
raw("Bincount", arr=i(9, low=0, high=6), size=K(5), weights=f(9))
raw("DenseBincount", input=i(9, low=0, high=6), size=K(5), weights=f(9))
raw(
    "DenseBincount",
    "rows",
    input=i(3, 9, low=0, high=6),
    size=K(5),
    weights=K(np.zeros((0,), np.float32)),
    binary_output=True,
)

# --- layers -----------------------------------------------------------------------------------------------------------
for _padding in ("SAME", "VALID"):
    for _stride in (1, 2):
        _strides = [1, _stride, _stride, 1]
        raw(
            "Conv2D",
            f"{_padding} {_stride}",
            input=f(2, 7, 8, 3),
            filter=K(f(3, 2, 3, 4)),
            strides=_strides,
            padding=_padding,
        )
        raw(
            "DepthwiseConv2dNative",
            f"{_padding} {_stride}",
            input=f(2, 7, 8, 3),
            filter=K(f(3, 3, 3, 2)),
            strides=_strides,
            padding=_padding,
        )
        for _name in ("MaxPool", "AvgPool"):
            _given = {"input" if _name == "MaxPool" else "value": f(2, 7, 8, 3)}
            raw(_name, f"{_padding} {_stride}", ksize=[1, 3, 2, 1], strides=_strides, padding=_padding, **_given)
        raw(
            "MaxPoolV2",
            f"{_padding} {_stride}",
            input=f(2, 7, 8, 3),
            ksize=K([1, 3, 2, 1]),
            strides=K(_strides),
            padding=_padding,
        )
        _volume = [1, _stride, _stride, _stride, 1]
        raw(
            "Conv3D",
            f"{_padding} {_stride}",
            input=f(1, 5, 6, 7, 2),
            filter=K(f(2, 3, 2, 2, 3)),
            strides=_volume,
            padding=_padding,
        )
        raw(
            "MaxPool3D",
            f"{_padding} {_stride}",
            input=f(1, 5, 6, 7, 2),
            ksize=[1, 2, 3, 2, 1],
            strides=_volume,
            padding=_padding,
        )
        raw(
            "AvgPool3D",
            f"{_padding} {_stride}",
            input=f(1, 5, 6, 7, 2),
            ksize=[1, 2, 3, 2, 1],
            strides=_volume,
            padding=_padding,
        )
        _size = {
            ("SAME", 1): [1, 5, 6, 3],
            ("VALID", 1): [1, 7, 7, 3],
            ("SAME", 2): [1, 9, 12, 3],
            ("VALID", 2): [1, 11, 12, 3],
        }[_padding, _stride]
        raw(
            "Conv2DBackpropInput",
            f"{_padding} {_stride}",
            input_sizes=K(_size),
            filter=K(f(3, 2, 3, 4)),
            out_backprop=f(1, 5, 6, 4),
            strides=_strides,
            padding=_padding,
        )
        raw(
            "Dilation2D",
            f"{_padding} {_stride}",
            input=f(2, 7, 8, 3),
            filter=K(f(3, 2, 3)),
            strides=_strides,
            rates=[1, 1, 1, 1],
            padding=_padding,
        )
        raw(
            "MaxPoolWithArgmax",
            f"{_padding} {_stride}",
            input=f(2, 7, 8, 3),
            ksize=[1, 3, 2, 1],
            strides=_strides,
            padding=_padding,
        )
raw(
    "Conv2D", "open", open_axes=True, input=f(2, 7, 8, 3), filter=K(f(3, 3, 3, 4)), strides=[1, 2, 2, 1], padding="SAME"
)
raw(
    "Conv2D",
    "dilated",
    input=f(2, 9, 9, 3),
    filter=K(f(3, 3, 3, 4)),
    strides=[1, 1, 1, 1],
    padding="SAME",
    dilations=[1, 2, 2, 1],
)
raw(
    "Conv2D",
    "explicit",
    input=f(2, 7, 8, 3),
    filter=K(f(3, 3, 3, 4)),
    strides=[1, 2, 2, 1],
    padding="EXPLICIT",
    explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0],
)
raw("Conv2D", "groups", input=f(2, 7, 8, 4), filter=K(f(3, 3, 2, 6)), strides=[1, 1, 1, 1], padding="SAME")
raw("Conv2D", "computed kernel", input=f(2, 7, 8, 3), filter=f(3, 3, 3, 4), strides=[1, 1, 1, 1], padding="SAME")
raw(
    "Conv3DBackpropInputV2",
    input_sizes=K([1, 5, 6, 7, 2]),
    filter=K(f(2, 3, 2, 2, 3)),
    out_backprop=f(1, 3, 3, 4, 3),
    strides=[1, 2, 2, 2, 1],
    padding="SAME",
)
for _name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    raw(
        _name, x=f(2, 3, 4, 5), scale=f(5), offset=f(5), mean=f(5), variance=f(5, low=0.2), is_training=False, first=[0]
    )
raw(
    "FusedBatchNormV3",
    "training",
    x=f(2, 3, 4, 5),
    scale=f(5),
    offset=f(5),
    mean=K(np.zeros(0, np.float32)),
    variance=K(np.zeros(0, np.float32)),
    is_training=True,
    first=[0, 1],
)
raw("LRN", input=f(2, 3, 4, 9), depth_radius=2, bias=1.5, alpha=0.3, beta=0.6)
for _a in (False, True):
    for _b in (False, True):
        raw(
            "MatMul",
            f"{_a} {_b}",
            a=f(4, 3) if _a else f(3, 4),
            b=f(5, 4) if _b else f(4, 5),
            transpose_a=_a,
            transpose_b=_b,
        )
        for _name in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
            _type = {"Tout": tf.float32} if _name.endswith("3") else {}
            raw(
                _name,
                f"{_a} {_b}",
                x=f(2, 4, 3) if _a else f(2, 3, 4),
                y=f(2, 5, 4) if _b else f(2, 4, 5),
                adj_x=_a,
                adj_y=_b,
                **_type,
            )
raw("BatchMatMulV2", "broadcast", x=f(2, 1, 3, 4), y=f(5, 4, 3))
raw("BatchMatMulV2", "one matrix", open_axes=True, x=f(2, 3, 4), y=K(f(4, 5)))
raw("SparseMatMul", a=f(3, 4), b=f(4, 5))
for _equation, _shapes in (
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,jk->...ik", [(2, 2, 3, 4), (4, 5)]),
    ("abc->cab", [(2, 3, 4)]),
    ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
):
    case(f"Einsum {_equation}", [f(*one) for one in _shapes])(lambda *x, e=_equation: tf.einsum(e, *x))
raw(
    "LSTMBlockCell",
    x=f(2, 3),
    cs_prev=f(2, 4),
    h_prev=f(2, 4),
    w=K(f(7, 16)),
    wci=K(f(4)),
    wcf=K(f(4)),
    wco=K(f(4)),
    b=K(f(16)),
    use_peephole=True,
)
raw(
    "BlockLSTM",
    seq_len_max=K(np.int64(5)),
    x=f(5, 2, 3),
    cs_prev=f(2, 4),
    h_prev=f(2, 4),
    w=K(f(7, 16)),
    wci=K(f(4)),
    wcf=K(f(4)),
    wco=K(f(4)),
    b=K(f(16)),
)
raw(
    "BlockLSTMV2",
    seq_len_max=K(np.int64(5)),
    x=f(5, 2, 3),
    cs_prev=f(2, 4),
    h_prev=f(2, 4),
    w=K(f(7, 16)),
    wci=K(f(4)),
    wcf=K(f(4)),
    wco=K(f(4)),
    b=K(f(16)),
)
raw("GRUBlockCell", x=f(2, 3), h_prev=f(2, 4), w_ru=K(f(7, 8)), w_c=K(f(7, 4)), b_ru=K(f(8)), b_c=K(f(4)))
