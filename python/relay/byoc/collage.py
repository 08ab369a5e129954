"""Distribution of a program to compilers by cost, found by a search over the parts that each compiler could take.

    mod = relay.transform.CollagePartition(["other"], CustomCostEstimator(lambda mod, compiler: ...))(mod)

A candidate is a call of an operator, for Relay itself ("default") or for a compiler that takes it
(relay.byoc.supports), or a match of a pattern in a compiler's table. The chosen candidates cover every call of @main
once, with the least total cost (Jeon et al., "Collage: Seamless Integration of Deep Learning Backends with Automatic
Placement", 2022). Costs come from an estimator: estimate(mod, compiler) returns the seconds for a module whose @main is
the candidate.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from .._core import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    Op,
    TensorType,
    Tuple,
    Var,
    children,
    post_order_visit,
    structural_hash,
)
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import Pass, PassInfo, UserPass, run_passes
from ..run.build_module import timed
from ..run.compiled import compile
from .tables import TABLES, get_pattern_table, takes

__all__ = ["CollagePartition", "CostEstimator", "CustomCostEstimator", "MockCostEstimator"]

_MOST_STATES = 100_000


class CostEstimator:
    """Measures candidates: compiles them and runs them on this machine, on random inputs. It estimates Relay itself
    only; the times of other compilers need a CustomCostEstimator."""

    def estimate(self, mod: IRModule, compiler: str) -> float:
        """Returns the measured time in seconds."""
        if compiler != "default":
            raise ValueError(f"the time of {compiler} cannot be measured here: pass a CustomCostEstimator")
        model, random = compile(mod), np.random.default_rng(0)
        inputs = []
        for param in run_passes(mod, ["infer_type"])["main"].params:
            type_ = param.checked_type
            if not isinstance(type_, TensorType) or not all(isinstance(n, int) for n in type_.shape):
                raise ValueError(f"a {type_} cannot be created at random: bind the sizes first")
            inputs.append(np.asarray(random.integers(0, 2, [int(n) for n in type_.shape]), type_.dtype))
        return timed(lambda: model(*inputs), 3, 10).min


class CustomCostEstimator:
    """Estimates with a function: estimate(mod, compiler)."""

    def __init__(self, py_fn_estimator: Callable[[IRModule, str], float]):
        self.estimate = py_fn_estimator


class MockCostEstimator:
    """Estimates from a table of costs by compiler, whatever the candidate computes: {"default": 2, "other": 1}. Equal
    candidates are estimated once. More than max_estimates estimates are an error."""

    def __init__(self, target_costs: dict[str, float], max_estimates: int = 0):
        self._costs, self._left = dict(target_costs), max_estimates

    def estimate(self, mod: IRModule, compiler: str) -> float:
        """Returns the cost in the table."""
        if compiler not in self._costs:
            raise ValueError(f"there is no cost of {compiler}; there are: {', '.join(sorted(self._costs))}")
        if self._left:
            self._left -= 1
            if self._left == 0:
                raise ValueError("more costs are needed than max_estimates allows")
        return float(self._costs[compiler])


def _names(config) -> list[str]:
    """Returns the compilers of a list, or of an object with targets."""
    if isinstance(config, (list, tuple)):
        return [str(getattr(getattr(one, "kind", one), "name", one)) for one in config]
    targets = getattr(config, "primitive_targets", None)
    if targets is None:
        raise TypeError("the compilers must be a list of names")
    return [name for name in _names(list(targets)) if name not in ("llvm", "c", "native")]


class _Candidate:
    def __init__(self, compiler: str, root: Call, body: Expr, params: list[Var], args: list[Expr], nodes: list[Expr]):
        self.compiler, self.root, self.body, self.params, self.args, self.nodes = (
            compiler, root, body, params, args, nodes,
        )  # fmt: skip

    def function(self, attrs: dict) -> Function:
        return Function(self.params, self.body, None, None, attrs)


def _inside(root: Expr, inputs: list[Expr]) -> list[Expr]:
    """Returns the calls of operators between `root` and the inputs."""
    stop, seen, work, found = set(inputs), set(), [root], []
    while work:
        e = work.pop()
        if e in seen or e in stop or isinstance(e, Constant | Op | Var):
            continue
        seen.add(e)
        if isinstance(e, Call) and isinstance(e.op, Op):
            found.append(e)
        work += children(e)
    return found


def _single(compiler: str, call: Call) -> _Candidate:
    args = [arg for arg in dict.fromkeys(_leaves(call)) if not isinstance(arg, Constant)]
    params = [Var(f"FunctionVar_{i}", arg.checked_type) for i, arg in enumerate(args)]
    body = _Replace(dict(zip(args, params, strict=True))).visit(call)
    return _Candidate(compiler, call, body, params, args, [call])


def _leaves(call: Call) -> list[Expr]:
    out = []
    for arg in call.args:
        out += arg.fields if isinstance(arg, Tuple) else [arg]
    return out


class _Replace(ExprMutator):
    def __init__(self, values: dict):
        super().__init__()
        self.memo_map.update(values)


def _matches(compiler: str, calls: list[Call]) -> list[_Candidate]:
    out = []
    for name, pattern, *check in get_pattern_table(compiler) if compiler in TABLES else []:
        for call in calls:
            if not pattern.match(call) or (check and not check[0](call)):
                continue
            made = pattern.partition(call, {"Composite": name}, check=lambda e, call=call: e is call)
            if not isinstance(made, Call) or not isinstance(made.op, Function):
                continue
            params = [Var(f"FunctionVar_{i}", arg.checked_type) for i, arg in enumerate(made.args)]
            body = Call(made.op, list(params))
            out.append(_Candidate(compiler, call, body, params, list(made.args), _inside(call, list(made.args))))
    return out


def _search(calls: list[Call], candidates: list[_Candidate], cost: Callable[[_Candidate], float]) -> list[_Candidate]:
    """Returns the cover of least cost: a shortest path over sets of covered calls, starting from the first call."""
    bit = {call: 1 << i for i, call in enumerate(calls)}
    by_first: dict[int, list[tuple[int, _Candidate]]] = {}
    for one in candidates:
        mask = 0
        for node in one.nodes:
            mask |= bit[node]
        by_first.setdefault((mask & -mask).bit_length() - 1, []).append((mask, one))
    whole = (1 << len(calls)) - 1
    best, came, heap, order = {0: 0.0}, {}, [(0.0, 0, 0)], 0
    while heap:
        so_far, _, covered = heapq.heappop(heap)
        if covered == whole:
            break
        if so_far > best[covered]:
            continue
        free = ~covered & whole
        for mask, one in by_first.get((free & -free).bit_length() - 1, []):
            if mask & covered:
                continue
            total = so_far + cost(one)
            if total < best.get(covered | mask, float("inf")):
                best[covered | mask], came[covered | mask] = total, (covered, one)
                order += 1
                heapq.heappush(heap, (total, order, covered | mask))
        if len(best) > _MOST_STATES:
            raise ValueError(f"more than {_MOST_STATES} ways to cover the program: pass fewer patterns")
    chosen, at = [], whole
    while at:
        at, one = came[at]
        chosen.append(one)
    return chosen[::-1]


class _Costs:
    def __init__(self, estimator):
        self._estimator, self._known = estimator, {}

    def __call__(self, one: _Candidate) -> float:
        function = one.function({})
        key = one.compiler, structural_hash(function)
        if key not in self._known:
            self._known[key] = float(self._estimator.estimate(IRModule({"main": function}), one.compiler))
        return self._known[key]


class _Partition(ExprMutator):
    def __init__(self, chosen: list[_Candidate], out: IRModule):
        super().__init__()
        self._by_root = {one.root: one for one in chosen if one.compiler != "default"}
        self._out = out

    def visit_call(self, call):
        one = self._by_root.get(call)
        if one is None:
            return super().visit_call(call)
        args = [self.visit(arg) for arg in one.args]
        count = sum(1 for var in self._out.get_global_vars() if var.name_hint.startswith("collage_"))
        symbol = f"collage_{one.compiler}_{count}"
        while symbol in self._out:
            symbol += "_"
        self._out[symbol] = one.function(
            {"Compiler": one.compiler, "Primitive": 1, "Inline": 1, "global_symbol": symbol}
        )
        return Call(GlobalVar(symbol), args)


def CollagePartition(config, cost_estimator=None) -> Pass:
    """Makes global functions with Compiler=NAME of the parts of @main that cost least with one of the compilers.

    config: the names of compilers, or the result of make_compilation_config(). cost_estimator: by default
    CostEstimator(), which measures. Calls in branches, functions and closures are left to Relay.
    """
    compilers = _names(config)

    def run(mod, ctx):
        mod = run_passes(mod, ["infer_type"])
        calls: list[Call] = []
        main = mod["main"]
        users: dict[Expr, list[Expr]] = {}

        def note(e):
            if isinstance(e, Call) and isinstance(e.op, Op) and isinstance(e.checked_type, TensorType):
                calls.append(e)
            for child in children(e):
                users.setdefault(child, []).append(e)

        post_order_visit(main, note)
        candidates = [_single("default", call) for call in calls]
        for compiler in compilers:
            candidates += _matches(compiler, calls)
            candidates += [_single(compiler, call) for call in calls if takes(compiler, call)]
        known = set(calls)

        def is_closed(one):
            nodes = set(one.nodes)
            inner = nodes - {one.root}
            outside = {user for node in inner for user in users[node]} - nodes
            return nodes <= known and all(
                not isinstance(user, Call) and _leads_inside(user, nodes, users) for user in outside
            )

        candidates = [one for one in candidates if is_closed(one)]
        chosen = _search(calls, candidates, _Costs(cost_estimator or CostEstimator()))
        out = mod.clone()
        body = _Partition(chosen, out).visit(main.body)
        if body is main.body:
            return mod
        out["main"] = Function(main.params, body, main.ret_type, main.type_params, main.attrs)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "CollagePartition"), False)


def _leads_inside(e: Expr, nodes: set, users: dict) -> bool:
    """Returns true if all users of a tuple or a projection are in the candidate."""
    return all(user in nodes for user in users.get(e, [])) and e in users
