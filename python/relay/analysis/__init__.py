"""Analyses of programs.

relay.analysis.free_vars(expr)
relay.analysis.post_order_visit(expr, print)
relay.analysis.structural_equal(a, b)
relay.analysis.list_op_freqs(mod)                # {"nn.conv2d": 20, ...}
"""

from __future__ import annotations

import enum

from .._core import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    IRModule,
    Let,
    Match,
    Op,
    Pattern,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    Var,
    all_type_vars,
    all_vars,
    bound_type_vars,
    bound_vars,
    children,
    free_type_vars,
    free_vars,
    parse_expr,
    post_order_visit,
    structural_equal,
    structural_hash,
    unmatched_case,
)
from .._core import problems as _problems
from ..errors import expect, expect_module
from .program_analysis import (
    analyze_operations_distribution,
    check_basic_block_normal_form,
    extract_intermediate_expr,
    get_calibration_data,
    list_fake_quantized_op_freqs,
)
from .regions import AnnotatedRegion, AnnotatedRegionSet

__all__ = [
    "AnnotatedRegion",
    "AnnotatedRegionSet",
    "CallGraph",
    "Feature",
    "analyze_operations_distribution",
    "check_basic_block_normal_form",
    "extract_intermediate_expr",
    "get_calibration_data",
    "list_fake_quantized_op_freqs",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "alpha_equal",
    "assert_structural_equal",
    "bound_type_vars",
    "bound_vars",
    "check_constant",
    "check_kind",
    "children",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "free_type_vars",
    "free_vars",
    "get_total_mac_number",
    "list_op_freqs",
    "post_order_visit",
    "problems",
    "search_fc_transpose",
    "structural_equal",
    "structural_hash",
    "unmatched_cases",
    "well_formed",
]


def alpha_equal(lhs, rhs) -> bool:
    """Returns true if the expressions are equal up to the names of bound variables."""
    return structural_equal(lhs, rhs)


def assert_structural_equal(lhs, rhs, map_free_vars: bool = False) -> None:
    """Raises an AssertionError that shows both sides if they are not equal."""
    if not structural_equal(lhs, rhs, map_free_vars):
        raise AssertionError(f"not equal:\n{lhs}\n-- and --\n{rhs}")


def well_formed(expr: Expr | IRModule, module: IRModule | None = None) -> bool:
    """Returns true if every variable is bound once and used in its scope, and every name is defined."""
    return not _problems(expr, module)


def problems(expr: Expr | IRModule, module: IRModule | None = None) -> list[str]:
    """Returns the reasons why the program is malformed, as messages."""
    return _problems(expr, module)


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Returns patterns for the values that no clause matches, at most 100."""
    expect(match, Match, "a match expression")
    out: list[Pattern] = []
    mod = IRModule() if mod is None else mod
    expect_module(mod)
    while len(out) < 100:
        clauses = [*match.clauses, *(Clause(pattern, match.data) for pattern in out)]
        case = unmatched_case(Match(match.data, clauses, False), mod)
        if case is None:
            break
        out.append(parse_expr(f"match? (()) {{ {case} => () }}", definitions=mod).clauses[0].lhs)
    return out


def check_constant(expr: Expr) -> bool:
    """Returns true if the expression is a constant or a tuple of constants."""
    stack = [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, Tuple):
            stack += one.fields
        elif not isinstance(one, Constant):
            return False
    return True


def all_dtypes(expr: Expr) -> set[str]:
    """Returns the element types in a typed expression."""
    found: set[str] = set()

    def note(e):
        stack = [e._checked_type_ or getattr(e, "type_annotation", None)]
        while stack:
            one = stack.pop()
            if isinstance(one, TensorType):
                found.add(one.dtype)
            elif isinstance(one, TupleType):
                stack += one.fields

    post_order_visit(expr, note)
    return found


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """Returns the number of calls of each operator."""
    expect_module(mod)
    counts: dict[str, int] = {}

    def note(e):
        if isinstance(e, Call) and isinstance(e.op, Op):
            counts[e.op.name] = counts.get(e.op.name, 0) + 1

    for function in mod.functions.values():
        post_order_visit(function, note)
    return counts


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """Returns the functions that FuseOps made in @main, by hash; equal functions appear once."""
    expect_module(mod)
    found: dict[int, Function] = {}

    def note(e):
        if isinstance(e, Function) and e.attrs.get("Primitive"):
            found.setdefault(structural_hash(e), e)

    post_order_visit(mod["main"], note)
    return found


def search_fc_transpose(expr: Expr) -> list[str]:
    """Returns the names of parameters that are weights of nn.dense and reach it through a transpose."""
    found: list[str] = []

    def note(e):
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "nn.dense":
            weight = e.args[1]
            if isinstance(weight, Call) and isinstance(weight.op, Op) and weight.op.name == "transpose":
                if isinstance(weight.args[0], Var):
                    found.append(weight.args[0].name_hint)

    post_order_visit(expr, note)
    return found


class CallGraph:
    """The call graph of a module: the global functions that each function refers to. A function is given as a GlobalVar
    or by its name."""

    def __init__(self, module: IRModule):
        expect_module(module)
        self.module = module
        self._callees: dict[str, dict[str, int]] = {}
        for var, function in module.functions.items():
            counts = self._callees.setdefault(var.name_hint, {})

            def note(e, counts=counts):
                for child in children(e):
                    if isinstance(child, GlobalVar):
                        counts[child.name_hint] = counts.get(child.name_hint, 0) + 1

            post_order_visit(function, note)

    def _name(self, var: GlobalVar | str) -> str:
        name = var if isinstance(var, str) else var.name_hint
        if name not in self._callees:
            raise ValueError(f"the module has no function @{name}; there are: {', '.join(sorted(self._callees))}")
        return name

    def ref_count(self, var: GlobalVar | str) -> int:
        """Returns the number of references to the function in the module."""
        name = self._name(var)
        return sum(counts.get(name, 0) for counts in self._callees.values())

    def global_call_count(self, var: GlobalVar | str) -> int:
        """Returns the number of references to global functions in the function."""
        return sum(self._callees[self._name(var)].values())

    def print_var(self, var: GlobalVar | str) -> str:
        """Returns the functions that it refers to, each with the number of references."""
        name = self._name(var)
        lines = [f"  Call graph node: {callee}, called {count} times" for callee, count in self._callees[name].items()]
        return "\n".join([f"Call graph node: {name}, referenced {self.ref_count(name)} times", *lines])

    def __str__(self) -> str:
        return "\n\n".join(map(self.print_var, self._callees))

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """Returns true if the function refers to itself."""
        name = self._name(var)
        return name in self._callees[name]


def count_layers(expr: Expr, valid_ops: list[str]) -> int:
    """Returns the largest number of calls of these operators on a path from an input to the result."""
    depth: dict[Expr, int] = {}

    def note(e):
        below = max((depth[child] for child in children(e)), default=0)
        counts = isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in valid_ops
        depth[e] = below + counts

    post_order_visit(expr, note)
    return depth[expr]


def _product(shape) -> int:
    out = 1
    for size in shape:
        out *= size
    return out


def _mac_number(call: Call) -> int:
    """Returns the multiply-adds of one call, or 0 if the operator is not a convolution or matrix product."""
    name = call.op.name
    if name not in _CONTRACTIONS:
        return 0
    out, right = call.checked_type.concrete_shape, call.args[1].checked_type.concrete_shape
    if "conv" in name:  # each element of the result sums over the whole weight except its output channels
        return _product(out) * (_product(right) // right[call.attrs.kernel_layout.index("O")])
    left = call.args[0].checked_type.concrete_shape
    return _product(out) * left[-2 if name != "nn.dense" and call.attrs.transpose_a else -1]


_CONTRACTIONS = (
    *(f"nn.conv{rank}d{suffix}" for rank in (1, 2, 3) for suffix in ("", "_transpose")),
    "nn.dense",
    "nn.matmul",
    "nn.batch_matmul",
)


def get_total_mac_number(expr: Expr) -> int:
    """Returns the multiply-adds of the convolutions and matrix products in a typed expression with constant sizes."""
    total = 0

    def note(e):
        nonlocal total
        if isinstance(e, Call) and isinstance(e.op, Op):
            total += _mac_number(e)

    post_order_visit(expr, note)
    return total


class Feature(enum.IntEnum):
    """The features of the language that a program may use."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


def detect_feature(a: Expr | IRModule, b: IRModule | None = None) -> set[Feature]:
    """Returns the kinds of nodes in an expression or a module. fGraph: a node is used twice. fLetRec: a let refers to
    itself."""
    if b is not None:
        return detect_feature(a) | detect_feature(b)
    roots = list(a.functions.values()) if isinstance(a, IRModule) else [a]
    found: set[Feature] = set()
    uses: dict[Expr, int] = {}

    def note(e):
        found.add(Feature["f" + type(e).__name__])
        if isinstance(e, Function):
            found.update([Feature.fVar] * bool(e.params))
        if isinstance(e, Let):
            found.add(Feature.fVar)
            if isinstance(e.value, Function) and e.var in free_vars(e.value):
                found.add(Feature.fLetRec)
        for child in children(e):
            uses[child] = uses.get(child, 0) + 1
            if uses[child] > 1 and isinstance(child, (Call, Tuple, TupleGetItem, If, Let, Function, Match)):
                found.add(Feature.fGraph)

    for root in roots:
        post_order_visit(root, note)
    return found


def check_kind(t: Type, mod: IRModule | None = None) -> bool:
    """Returns true if a type is well formed: its data types exist in `mod` and get the right number of arguments."""
    stack = [t]
    while stack:
        one = stack.pop()
        if isinstance(one, TypeCall):
            if not isinstance(one.func, GlobalTypeVar):
                return False
            if mod is not None:
                if one.func not in mod or len(mod[one.func].type_vars) != len(one.args):
                    return False
            stack += one.args
        elif isinstance(one, GlobalTypeVar):
            if mod is not None and (one not in mod or mod[one].type_vars):
                return False
        elif isinstance(one, TupleType):
            stack += one.fields
        elif hasattr(one, "arg_types"):
            stack += [*one.arg_types, one.ret_type]
        elif hasattr(one, "value"):
            stack.append(one.value)
    return True
