"""Dense layers, embeddings, dot products."""

from __future__ import annotations

import string

from ... import op
from ..common.problems import Refused
from .activations import activate
from .conversion import Conversion, Value, axis_of, known, new_shape, shape_of


def dense(c: Conversion):
    units, features = c.int_of("units"), c.size(-1, "the weight of a dense layer")
    if c("lora_rank"):
        raise Refused("it has LoRA weights", "merge them: save the model after `layer.lora_enabled = False`")
    kernel = c.array("kernel", [features, units])
    x = c.x if c.rank > 1 else op.expand_dims(c.x, axis=0)
    made = op.nn.dense(x, c.constant(kernel.T), units=units)
    made = made if c.rank > 1 else op.squeeze(made, axis=[0])
    if c("use_bias", True):
        made = op.add(made, c.weight("bias", [units]))
    return activate(c, c("activation"), made)


def einsum_dense(c: Conversion):
    """A product in Einstein notation, with a weight and a bias on some axes."""
    equation = c("equation")
    if not isinstance(equation, str) or equation.count(",") != 1 or equation.count("->") != 1:
        raise Refused(f"`equation` is {equation!r}")
    (left, right), result = (
        equation.replace(" ", "").split("->")[0].split(","),
        equation.replace(" ", "").split("->")[1],
    )
    kernel = c.array("kernel")
    if kernel.ndim != len(right):
        raise Refused(f"the kernel has {kernel.ndim} axes, not those of {equation}")
    left, result = _without_dots(left, result, c.rank, right)
    made = op.einsum([c.x, c.constant(kernel)], equation=f"{left},{right}->{result}")
    if c("bias_axes"):
        sizes = shape_of(made)
        made = op.add(made, c.weight("bias", _bias_shape(c("bias_axes"), result, sizes)))
    return activate(c, c("activation"), made)


def _without_dots(left: str, result: str, rank: int, right: str) -> tuple[str, str]:
    """Replaces ... by letters."""
    if "..." not in left:
        return left, result
    free = [one for one in string.ascii_letters if one not in left + right + result]
    letters = "".join(free[: rank - len(left.replace("...", ""))])
    return left.replace("...", letters), result.replace("...", letters)


def _bias_shape(axes: str, result: str, sizes: list) -> list:
    """Returns the shape of the bias: the sizes of its axes, with ones between and after them."""
    places = [result.index(one) for one in axes if one in result]
    if len(places) != len(axes) or not places:
        raise Refused(f"`bias_axes` is {axes!r}, for results {result}")
    return [known(sizes[place], "the bias") if place in places else 1 for place in range(min(places), len(result))]


def embedding(c: Conversion):
    table = c.weight("embeddings", [c.int_of("input_dim"), c.int_of("output_dim")])
    indices = op.cast(c.x, "int32") if c.dtype not in ("int32", "int64") else c.x
    mask = op.not_equal(c.x, c.number(0)) if c("mask_zero") else None
    return Value(op.take(table, indices, axis=0, mode="clip"), mask)


def reversible_embedding(c: Conversion):
    """An embedding; called with reverse=True it is a product with the transposed table."""
    if not c.kwargs.get("reverse", c.args[1] if len(c.args) > 1 else False):
        return embedding(c)
    rows, columns = c.int_of("input_dim"), c.int_of("output_dim")
    table = c.array("embeddings", [rows, columns])
    kernel = table if c("tie_weights", True) else c.array("reverse_embeddings", [columns, rows]).T
    made = op.nn.dense(c.x, c.constant(kernel), units=rows)
    if c("logit_soft_cap"):
        cap = c.number(c.number_of("logit_soft_cap"))
        made = op.multiply(op.tanh(op.divide(made, cap)), cap)
    return made


def matmul(a, b):
    """Returns NumPy's matmul of two tensors."""
    left, right = len(shape_of(a)), len(shape_of(b))
    letters = string.ascii_lowercase[: max(left, right)]
    shared = letters[: max(left, right, 2) - 2]
    first = "y" if left == 1 else shared[len(shared) - (left - 2) :] + "xy"
    second = "y" if right == 1 else shared[len(shared) - (right - 2) :] + "yz"
    result = shared + ("x" if left > 1 else "") + ("z" if right > 1 else "")
    sizes_a, sizes_b = shape_of(a), shape_of(b)
    lead = max(left, right) - 2
    if lead > 0 and (left != right or sizes_a[:-2] != sizes_b[:-2]) and left > 1 and right > 1:
        a, b = _with_batch(a, b, lead)
        first, second = shared + "xy", shared + "yz"
    return op.einsum([a, b], equation=f"{first},{second}->{result}")


def _with_batch(a, b, lead: int):
    """Returns two stacks of matrices with the same leading axes."""
    sizes_a, sizes_b = ([1] * (lead - len(shape_of(one)) + 2) + shape_of(one) for one in (a, b))
    batch = [y if x == 1 else x for x, y in zip(sizes_a[:lead], sizes_b[:lead], strict=True)]
    return (
        op.broadcast_to(op.reshape(one, newshape=new_shape(sizes)), shape=[*batch, *sizes[-2:]])
        for one, sizes in ((a, sizes_a), (b, sizes_b))
    )


def dot(c: Conversion):
    """Sums of products of two tensors along an axis of each."""
    a, b = (one.expr for one in c.inputs)
    axes = c("axes", -1)
    ranks = len(shape_of(a)), len(shape_of(b))
    axes = [axis_of(one, rank) for one, rank in zip(axes if isinstance(axes, list) else [axes] * 2, ranks, strict=True)]
    if c("normalize"):
        a, b = (l2_normalized(one, [axis]) for one, axis in zip((a, b), axes, strict=True))
    left = list("b" + string.ascii_lowercase[2 : ranks[0] + 1])
    right = list("b" + string.ascii_uppercase[2 : ranks[1] + 1])
    right[axes[1]] = left[axes[0]]
    summed = left[axes[0]]
    result = [one for one in left if one != summed] + [one for one in right[1:] if one != summed]
    made = op.einsum([a, b], equation=f"{''.join(left)},{''.join(right)}->{''.join(result)}")
    return op.expand_dims(made, axis=1) if len(result) == 1 else made


def l2_normalized(x, axes: list, epsilon: float = 1e-12):
    """x / max(norm, epsilon)."""
    squares = op.sum(op.multiply(x, x), axis=axes, keepdims=True)
    return op.multiply(x, op.rsqrt(op.maximum(squares, _like(x, epsilon**2))))


def _like(x, value):
    from .conversion import dtype_of, number

    return number(value, dtype_of(x))
