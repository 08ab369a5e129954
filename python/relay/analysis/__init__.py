"""Questions about programs.

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
    """Equal up to the names of bound variables."""
    return structural_equal(lhs, rhs)


def assert_structural_equal(lhs, rhs, map_free_vars: bool = False) -> None:
    """Raises an AssertionError that shows both sides when they are not equal."""
    if not structural_equal(lhs, rhs, map_free_vars):
        raise AssertionError(f"not equal:\n{lhs}\n-- and --\n{rhs}")


def well_formed(expr: Expr | IRModule, module: IRModule | None = None) -> bool:
    """Whether every variable is bound once and used where it is in scope, and what is named exists."""
    return not _problems(expr, module)


def problems(expr: Expr | IRModule, module: IRModule | None = None) -> list[str]:
    """What makes it malformed, as messages."""
    return _problems(expr, module)


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns for the values that no clause matches, up to 100 of them."""
    out: list[Pattern] = []
    mod = IRModule() if mod is None else mod
    while len(out) < 100:
        clauses = [*match.clauses, *(Clause(pattern, match.data) for pattern in out)]
        case = unmatched_case(Match(match.data, clauses, False), mod)
        if case is None:
            break
        out.append(parse_expr(f"match? (()) {{ {case} => () }}", definitions=mod).clauses[0].lhs)
    return out


def check_constant(expr: Expr) -> bool:
    """Whether it is a constant, or a tuple of such."""
    stack = [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, Tuple):
            stack += one.fields
        elif not isinstance(one, Constant):
            return False
    return True


def all_dtypes(expr: Expr) -> set[str]:
    """The element types of everything in a typed expression."""
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
    """How often each operator is called."""
    counts: dict[str, int] = {}

    def note(e):
        if isinstance(e, Call) and isinstance(e.op, Op):
            counts[e.op.name] = counts.get(e.op.name, 0) + 1

    for function in mod.functions.values():
        post_order_visit(function, note)
    return counts


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """The functions that FuseOps has made in @main, by their hashes: equal ones once."""
    found: dict[int, Function] = {}

    def note(e):
        if isinstance(e, Function) and e.attrs.get("Primitive"):
            found.setdefault(structural_hash(e), e)

    post_order_visit(mod["main"], note)
    return found


def search_fc_transpose(expr: Expr) -> list[str]:
    """The names of the parameters that are weights of nn.dense by way of a transpose."""
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
    """Which global functions of a module name which others. A function is given as a GlobalVar or by its name."""

    def __init__(self, module: IRModule):
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
        """How often functions of the module name it."""
        name = self._name(var)
        return sum(counts.get(name, 0) for counts in self._callees.values())

    def global_call_count(self, var: GlobalVar | str) -> int:
        """How often it names functions of the module."""
        return sum(self._callees[self._name(var)].values())

    def print_var(self, var: GlobalVar | str) -> str:
        """The functions that it names, each with how often."""
        name = self._name(var)
        lines = [f"  Call graph node: {callee}, called {count} times" for callee, count in self._callees[name].items()]
        return "\n".join([f"Call graph node: {name}, referenced {self.ref_count(name)} times", *lines])

    def __str__(self) -> str:
        return "\n\n".join(map(self.print_var, self._callees))

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """Whether it names itself."""
        name = self._name(var)
        return name in self._callees[name]


def count_layers(expr: Expr, valid_ops: list[str]) -> int:
    """The largest number of calls of these operators on a way from an input to the result."""
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
    """Multiply-adds of one call; 0 of an operator that is no convolution or matrix product."""
    name = call.op.name
    if name not in _CONTRACTIONS:
        return 0
    out, right = call.checked_type.concrete_shape, call.args[1].checked_type.concrete_shape
    if "conv" in name:  # each element of the result sums over all of the weight but its output channels
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
    """Multiply-adds of the convolutions and matrix products in a typed expression whose sizes are numbers."""
    total = 0

    def note(e):
        nonlocal total
        if isinstance(e, Call) and isinstance(e.op, Op):
            total += _mac_number(e)

    post_order_visit(expr, note)
    return total


class Feature(enum.IntEnum):
    """What a program uses."""

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
    """The kinds of nodes in an expression or a module; fGraph: a node is used twice; fLetRec: a let refers to
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
    """Whether a type is well formed: data types exist in `mod` and have as many parameters as they are given."""
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
