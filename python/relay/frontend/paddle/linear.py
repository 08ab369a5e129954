"""Operators of PaddlePaddle that multiply: convolutions, products, tables."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared.expressions import axis_of, cast, dtype_of, is_known, known, number, shape_of
from ..shared.node import MOST_WINDOW
from ..shared.problems import Refused
from ..shared.products import batched, spelled_out
from ..shared.shapes import reshaped
from ..shared.windows import CONVOLUTIONS, TRANSPOSED, same_padding, to_first, to_last
from .conversion import Operator


# --- convolutions -----------------------------------------------------------------------------------------------------
def each(c: Operator, name: str, rank: int, otherwise: int, least: int = 1) -> list[int]:
    """Returns a number for each axis of space."""
    found = c.ints(name, [otherwise] * rank) or [otherwise] * rank
    found = found * rank if len(found) == 1 else found
    if len(found) != rank or any(not least <= one <= MOST_WINDOW for one in found):
        raise Refused(f"`{name}` is {found}, not {rank} numbers from {least} to {MOST_WINDOW}")
    return found


def padding_of(c: Operator, sizes: list, window: list[int], strides: list[int], dilation: list[int]) -> list[int]:
    """Returns the padding before all axes of space, then that after them."""
    rule, rank = c.text("padding_algorithm", "EXPLICIT", ("EXPLICIT", "SAME", "VALID")), len(window)
    found = c.ints("paddings", [0] * rank)
    if rule == "SAME":
        return same_padding(sizes, window, strides, [1] * rank)
    if rule == "VALID":
        return [0] * 2 * rank
    found = found * rank if len(found) == 1 else found
    if len(found) == 2 * rank + 4:  # with the axes of the batch and of channels
        found = found[4:] if c.is_first() else found[2:-2]
    if any(not 0 <= one <= MOST_WINDOW for one in found):
        raise Refused(f"`paddings` is {found}, not numbers from 0 to {MOST_WINDOW}")
    if len(found) == rank:
        return found * 2
    if len(found) == 2 * rank:  # before and after of each axis in turn
        return found[0::2] + found[1::2]
    raise Refused(f"`paddings` is {found}, not {rank} or {2 * rank} numbers")


def _window(c: Operator, slot: str, rank: int) -> tuple[Expr, list[int]]:
    kernel = c.with_rank(rank + 2, slot)
    return kernel, [known(one, "a window") for one in shape_of(kernel)[2:]]


def _operands(c: Operator, rank: int) -> tuple[bool, Expr, Expr, list[int]]:
    """Returns true if the channels come first, the input with the channels first, the kernel, and its window."""
    _tell_fused(c)
    is_first = c.is_first("data_format", "NCHW")
    x = c.with_rank(rank + 2, "Input")
    return is_first, x if is_first else to_first(x), *_window(c, "Filter", rank)


def convolution(rank: int, depthwise: bool = False):
    def convert(c: Operator):
        is_first, x, kernel, window = _operands(c, rank)
        groups, dilation = c.count("groups", 1), each(c, "dilations", rank, 1)
        strides = each(c, "strides", rank, 1)
        filters, share = shape_of(kernel)[:2]
        channels = known(shape_of(x)[1], "the kernel")
        if channels != known(share, "a kernel") * groups or known(filters, "a kernel") % groups:
            raise Refused(
                f"the kernel has the shape {shape_of(kernel)} for {channels} channels in {groups} groups",
                "take the weights of this model",
            )
        if c.text("padding_algorithm", "EXPLICIT") == "SAME":
            dilation = [1] * rank  # as Paddle does
        made = CONVOLUTIONS[rank](
            x, kernel, strides=strides, padding=padding_of(c, shape_of(x)[2:], window, strides, dilation),
            dilation=dilation, groups=groups, channels=filters, kernel_size=window,
        )  # fmt: skip
        if c.gives("Bias"):
            made = op.nn.bias_add(made, c.vector("Bias", filters, "the bias"), axis=1)
        return made if is_first else to_last(made)

    return convert


def _tell_fused(c: Operator) -> None:
    """Refuses parts that passes of Paddle's own inference have put into a convolution."""
    for name in ("fuse_relu", "fuse_relu_before_depthwise_conv", "fuse_residual_connection", "with_bias"):
        c.without_value(name, False)
    c.without_value("fuse_activation", "")


def transposed(rank: int):
    def convert(c: Operator):
        is_first, x, kernel, window = _operands(c, rank)
        groups, dilation, strides = c.count("groups", 1), each(c, "dilations", rank, 1), each(c, "strides", rank, 1)
        filters = known(shape_of(kernel)[1], "a kernel") * groups
        if known(shape_of(x)[1], "the kernel") != shape_of(kernel)[0]:
            raise Refused(
                f"the kernel has the shape {shape_of(kernel)} for {shape_of(x)[1]} channels",
                "take the weights of this model",
            )
        sizes = shape_of(x)[2:]
        padding = padding_of(c, sizes, window, strides, dilation)
        if c.text("padding_algorithm", "EXPLICIT") == "SAME":
            dilation = [1] * rank
        more = c.ints("output_padding", []) or [0] * rank
        wanted = c.list_of("output_size", "OutputSize", [])
        if wanted and any(one > 0 for one in wanted):
            whole = [
                (known(n, "`output_size`") - 1) * s - a - b + (k - 1) * d + 1
                for n, s, k, d, a, b in zip(
                    sizes, strides, window, dilation, padding[:rank], padding[rank:], strict=True
                )
            ]
            more = [one - held for one, held in zip(wanted, whole, strict=True)]
        if len(more) != rank or any(not 0 <= one <= MOST_WINDOW for one in more):
            raise Refused(f"`output_padding` is {more}")
        made = TRANSPOSED[rank](
            x, kernel, strides=strides, padding=padding, output_padding=more, dilation=dilation, groups=groups,
            channels=filters, kernel_size=window,
        )  # fmt: skip
        if c.gives("Bias"):
            made = op.nn.bias_add(made, c.vector("Bias", filters, "the bias"), axis=1)
        return made if is_first else to_last(made)

    return convert


def deformable(c: Operator):
    c.ignore("im2col_step")
    kernel, window = _window(c, "Filter", 2)
    strides, padding, dilation = each(c, "strides", 2, 1), c.ints("paddings", [0, 0], 2), each(c, "dilations", 2, 1)
    how = {
        "strides": strides, "padding": padding * 2, "dilation": dilation, "kernel_size": window,
        "deformable_groups": c.count("deformable_groups", 1), "groups": c.count("groups", 1),
        "channels": shape_of(kernel)[0],
    }  # fmt: skip
    if c.gives("Mask"):
        return op.nn.modulated_deformable_conv2d(c["Input"], c["Offset"], c["Mask"], kernel, **how)
    return op.nn.deformable_conv2d(c["Input"], c["Offset"], kernel, **how)


# --- products ---------------------------------------------------------------------------------------------------------
def matmul_v2(c: Operator):
    return product(c["X"], c["Y"], c.flag("trans_x", False), c.flag("trans_y", False))


def matmul(c: Operator):
    """The first version: a factor, and vectors with another meaning."""
    c.without_value("head_number", 1)
    made = product(c["X"], c["Y"], c.flag("transpose_X", False), c.flag("transpose_Y", False))
    made = made if shape_of(made) else op.reshape(made, newshape=[1])
    factor = c.real("alpha", 1.0)
    return op.multiply(made, c.number(factor)) if factor != 1 else made


def product(x: Expr, y: Expr, a: bool, b: bool) -> Expr:
    """Returns a product of matrices, or of vectors: a row on the left, a column on the right."""
    y = cast(y, dtype_of(x))
    left, right = shape_of(x), shape_of(y)
    if not left or not right:
        raise Refused("an operand of it has no axes")
    if len(left) == 1:
        x, a = op.reshape(x, newshape=[1, left[0]]), False
    if len(right) == 1:
        y, b = op.reshape(y, newshape=[right[0], 1]), False
    made = batched(x, y, a, b)
    sizes = shape_of(made)
    if len(right) == 1:
        sizes = sizes[:-1]
        made = op.reshape(made, newshape=sizes)
    if len(left) == 1:
        sizes = [*sizes[: -2 if len(right) > 1 else -1], *sizes[len(sizes) - (1 if len(right) > 1 else 0) :]]
        made = op.reshape(made, newshape=sizes)
    return made


def mul(c: Operator):
    """The product of two tensors as matrices: the first axes are rows, the others columns."""
    first, second = c.count("x_num_col_dims", 1), c.count("y_num_col_dims", 1)
    return flat_product(c["X"], c["Y"], first, second)


def flat_product(x: Expr, y: Expr, first: int, second: int) -> Expr:
    left, right = shape_of(x), shape_of(y)
    if not 0 < first < len(left) or not 0 < second < len(right):
        raise Refused(f"it divides the axes of {left} at {first} and those of {right} at {second}")
    inner = math.prod(known(one, "a product") for one in left[first:])
    if inner != math.prod(known(one, "a product") for one in right[:second]):
        raise Refused(f"{left} and {right} do not fit together", "take the weights of this model")
    columns = right[second:]
    x = reshaped(x, [-1, inner]) if (len(left), first) != (2, 1) else x
    y = op.reshape(y, newshape=[inner, math.prod(known(one, "it") for one in columns)]) if len(right) != 2 else y
    made = op.nn.matmul(x, y)
    return made if len(left) == len(right) == 2 else op.reshape(made, newshape=[*left[:first], *columns])


def fully_connected(c: Operator):
    c.ignore("padding_weights", "use_quantizer")
    first = c.int("in_num_col_dims", 1)
    x = c["Input"]
    made = flat_product(x, c["W"], first % len(shape_of(x)) if first < 0 else first, 1)
    made = op.add(made, c["Bias"]) if c.gives("Bias") else made
    kind = c.text("activation_type", "", ("", "relu"))
    return op.nn.relu(made) if kind else made


def bmm(c: Operator):
    return batched(c.with_rank(3, "X"), c.with_rank(3, "Y"), False, False)


def mv(c: Operator):
    return product(c.with_rank(2, "X"), c.with_rank(1, "Vec"), False, False)


def dot(c: Operator):
    x, y = c["X"], c["Y"]
    made = op.sum(op.multiply(x, y), axis=[-1])
    return made


def addmm(c: Operator):
    made = batched(c["X"], c["Y"], False, False)
    alpha, beta = c.real("Alpha", 1.0), c.real("Beta", 1.0)
    made = op.multiply(made, c.number(alpha)) if alpha != 1 else made
    more = op.multiply(c["Input"], c.number(beta)) if beta != 1 else c["Input"]
    return op.add(more, made)


def multi_dot(c: Operator):
    made = c.every("X")[0]
    for one in c.every("X")[1:]:
        made = product(made, one, False, False)
    return made


def einsum(c: Operator):
    operands = c.every("Operands")
    equation = c.text("equation").replace(" ", "")
    if "->" not in equation:
        letters = sorted(one for one in set(equation) if one.isalpha() and equation.count(one) == 1)
        equation = f"{equation}->{''.join(letters)}"
    terms, result = spelled_out(equation, [len(shape_of(one)) for one in operands])
    return op.einsum(operands, equation=f"{','.join(terms)}->{result}")


def bilinear(c: Operator):
    """x W[k] y for each k, and a bias."""
    made = op.einsum([c["X"], c["Weight"], c["Y"]], equation="bi,kij,bj->bk")
    return op.add(made, op.reshape(c["Bias"], newshape=[1, -1])) if c.gives("Bias") else made


def norm_of(x: Expr, order: float, axes: list[int], keepdims: bool, epsilon: float = 0.0) -> Expr:
    def reduced(function, value: Expr) -> Expr:
        return function(value, axis=axes, keepdims=keepdims)

    if order == math.inf:
        return reduced(op.max, op.abs(x))
    if order == -math.inf:
        return reduced(op.min, op.abs(x))
    if order == 0:
        return reduced(op.sum, cast(op.not_equal(x, number(0, dtype_of(x))), dtype_of(x)))
    if order == 1:
        return reduced(op.sum, op.abs(x))
    if order == 2:
        return op.sqrt(reduced(op.sum, op.multiply(x, x)))
    powers = reduced(op.sum, op.power(op.abs(x), number(order, dtype_of(x))))
    return op.power(powers, number(1 / order, dtype_of(x)))


def p_norm(c: Operator):
    c.ignore("epsilon")
    whole, keepdims = c.flag("asvector", False), c.flag("keepdim", False)
    axes = list(range(c.rank)) if whole else [c.axis_named("axis", -1)]
    made = norm_of(c.x, c.real("porder", 2.0), axes, keepdims)
    return made


def frobenius_norm(c: Operator):
    c.ignore("in_dtype", "out_dtype")
    axes = c.list_of("dim", "Axis", [])
    whole = c.flag("reduce_all", False) or not axes
    axes = list(range(c.rank)) if whole else [axis_of(one, c.rank) for one in axes]
    return norm_of(c.x, 2.0, axes, c.flag("keep_dim", False))


def dist(c: Operator):
    difference = op.subtract(c["X"], c["Y"])
    made = norm_of(difference, c.real("p", 2.0), list(range(len(shape_of(difference)))), False)
    return made


# --- tables -----------------------------------------------------------------------------------------------------------
_TRAINING = (
    "is_sparse", "is_distributed", "remote_prefetch", "entry_config", "is_test", "entry", "table_class", "table_names",
    "trainer_id", "grad_inplace", "epmap", "height_sections", "sparse", "scale_grad_by_freq",
)  # fmt: skip


def embedding(c: Operator):
    """Rows of a table. `padding_idx` gives zeros, unless it is -1."""
    c.ignore(*_TRAINING)
    table, ids = c.with_rank(2, "W"), c["Ids"]
    sizes = shape_of(ids)
    if c.node.kind == "lookup_table":  # with an axis of one element
        if not sizes or sizes[-1] != 1:
            raise Refused(f"its ids have the shape {sizes}, whose last size is not 1")
        ids = op.reshape(ids, newshape=sizes[:-1])
    made = op.take(table, ids, axis=0, mode="checked")
    padding = c.int("padding_idx", -1)
    if padding == -1:
        return made
    is_padding = op.expand_dims(op.equal(ids, number(padding, dtype_of(ids))), axis=len(shape_of(ids)))
    return op.where(is_padding, op.zeros_like(made), made)


def row_conv(c: Operator):
    """The sum of this step and those after it, each with weights of its own: (N, T, D) or (T, D)."""
    kernel, x = c.with_rank(2, "Filter"), c.x
    steps, axis = known(shape_of(kernel)[0], "a window"), c.rank - 2
    if not is_known(shape_of(x)[axis]):
        raise Refused("the number of its steps is open", "give the sizes of the inputs")
    count = shape_of(x)[axis]
    padded = op.nn.pad(x, pad_width=[[0, steps - 1] if at == axis else [0, 0] for at in range(c.rank)])
    made = None
    for step in range(steps):
        part = op.strided_slice(padded, begin=[step], end=[step + count], axes=[axis])
        part = op.multiply(part, op.take(kernel, number(step, "int32"), axis=0))
        made = part if made is None else op.add(made, part)
    return made
