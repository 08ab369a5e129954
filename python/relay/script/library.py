"""Functions of NumPy and Python with a counterpart in Relay."""

from __future__ import annotations

import ast

import numpy as np

from .. import op
from .._core import Clause, GlobalVar, Match, PatternConstructor, PatternWildcard, TensorType, Tuple, TupleType
from .datatypes import LIST, TypeCall, is_list
from .elementwise import BINARY_FUNCTIONS, DTYPES, FLOAT_UNARY, REDUCTIONS, UNARY, is_float, operator_of
from .expressions import Expressions, Method, is_static, op_bool
from .loops import Range, Unrolled
from .problems import an
from .values import PENDING, POISON, Sym, is_unknown


class Library(Expressions):
    """Translates calls of functions of NumPy and Python, and methods of arrays."""

    # --- functions of NumPy and Python --------------------------------------------------------------------------------
    def _known(self, callee, args: list, named: dict, node: ast.Call, static: bool):
        """Returns the result of a function with a counterpart, or NotImplemented."""
        key = id(callee)
        if static and not (key in DTYPES and args and not isinstance(args[0], (bool, int, float))):
            return NotImplemented
        if key in DTYPES and len(args) == 1:
            value = self.sym(args[0], node)
            if not is_unknown(value) and callee in (int, float, bool) and not value.is_scalar:
                return self.fail(
                    "P0207",
                    f"`{callee.__name__}` needs a scalar, but gets {an(value.type)}",
                    node,
                    "use x.astype(..) for an array",
                )
            return value if is_unknown(value) else self.cast(value, DTYPES[key], node)
        if key in FLOAT_UNARY or key in UNARY:
            return self._unary(FLOAT_UNARY.get(key) or UNARY[key], key in FLOAT_UNARY, args, node)
        if key in BINARY_FUNCTIONS and len(args) == 2:
            return self._two(BINARY_FUNCTIONS[key], args, node)
        if callee in (max, min) and len(args) == 2:
            return self._two("maximum" if callee is max else "minimum", args, node)
        if key in REDUCTIONS and callee not in (max, min, sum):
            value = self.sym(args[0], node)
            return value if is_unknown(value) else self._reduced(REDUCTIONS[key], value, args[1:], named, node)
        special = _SPECIAL.get(callee) if _hashable(callee) else None
        return getattr(self, special)(args, named, node) if special else NotImplemented

    def _unary(self, name: str, of_float: bool, args: list, node: ast.AST):
        value = self.sym(args[0], node)
        if is_unknown(value):
            return value
        if not value.is_tensor:
            return self.fail(
                "P0207",
                f"`{ast.unparse(node.func)}` needs an array, but gets {an(value.type)}",
                node,
                "take its fields or elements first",
            )
        if of_float and not is_float(value.dtype):
            value = self.cast(value, "float32", node)
        return self.emit(lambda: operator_of(name)(value.expr), node)

    def _two(self, name: str, args: list, node: ast.AST):
        pair = self.pair(args[0], args[1], node, ast.unparse(node.func))
        return POISON if pair is None else self.emit(lambda: operator_of(name)(pair[0].expr, pair[1].expr), node)

    def _reduced(self, name: str, value: Sym, args: list, named: dict, node: ast.AST):
        if not value.is_tensor:
            return self.fail(
                "P0207", f"`{name}` needs an array, but gets {an(value.type)}", node, "use a loop over the list"
            )
        axis = args[0] if args else named.get("axis")
        extra = set(named) - {"axis", "keepdims"}
        if extra:
            return self.fail(
                "P0207", f"`{name}` has no argument `{min(extra)}` in a script", node, "give axis and keepdims only"
            )
        if isinstance(axis, tuple):
            axis = list(axis)
        keep = bool(named.get("keepdims", False))
        if name == "mean" and not is_float(value.dtype):
            value = self.cast(value, "float32", node)
        return self.emit(lambda: operator_of(name)(value.expr, axis=axis, keepdims=keep), node)

    def _len(self, args: list, named: dict, node: ast.AST):
        value = args[0]
        if isinstance(value, (tuple, list)):
            return len(value)
        if isinstance(value.type, TupleType):
            return len(value.type.fields)
        if is_list(value.type):
            return self.computed(GlobalVar("length")(value.expr), TensorType((), "int32"), "length")
        if value.is_tensor and len(value.type.shape):
            return self.size(value, 0, node)
        return self.fail("P0207", f"{an(value.type)} has no length", node, "use an array, a list or a tuple")

    def _where(self, args: list, named: dict, node: ast.AST):
        if len(args) != 3:
            return self.fail(
                "P0207", "`np.where` needs a condition and two values", node, "use relay.argwhere for the indices"
            )
        condition = self.sym(args[0], node)
        pair = self.pair(args[1], args[2], node, "np.where")
        if pair is None or is_unknown(condition):
            return POISON
        return self.emit(lambda: op.where(condition.expr, pair[0].expr, pair[1].expr), node)

    def _dot(self, args: list, named: dict, node: ast.AST):
        return self.matmul(args[0], args[1], node)

    def _joined_arrays(self, args: list, named: dict, node: ast.Call, function):
        axis = args[1] if len(args) > 1 else named.get("axis", 0)
        parts = args[0]
        if isinstance(parts, (tuple, list)):
            fields = [self.sym(one, node) for one in parts]
        elif isinstance(parts.type, TupleType):
            fields = list(self.fields(self.bound("parts", parts)))
        else:
            what = f"`{ast.unparse(node.func)}` needs a known number of arrays, but gets {an(parts.type)}"
            return self.fail("P0207", what, node, "give a tuple of arrays")
        if is_unknown(*fields):
            return PENDING if PENDING in fields else POISON
        return self.emit(lambda: function(Tuple([one.expr for one in fields]), axis=axis), node)

    def _concatenate(self, args, named, node):
        return self._joined_arrays(args, named, node, op.concatenate)

    def _stack(self, args, named, node):
        return self._joined_arrays(args, named, node, op.stack)

    def _reshape(self, args: list, named: dict, node: ast.AST):
        return self._method(Method(self.sym(args[0], node), "reshape"), args[1:], named, node)

    def _transpose(self, args: list, named: dict, node: ast.AST):
        return self._method(Method(self.sym(args[0], node), "transpose"), args[1:], named, node)

    def _clip(self, args: list, named: dict, node: ast.AST):
        return self._method(Method(self.sym(args[0], node), "clip"), args[1:], named, node)

    def _expand_dims(self, args: list, named: dict, node: ast.AST):
        axis = args[1] if len(args) > 1 else named.get("axis", 0)
        value = self.sym(args[0], node)
        return value if is_unknown(value) else self.emit(lambda: op.expand_dims(value.expr, axis=axis), node)

    def _full(self, args: list, named: dict, node: ast.AST):
        value = self.sym(args[1], node)
        return value if is_unknown(value) else self.emit(lambda: op.full(value.expr, shape=list(args[0])), node)

    def _enumerate(self, args: list, named: dict, node: ast.AST):
        over = args[0]
        if isinstance(over, (list, tuple)):
            return [(at, one) for at, one in enumerate(over)]
        return self.fail("P0207", "`enumerate` needs values that are known", node, "count in a variable: i = i + 1")

    def _zip(self, args: list, named: dict, node: ast.AST):
        if all(isinstance(one, (list, tuple)) for one in args):
            return [tuple(one) for one in zip(*args, strict=False)]
        values = [self.sym(one, node) for one in args]
        if is_unknown(*values):
            return POISON
        if len(values) == 2 and all(is_list(one.type) for one in values):
            kind = TypeCall(LIST, [TupleType([one.type.args[0] for one in values])])
            return self.computed(GlobalVar("zip")(*[one.expr for one in values]), kind, "pairs")
        return self.fail("P0207", "`zip` needs two lists", node, "use an index: for i in range(len(x))")

    def _reversed(self, args: list, named: dict, node: ast.AST):
        value = args[0]
        if isinstance(value, (list, tuple)):
            return list(value)[::-1]
        if is_list(value.type):
            return self.computed(GlobalVar("rev")(value.expr), value.type, "reversed")
        return self.emit(lambda: op.reverse(value.expr, axis=0), node)

    def _sum(self, args: list, named: dict, node: ast.AST):
        values = args[0]
        if isinstance(values, (list, tuple)):
            total = args[1] if len(args) > 1 else 0
            for one in values:
                total = self.binary(ast.Add(), total, one, node)
            return total
        if values.is_tensor:
            return self._reduced("sum", values, [0], {}, node)
        return self.fail("P0207", "`sum` needs an array or known values", node, "use a loop")

    def _list_of(self, args: list, named: dict, node: ast.AST):
        if not args:
            return []
        if isinstance(args[0], Sym) and is_list(args[0].type):
            return args[0]
        return list(args[0]) if isinstance(args[0], (tuple, list)) else self.refused(list, node)

    def _isinstance(self, args: list, named: dict, node: ast.AST):
        data_type = self.data_type_of(args[0])
        if data_type is None or getattr(args[1], "__relay_type__", None) is not data_type:
            return self.fail(
                "P0207", "`isinstance` needs a value of a relay.data_type and one of its cases", node, "use match"
            )
        return self.is_case(args[0], data_type, args[1])

    def is_case(self, value: Sym, data_type, cls: type):
        constructor = data_type.constructor(cls)
        pattern = PatternConstructor(constructor, [PatternWildcard() for _ in constructor.inputs])
        clauses = [Clause(pattern, op_bool(True))]
        if len(data_type.cases) > 1:
            clauses.append(Clause(PatternWildcard(), op_bool(False)))
        return self.computed(Match(value.expr, clauses), TensorType((), "bool"), "is_case")

    def _unrolled(self, args: list, node: ast.AST):
        over = args[0]
        if isinstance(over, (list, tuple)):
            return Unrolled(over)
        if isinstance(over, Range) and isinstance(over.begin, int) and isinstance(over.end, int):
            return Unrolled(range(over.begin, over.end, over.step))
        if isinstance(over, Sym) and over.is_tensor and len(over.type.shape) and isinstance(over.type.shape[0], int):
            return Unrolled(self.elements(over, over.type.shape[0], node))
        return self.fail(
            "P0213", "the number of iterations is not known when the function is compiled", node, "remove relay.unroll"
        )

    def _range(self, args: list, node: ast.AST):
        bounds = args if len(args) > 1 else [0, *args]
        step = bounds[2] if len(bounds) > 2 else 1
        if not isinstance(step, int) or step == 0:
            return self.fail(
                "P0207",
                "the step of a range must be a known int other than 0",
                node,
                "write the step as a number, or use `while`",
            )
        for one in bounds[:2]:
            of_int = isinstance(one, int) or (isinstance(one, Sym) and one.is_scalar and one.dtype.startswith("int"))
            if not of_int:
                what = an(one.type) if isinstance(one, Sym) else f"a {type(one).__name__}"
                return self.fail(
                    "P0207", f"a bound of a range must be an int, but is {what}", node, "convert it with int(..)"
                )
        return Range(bounds[0], bounds[1], step)

    def _method(self, method: Method, args: list, named: dict, node: ast.AST):
        value, name = method.value, method.name
        if is_unknown(value):
            return value
        if name in REDUCTIONS.values():
            return self._reduced(name, value, args, named, node)
        if name == "astype":
            dtype = DTYPES.get(id(args[0])) or str(args[0])
            return self.cast(value, dtype, node)
        if name in ("flatten", "ravel"):
            return self.emit(lambda: op.reshape(value.expr, newshape=[-1]), node)
        if name == "reshape":
            shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
            if not is_static(list(shape)):
                return self.fail("P0207", "the sizes of `reshape` must be known", node, "write -1 for one open size")
            return self.emit(lambda: op.reshape(value.expr, newshape=[int(one) for one in shape]), node)
        if name == "transpose":
            axes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
            return self.emit(lambda: op.transpose(value.expr, axes=list(axes) or None), node)
        if name == "squeeze":
            axis = args[0] if args else named.get("axis")
            return self.emit(
                lambda: op.squeeze(value.expr, axis=axis if axis is None or isinstance(axis, list) else [axis]), node
            )
        if name == "clip":
            return self.emit(lambda: op.clip(value.expr, float(args[0]), float(args[1])), node)
        return (
            value if name == "copy" or value.is_scalar else self.emit(lambda: op.reshape(value.expr, newshape=[]), node)
        )


def _hashable(value) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_SPECIAL = {
    len: "_len",
    np.where: "_where",
    np.matmul: "_dot",
    np.dot: "_dot",
    np.concatenate: "_concatenate",
    np.stack: "_stack",
    np.reshape: "_reshape",
    np.transpose: "_transpose",
    np.clip: "_clip",
    np.expand_dims: "_expand_dims",
    np.full: "_full",
    enumerate: "_enumerate",
    zip: "_zip",
    reversed: "_reversed",
    sum: "_sum",
    list: "_list_of",
    isinstance: "_isinstance",
}
