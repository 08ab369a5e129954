"""Operators defined in Python: relay.op.define.

    swish = relay.op.define(
        "mine.swish",
        inputs=["x"],
        attributes={"beta": 1.0},
        relation=lambda x, beta: x,
        compute=lambda x, beta: te.compute(x.shape, lambda *i: x[i] * te.sigmoid(beta * x[i])),
        fusion="elementwise",
    )
    relay.op.mine.swish(data, beta=1.5)

See docs/python-operators.md.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence

from .. import _core
from ..data.callbacks import keep_operator
from ..errors import bad_option
from .make import document, function_of, namespace

__all__ = ["define"]


def _refuse_wrong_names(operator: str, inputs: Sequence[str], attributes: dict) -> None:
    """Refuses names of inputs and attributes that the operator's function cannot have as parameters."""
    if not isinstance(operator, str):
        raise bad_option(f"the name of an operator is a {type(operator).__name__}", "give a text, such as mine.swish")
    if isinstance(inputs, str):
        raise bad_option(f"the inputs of {operator} are the text {inputs!r}", f"give a list: inputs=[{inputs!r}]")
    names = [one.removesuffix("*") if isinstance(one, str) else one for one in [*inputs, *attributes]]
    for at, one in enumerate(names):
        if not isinstance(one, str) or not one.isidentifier() or keyword.iskeyword(one):
            raise bad_option(f"{one!r} cannot be the name of an input or attribute", "give a name such as x or axis")
        if one in names[:at]:
            raise bad_option(f"two inputs or attributes of {operator} are called {one}", "give each its own name")


def _kind(name: str, value) -> str:
    """Returns the type of an attribute, from its default."""
    kinds = {bool: "bool", int: "int", float: "float", str: "string"}
    if type(value) in kinds:
        return kinds[type(value)]
    if isinstance(value, (list, tuple)) and value and len({type(v) for v in value}) == 1:
        one = kinds.get(type(value[0]))
        if one in ("int", "float", "string"):
            return f"list of {one}s"
    raise TypeError(f"the attribute {name} cannot have the default {value!r}: a number, a bool, a string, or a list")


def define(
    name: str,
    *,
    inputs: Sequence[str],
    relation: Callable,
    compute: Callable | None = None,
    callback: Callable | None = None,
    gradient: Callable | None = None,
    attributes: dict | None = None,
    fusion: str = "opaque",
    doc: str = "",
) -> Callable:
    """Defines an operator for this process, and returns the function that makes calls of it.

    name: words separated by points: "mine.swish" defines the function relay.op.mine.swish.
    inputs: their names. An input that ends in "*" is a tuple of tensors, which is passed as separate arguments.
    attributes: by name, with defaults. All functions below get the attributes by name.

    relation(types of the inputs): returns the type of the result, or a TupleType; an exception refuses the call. Types
    may have sizes that are not numbers (relay.Dim). Each size of a result is an expression over numbers and sizes of
    inputs.
    compute(te.Tensor, ..): returns tensor expressions of the results (relay.te), which are compiled to kernels.
    callback(NumPy arrays): returns the results as arrays, of exactly the types of the relation; an alternative to
    compute. It is called in every run, from any thread, one call at a time. It must not change its inputs, and must
    return the same results for the same inputs.
    gradient(inputs .., result, gradient of the result): returns expressions of the gradients of the inputs, each of its
    input's type, or None for an input that the result does not depend on smoothly. A list, or a single expression for
    an operator of one input.
    fusion: how a tensor expression may share a kernel: "elementwise", "broadcast", "injective", "reduce", "output
    fusable" or "opaque".
    """
    if (compute is None) == (callback is None):
        raise TypeError("give either compute, a tensor expression, or callback, a function of arrays")
    if callback is not None and fusion != "opaque":
        raise TypeError("a callback cannot be fused: leave out fusion")
    attributes = attributes or {}
    _refuse_wrong_names(name, inputs, attributes)
    for what, function in (
        ("relation", relation),
        ("compute", compute or relation),
        ("callback", callback or relation),
    ):
        if not callable(function):
            raise bad_option(f"{what} of {name} is a {type(function).__name__}", f"give {what} a function")
    described = [(field, _kind(field, value), value, False) for field, value in attributes.items()]
    described_inputs = [(one.rstrip("*"), "", one.endswith("*")) for one in inputs]
    doc = doc or f"An operator defined in Python, computed by {'a callback' if callback else 'a tensor expression'}."
    _core.define_operator(name, doc, described_inputs, described, fusion, relation, compute, callback,
                          gradient and _gradients(name, gradient, len(described_inputs)))  # fmt: skip
    if callback is not None:
        keep_operator(name, callback)
    return _published(name, doc, described_inputs, attributes)


def _gradients(name: str, gradient: Callable, count: int) -> Callable:
    """Returns the gradient in the compiler's form: it takes the inputs as a list, and returns a list with an entry for
    each."""

    def run(inputs: list, result: _core.Expr, seed: _core.Expr, **attributes) -> list:
        made = gradient(*inputs, result, seed, **attributes)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(made) != count:
            raise TypeError(
                f"the gradient of {name} returns {len(made)} expressions, but the operator has {count} inputs"
            )
        for one in made:
            if one is not None and not isinstance(one, _core.Expr):
                raise TypeError(f"the gradient of {name} gives a {type(one).__name__}, not an expression or None")
        return made

    return run


def _published(name: str, doc: str, inputs: list, attributes: dict) -> Callable:
    kinds = {field: _kind(field, value) for field, value in attributes.items()}
    definition = {
        "name": name,
        "doc": doc,
        "inputs": inputs,
        "attributes": [(field, "", kinds[field], False, value) for field, value in attributes.items()],
    }
    *path, last = name.split(".")
    function = function_of(definition)
    function.__doc__, function.__name__, function.__qualname__ = document(definition), last, name
    if not hasattr(namespace(path), last):
        setattr(namespace(path), last, function)
    return function
