"""TorchScript operators on Python values: numbers, lists, dicts, strings, sizes.

A tensor in place of a number stays a tensor, so conditions on elements are tensors too.
"""

from __future__ import annotations

import contextlib
import copy
import math
import operator

import torch

from . import script_sizes


class NotTraceable(Exception):
    """A construct of the TorchScript graph that cannot be followed; the text describes it."""


def _size(tensor, dim=None):
    return list(tensor.shape) if dim is None else tensor.shape[dim]


def _select(tensor, dim, index):
    """Reads an element. An index that is computed from elements is an element of a vector of indices."""
    if not isinstance(index, torch.Tensor):
        return torch.ops.aten.select.int(tensor, dim, index)
    return torch.ops.aten.index_select.default(tensor, dim, index.reshape(1)).squeeze(dim)


def _whole(x):
    if isinstance(x, torch.Tensor):
        return x.to(torch.int64) if x.is_floating_point() else x
    return x if isinstance(x, torch.SymInt) else int(x)


def _both(a, b):
    return torch.logical_and(*tensors(a, b)) if any_tensor(a, b) else a and b


def _either(a, b):
    return torch.logical_or(*tensors(a, b)) if any_tensor(a, b) else a or b


def _not(a):
    return torch.logical_not(a) if isinstance(a, torch.Tensor) else not a


def any_tensor(*values) -> bool:
    return any(isinstance(one, torch.Tensor) for one in values)


def tensors(*values) -> list:
    """Returns numbers as tensors that an operator makes. Constants of a branch would be attributes of the graph."""
    kinds = {bool: torch.bool, int: torch.int64, float: torch.float64}
    values = script_sizes.as_tensors(list(values))
    if wrong := [one for one in values if not isinstance(one, torch.Tensor) and type(one) not in kinds]:
        raise NotTraceable(f"a {type(wrong[0]).__name__} that depends on elements")
    return [one if isinstance(one, torch.Tensor) else torch.full([], one, dtype=kinds[type(one)]) for one in values]


# Operators on numbers, lists and tuples, and operators that make conditions. A tensor stays a tensor.
_PYTHON = {
    "aten::len": len, "aten::__getitem__": operator.getitem, "aten::append": lambda to, one: to.append(one) or to,
    "aten::select": _select, "aten::size": _size, "aten::dim": lambda x: x.dim(), "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::__and__": _both, "aten::__or__": _either, "aten::__not__": _not, "aten::Bool": lambda x: x,
    "aten::Int": _whole,
    "aten::IntImplicit": lambda x: x,
    "aten::Float": lambda x: x if isinstance(x, torch.Tensor) else float(x), "aten::FloatImplicit": lambda x: x,
    "aten::ScalarImplicit": lambda x: x, "aten::item": lambda x: x, "prim::unchecked_cast": lambda x: x,
    "prim::NumToTensor": lambda x: script_sizes.Sizes([x], True) if isinstance(x, torch.SymInt) else tensors(x)[0],
    "prim::dtype": lambda x: x.dtype, "prim::device": lambda x: x.device, "prim::Uninitialized": lambda: None,
    "prim::min": min, "prim::max": max, "prim::data": lambda x: x.detach(), "aten::list": list,
    "prim::ListConstruct": lambda *items: list(items), "prim::TupleConstruct": lambda *items: tuple(items),
    "prim::TupleIndex": operator.getitem, "aten::warn": lambda *said: None, "aten::format": lambda text, *v: text,
    "aten::is_floating_point": lambda x: x.is_floating_point(), "aten::numel": lambda x: x.numel(),
    "prim::DictConstruct": lambda *items: dict(zip(items[::2], items[1::2], strict=True)),
    "aten::__contains__": operator.contains, "prim::type": lambda device: device.type,
    "prim::requires_grad": lambda x: x.requires_grad, "prim::is_nested": lambda x: x.is_nested,
    "aten::is_grad_enabled": torch.is_grad_enabled, "aten::is_autocast_enabled": torch.is_autocast_enabled,
    "prim::is_cuda": lambda x: False, "prim::layout": lambda x: x.layout, "prim::Print": lambda *said: None,
}  # fmt: skip
_NUMBERS = {
    "add": lambda a, b, times=1: a + times * b, "sub": lambda a, b, times=1: a - times * b, "mul": operator.mul,
    "floordiv": operator.floordiv, "div": operator.truediv,
    "remainder": operator.mod, "mod": operator.mod, "pow": operator.pow, "neg": operator.neg, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "sqrt": math.sqrt,
    "ceil": math.ceil, "floor": math.floor, "abs": abs,
}  # fmt: skip


def _set(to, place, value):
    to[place] = value
    return to


def _append_all(to: list, more: list) -> list:
    to.extend(more)
    return to


# Operators on lists and dicts that have another name or other arguments in Python.
_CONTAINERS = {
    "slice": lambda items, begin, end, step: items[begin:end:step], "_set_item": _set, "Delete": operator.delitem,
    "add_": _append_all, "sort": lambda items, reverse: items.sort(reverse=reverse), "sorted": sorted, "sum": sum,
    "any": any, "all": all, "dict": dict, "keys": list, "values": lambda of: list(of.values()),
    "items": lambda of: list(of.items()),
}  # fmt: skip
_SEARCHES = (str.startswith, str.endswith, str.find, str.rfind, str.index, str.rindex, str.count)


def called(node, given: list):
    """Returns the result of the node's operator on these values, or NotImplemented for an operator on tensors."""
    kind = node.kind()
    if kind in _PYTHON:
        return _PYTHON[kind](*given)
    name = kind.partition("::")[2]
    if name in _NUMBERS and not (any_tensor(*given) and "Tensor" in node.schema().partition("->")[0]):
        return _NUMBERS[name](*given)  # numbers, of which one may be an element
    own = None
    if given and isinstance(given[0], list | dict | str):
        own = _CONTAINERS.get(name) or getattr(type(given[0]), name, None)
    if own in _SEARCHES and given[-1] == -1:
        given = given[:-1]  # to the end
    return NotImplemented if own is None else own(*given)


def _entries(of: list | dict) -> list:
    return [(at, id(one)) for at, one in (of.items() if isinstance(of, dict) else enumerate(of))]


@contextlib.contextmanager
def unchanged(values: dict):
    """Refuses changes to lists and dicts from outside in blocks that may run never or many times, because the change
    would apply once."""
    before = {name: copy.copy(value) for name, value in values.items() if isinstance(value, list | dict)}
    yield
    for name, old in before.items():
        if _entries(values[name]) != _entries(old):
            raise NotTraceable(f"the {type(old).__name__} {name}, which a block changes that depends on elements")
