"""Expressions: operators, comparisons, logic, attributes and comprehensions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator

from .. import op
from .._core import (
    Clause,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    PatternConstructor,
    PatternVar,
    TensorType,
    TupleType,
    Var,
    suggestions,
)
from ..errors import InputError
from ..ir.expr import const
from .base import wrapped
from .datatypes import LIST, TypeCall, annotated, define_types, is_list
from .elementwise import BINARY, COMPARE, REDUCTION_METHODS, SIGNS, common, is_float, operator_of
from .indexing import Indexing
from .loops import Loops
from .problems import an
from .statements import dtype_for
from .values import PENDING, POISON, Clash, Closure, Env, Sym, Unset, is_unknown

_PYTHON = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


def is_static(value) -> bool:
    """Returns true if no part of a value is known at run time only."""
    if isinstance(value, (tuple, list)):
        return all(map(is_static, value))
    return not isinstance(value, (Sym, Expr, Unset, Clash, Closure)) and not is_unknown(value)


class Expressions(Loops, Indexing):
    """Translates expressions. Each method returns a value: of Python, or a Sym."""

    def expression(self, node: ast.expr, env: Env):
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            return self.fail(
                "P0102", f"`{ast.unparse(node)}` cannot be scripted", node, "write it with operators and calls"
            )
        return method(node, env)

    def _constant(self, node: ast.Constant, env: Env):
        return node.value

    def _name(self, node: ast.Name, env: Env):
        found = env.find(node.id)
        if found is not None:
            value = found.values[node.id]
            return self.unusable(node.id, value, node) if isinstance(value, (Unset, Clash)) else value
        known, value = self.frame.scope.find(node.id)
        if known:
            return value
        near = suggestions(node.id, [*env.values, *self.frame.scope.names()], 1)
        help = f"did you mean `{near[0]}`?" if near else "give it a value before its use"
        return self.fail("P0201", f"`{node.id}` is not defined", node, help)

    def _tuple(self, node: ast.Tuple, env: Env):
        return tuple(self.expression(one, env) for one in node.elts)

    def _list(self, node: ast.List, env: Env):
        return [self.expression(one, env) for one in node.elts]

    def _lambda(self, node: ast.Lambda, env: Env):
        return Closure(node, env, self.frame.scope)

    def _namedexpr(self, node: ast.NamedExpr, env: Env):
        self.assign(node.target, self.expression(node.value, env), env, node)
        return env.values[node.target.id]

    # --- arithmetic ---------------------------------------------------------------------------------------------------
    def _binop(self, node: ast.BinOp, env: Env):
        return self.binary(node.op, self.expression(node.left, env), self.expression(node.right, env), node)

    def binary(self, kind: ast.operator, left, right, node: ast.AST):
        """Returns left OP right."""
        if is_unknown(left, right):
            return PENDING if PENDING in (left, right) else POISON
        both_sequences = isinstance(left, (list, tuple)) and isinstance(right, (list, tuple))
        if (is_static(left) and is_static(right)) or both_sequences:
            return self.in_python(_PYTHON[type(kind)], (left, right), node)
        if isinstance(kind, ast.Add) and any(isinstance(one, Sym) and is_list(one.type) for one in (left, right)):
            return self._concatenated(left, right, node)
        if isinstance(kind, ast.MatMult):
            return self.matmul(left, right, node)
        pair = self.pair(left, right, node, SIGNS[type(kind)])
        if pair is None:
            return POISON
        a, b = pair
        if isinstance(kind, ast.Div) and not is_float(a.dtype):
            a, b = self.cast(a, "float32", node), self.cast(b, "float32", node)
        name = BINARY[type(kind)]
        if name.startswith("bitwise") and a.dtype == "bool":
            name = name.replace("bitwise", "logical")
        return self.emit(lambda: operator_of(name)(a.expr, b.expr), node)

    def pair(self, left, right, node: ast.AST, sign: str):
        """Returns two operands as tensors of one element type, or None behind a problem. A plain number takes that of
        the other operand; otherwise the wider one is taken, and the float of a float and an integer."""
        plain = (bool, int, float)
        if isinstance(left, plain) and not isinstance(right, plain):
            b = self.sym(right, node)
            a = self.sym(left, node, self._dtype_beside(left, b))
        else:
            a = self.sym(left, node)
            b = self.sym(right, node, self._dtype_beside(right, a) if isinstance(right, plain) else None)
        if is_unknown(a, b):
            return None
        for one in (a, b):
            if not one.is_tensor:
                self.fail(
                    "P0207",
                    f"`{sign}` needs arrays or numbers, but one side is {an(one.type)}",
                    node,
                    "take its fields or elements first",
                )
                return None
        wide = common(a.dtype, b.dtype)
        return self.cast(a, wide, node), self.cast(b, wide, node)

    def _dtype_beside(self, number, other) -> str | None:
        if not isinstance(other, Sym) or not other.is_tensor or isinstance(number, bool):
            return None
        if isinstance(number, float) and not is_float(other.dtype):
            return "float32"
        return other.dtype if other.dtype != "bool" else None

    def in_python(self, function, values, node: ast.AST):
        """Returns the result of a function of known values."""
        try:
            result = function(*values)
            return list(result) if isinstance(result, Iterator) else result
        except Exception as error:
            return self.fail(
                "P0207",
                f"{type(error).__name__}: {error}",
                node,
                "correct the values: they are known when the function is compiled",
            )

    def matmul(self, left, right, node: ast.AST):
        """Returns left @ right, as NumPy defines it for one to three axes."""
        pair = self.pair(left, right, node, "@")
        if pair is None:
            return POISON
        a, b = pair
        ranks = len(a.type.shape), len(b.type.shape)
        if 0 in ranks:
            return self.fail(
                "P0207", f"`@` needs arrays, but the sides are {an(a.type)} and {an(b.type)}", node, "use * for numbers"
            )

        def make():
            x = op.expand_dims(a.expr, axis=0) if ranks[0] == 1 else a.expr
            y = op.expand_dims(b.expr, axis=1) if ranks[1] == 1 else b.expr
            if max(ranks) > 2:
                x = op.expand_dims(x, axis=0) if ranks[0] <= 2 else x
                y = op.expand_dims(y, axis=0) if ranks[1] <= 2 else y
                out = op.nn.batch_matmul(x, y, transpose_b=False)
            else:
                out = op.nn.matmul(x, y)
            gone = ([-2] if ranks[0] == 1 else []) + ([-1] if ranks[1] == 1 else [])
            return op.squeeze(out, axis=gone) if gone else out

        if max(ranks) > 3:
            return self.fail(
                "P0207",
                f"`@` of {an(a.type)} and {an(b.type)} has more than three axes",
                node,
                "join axes with reshape first",
            )
        return self.emit(make, node)

    def _concatenated(self, left, right, node: ast.AST):
        kind = next(one.type for one in (left, right) if isinstance(one, Sym))
        a, b = (self.sym(one, node, type_=kind) for one in (left, right))
        if is_unknown(a, b):
            return PENDING if PENDING in (a, b) else POISON
        if a.type != b.type:
            return self.fail(
                "P0203",
                f"lists of different types are joined: {a.type} and {b.type}",
                node,
                "give elements of one type",
            )
        return self.computed(GlobalVar("concat")(a.expr, b.expr), kind, "joined")

    def _unaryop(self, node: ast.UnaryOp, env: Env):
        value = self.expression(node.operand, env)
        if is_unknown(value):
            return value
        if is_static(value):
            return self.in_python(_PYTHON[type(node.op)], (value,), node)
        if isinstance(node.op, ast.Not):
            value = self.truth(value, node.operand, "`not`")
            return value if is_unknown(value) else self.emit(lambda: op.logical_not(value.expr), node)
        value = self.sym(value, node)
        if is_unknown(value) or isinstance(node.op, ast.UAdd):
            return value
        if not value.is_tensor:
            return self.fail("P0207", f"{an(value.type)} has no sign", node, "take its fields or elements first")
        names = {ast.USub: "negative", ast.Invert: "logical_not" if value.dtype == "bool" else "bitwise_not"}
        return self.emit(lambda: operator_of(names[type(node.op)])(value.expr), node)

    # --- comparisons and logic ----------------------------------------------------------------------------------------
    def _compare(self, node: ast.Compare, env: Env):
        left, results = self.expression(node.left, env), []
        for kind, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.expression(right_node, env)
            if len(node.ops) > 1:
                right = self.bound("middle", right)
            results.append(self._compared(kind, left, right, node))
            left = right
        if len(results) == 1:
            return results[0]
        return self._all([lambda one=one: one for one in results], node, "a chained comparison")

    def _compared(self, kind, left, right, node: ast.AST):
        if isinstance(kind, (ast.Is, ast.IsNot)):  # of None: the checker refuses others
            value = left if right is None else right
            return (value is None) == isinstance(kind, ast.Is) if not is_unknown(value) else value
        if is_unknown(left, right):
            return PENDING if PENDING in (left, right) else POISON
        if is_static(left) and is_static(right):
            return self.in_python(_PYTHON[type(kind)], (left, right), node)
        pair = self.pair(left, right, node, SIGNS[type(kind)])
        if pair is None:
            return POISON
        return self.emit(lambda: operator_of(COMPARE[type(kind)])(pair[0].expr, pair[1].expr), node)

    def _boolop(self, node: ast.BoolOp, env: Env):
        word = "and" if isinstance(node.op, ast.And) else "or"
        parts = [lambda one=one: self.expression(one, env) for one in node.values]
        return self._all(parts, node, f"`{word}`") if word == "and" else self._any(parts, node, f"`{word}`")

    def _all(self, parts, node: ast.AST, what: str):
        return self._logic(parts, node, what, stops_at=False)

    def _any(self, parts, node: ast.AST, what: str):
        return self._logic(parts, node, what, stops_at=True)

    def _logic(self, parts, node: ast.AST, what: str, stops_at: bool):
        """Returns the conjunction or disjunction of scalars. The later ones are computed only if they are needed."""
        value = parts[0]()
        if is_static(value) and not isinstance(value, (list, tuple)):
            if bool(value) is stops_at or len(parts) == 1:
                return value
            return self._logic(parts[1:], node, what, stops_at)
        value = self.truth(value, node, what)
        if is_unknown(value) or len(parts) == 1:
            if len(parts) > 1:
                self._logic(parts[1:], node, what, stops_at)
            return value
        self.bindings.append([])
        other = self._logic(parts[1:], node, what, stops_at)
        other = self.truth(other, node, what) if not is_unknown(other) else other
        bound = self.bindings.pop()
        if is_unknown(other):
            return other
        stop, more = op_bool(stops_at), wrapped(bound, other.expr)
        whole = If(value.expr, stop, more) if stops_at else If(value.expr, more, stop)
        return self.computed(whole, TensorType((), "bool"), "both")

    def truth(self, value, node: ast.AST, what: str):
        """Returns a scalar bool."""
        value = self.sym(value, node)
        if is_unknown(value) or (value.is_scalar and value.dtype == "bool"):
            return value
        if value.is_tensor and len(value.type.shape):
            return self.fail(
                "P0205",
                f"{what} needs scalars, but one side is {an(value.type)}",
                node,
                "use & and |, or np.logical_and, for each element; np.all or np.any for one result",
            )
        return self.fail("P0205", f"{what} needs a bool, but one side is {an(value.type)}", node, "compare it: x != 0")

    def condition(self, node: ast.expr, env: Env):
        """Returns the value of a test: a bool that is known, or a scalar."""
        value = self.expression(node, env)
        if is_unknown(value):
            return value
        if is_static(value):
            return self.in_python(bool, (value,), node)
        value = self.sym(value, node)
        if is_unknown(value) or (value.is_scalar and value.dtype == "bool"):
            return value
        if value.is_tensor and len(value.type.shape):
            return self.fail(
                "P0204",
                f"a condition must be one bool, but is {an(value.type)}",
                node,
                "use np.all(..) or np.any(..) for one result, np.where(..) to choose for each element",
            )
        return self.fail("P0204", f"a condition must be a bool, but is {an(value.type)}", node, "compare it: x != 0")

    def _ifexp(self, node: ast.IfExp, env: Env):
        target = ast.copy_location(ast.Name("chosen", ast.Store()), node)
        branch = ast.If(
            node.test,
            [
                ast.copy_location(
                    ast.Assign([ast.copy_location(ast.Name("chosen", ast.Store()), node.body)], node.body), node.body
                )
            ],
            [
                ast.copy_location(
                    ast.Assign([ast.copy_location(ast.Name("chosen", ast.Store()), node.orelse)], node.orelse),
                    node.orelse,
                )
            ],
        )
        inner = Env({}, {}, env)
        condition = self.condition(node.test, env)
        if isinstance(condition, bool):
            return self.expression(node.body if condition else node.orelse, env)
        if is_unknown(condition):
            self.expression(node.body, env), self.expression(node.orelse, env)
            return condition
        ways = [(branch.body, None), (branch.orelse, None)]
        self.joined(ast.copy_location(branch, node), ways, inner, lambda parts: If(condition.expr, *parts))
        value = inner.values.get("chosen", POISON)
        if isinstance(value, Clash):
            first, second = value.first[1], value.message.partition(" here")[0]
            return self.fail(
                "P0203",
                f"one side of the conditional expression {second}, and the other {first.removeprefix('it ')}",
                target,
                "convert one of the two",
            )
        return value

    # --- attributes ---------------------------------------------------------------------------------------------------
    def _attribute(self, node: ast.Attribute, env: Env):
        value, name = self.expression(node.value, env), node.attr
        if is_unknown(value):
            return value
        if not isinstance(value, (Sym, Closure)):
            try:
                return getattr(value, name)
            except AttributeError as error:
                near = [] if "did you mean" in str(error) else suggestions(name, dir(value), 1)
                return self.fail(
                    "P0201", str(error), node, f"did you mean `{near[0]}`?" if near else "correct the name"
                )
        if isinstance(value, Sym):
            data_type = self.data_type_of(value)
            if value.is_tensor:
                known = self._of_tensor(value, name, node)
                if known is not None:
                    return known
            if data_type is not None:
                return self._field(value, data_type, name, node)
        what = value.type if isinstance(value, Sym) else "function"
        return self.fail(
            "P0201",
            f"a {what} has no attribute `{name}` in a script",
            node,
            "use operators, functions of NumPy, or relay's operators",
        )

    def _of_tensor(self, value: Sym, name: str, node: ast.AST):
        if name == "shape":
            return tuple(self.size(value, axis, node) for axis in range(len(value.type.shape)))
        if name == "ndim":
            return len(value.type.shape)
        if name == "dtype":
            return value.dtype
        if name == "size":
            out = 1
            for axis in range(len(value.type.shape)):
                out = self.binary(ast.Mult(), out, self.size(value, axis, node), node)
            return out
        if name == "T":
            return self.emit(lambda: op.transpose(value.expr), node)
        if name in REDUCTION_METHODS or name in (
            "reshape",
            "astype",
            "transpose",
            "flatten",
            "ravel",
            "squeeze",
            "copy",
            "item",
            "clip",
        ):
            return Method(value, name)
        return None

    def _field(self, value: Sym, data_type, name: str, node: ast.AST):
        """Returns a field of a data type with one case."""
        if len(data_type.cases) > 1:
            return self.fail(
                "P0211",
                f"a {data_type.name} has several cases, so `.{name}` may be missing",
                node,
                f"use match: case {next(iter(data_type.by_name))}(..)",
            )
        case = next(iter(data_type.cases.values()))
        if name not in case.fields:
            return self.fail(
                "P0201", f"a {data_type.name} has no field `{name}`", node, f"its fields are: {', '.join(case.fields)}"
            )
        constructor = data_type.constructor(case.cls)
        variables = [Var(field, type_) for field, type_ in zip(case.fields, constructor.inputs, strict=True)]
        pattern, at = PatternConstructor(constructor, [PatternVar(one) for one in variables]), case.fields.index(name)
        return self.computed(Match(value.expr, [Clause(pattern, variables[at])]), constructor.inputs[at], name)

    # --- comprehensions -----------------------------------------------------------------------------------------------
    def _listcomp(self, node: ast.ListComp, env: Env):
        if len(node.generators) != 1:
            return self.fail(
                "P0102", "a comprehension with several `for` cannot be scripted", node, "nest two comprehensions"
            )
        part = node.generators[0]
        over = self.expression(part.iter, env)
        if is_unknown(over):
            return over
        if isinstance(over, (list, tuple)) or hasattr(over, "values"):
            out = []
            for one in over if isinstance(over, (list, tuple)) else over.values:
                inner = Env({}, {}, env)
                self.assign(part.target, one, inner, part.iter)
                tests = [self.condition(test, inner) for test in part.ifs]
                if any(not isinstance(test, bool) for test in tests):
                    return self.fail(
                        "P0207",
                        "the tests of a comprehension over known values must be known too",
                        node,
                        "go over a list of a parameter",
                    )
                if all(tests):
                    out.append(self.expression(node.elt, inner))
            return out
        if hasattr(over, "begin"):
            return self._over_range(node, over, env)
        if not isinstance(over, Sym) or not is_list(over.type):
            what = an(over.type) if isinstance(over, Sym) else f"a {type(over).__name__}"
            return self.fail("P0207", f"a comprehension cannot go over {what}", part.iter, "go over a list")
        kept = over
        for test in part.ifs:
            made = self._function(part.target, test, kept.type.args[0], env, node, is_test=True)
            if made is None:
                return POISON
            kept = self.computed(GlobalVar("filter")(made[0], kept.expr), kept.type, "kept")
        made = self._function(part.target, node.elt, kept.type.args[0], env, node)
        if made is None or is_unknown(made[1]):
            return POISON if made is None else made[1]
        kind = TypeCall(LIST, [made[1]])
        return self.computed(GlobalVar("map")(made[0], kept.expr), kind, "list")

    def _over_range(self, node: ast.ListComp, over, env: Env):
        begin, end = over.begin, over.end
        if not (isinstance(begin, int) and isinstance(end, int)) or len(range(begin, end, over.step)) > 1000:
            return self.fail(
                "P0213",
                "a comprehension over a range needs bounds that are known",
                node.generators[0].iter,
                "write a `for` loop",
            )
        out = []
        for one in range(begin, end, over.step):
            inner = Env({}, {}, env)
            self.assign(node.generators[0].target, one, inner, node)
            out.append(self.expression(node.elt, inner))
        return out

    def _function(self, target, body: ast.expr, element, env: Env, node: ast.AST, is_test=False):
        """Returns a function of one element, and the type of its result; None behind a problem."""
        variable, inner = Var("x", element), Env({}, {}, env)
        self.bindings.append([])
        self.assign(target, Sym(variable, element), inner, node)
        value = self.condition(body, inner) if is_test else self.expression(body, inner)
        value = value if is_unknown(value) else self.sym(value, body)
        bound = self.bindings.pop()
        if value is PENDING:
            return None, PENDING
        if is_unknown(value):
            return None
        return Function([variable], wrapped(bound, value.expr), value.type), value.type

    # --- annotations --------------------------------------------------------------------------------------------------
    def annotation(self, node: ast.expr, what: str = "the variable"):
        """Returns the type of an annotation, or None behind a problem."""
        try:
            note = eval(compile(ast.Expression(node), "<annotation>", "eval"), {}, _Names(self.frame.scope))
            return self.defined(annotated(note, what))
        except InputError as error:
            self.fail("P0212", error.diagnostics[0].message, node, error.diagnostics[0].help)
        except Exception as error:
            self.fail(
                "P0212",
                f"the annotation cannot be read: {error}",
                node,
                'write "Tensor[(3), float32]", list[..], int, float or bool',
            )
        return None

    def defined(self, type_):
        define_types(type_, self.program.types)
        return type_

    def of_type(self, value, wanted, node: ast.AST, what: str):
        """Returns a value that must have a type."""
        made = self.sym(value, node, dtype_for(value, wanted), wanted)
        if isinstance(made, Sym) and made.type != wanted and not _fits(made.type, wanted):
            return self.fail(
                "P0203",
                f"{what} is annotated as {an(wanted)}, but is {an(made.type)}",
                node,
                "change the annotation or the value",
            )
        return made


class Method:
    """A method of a tensor, not called yet."""

    def __init__(self, value: Sym, name: str):
        self.value, self.name = value, name


class _Names(dict):
    """The names of a scope for eval()."""

    def __init__(self, scope):
        super().__init__()
        self.scope = scope

    def __missing__(self, name: str):
        found, value = self.scope.find(name)
        if not found:
            raise NameError(f"`{name}` is not defined")
        return value


def op_bool(value: bool) -> Constant:
    """Returns a constant bool."""
    return const(value, "bool")


def _fits(type_, wanted) -> bool:
    """Returns true if a tensor fits a type whose sizes are open."""
    if isinstance(type_, TupleType) and isinstance(wanted, TupleType) and len(type_.fields) == len(wanted.fields):
        return all(_fits(a, b) for a, b in zip(type_.fields, wanted.fields, strict=True))
    if not isinstance(type_, TensorType) or not isinstance(wanted, TensorType):
        return type_ == wanted
    same_rank = len(type_.shape) == len(wanted.shape) and type_.dtype == wanted.dtype
    return same_rank and all(
        not isinstance(w, int) or not isinstance(s, int) or s == w
        for s, w in zip(type_.shape, wanted.shape, strict=True)
    )
