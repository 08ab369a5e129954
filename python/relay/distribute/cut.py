"""Cuts a loss into the stages of a pipeline.

Cuts are places between two steps of the straight-line program. They are chosen so that the most expensive stage is as
cheap as possible, and then so that few bytes cross a cut. A stage's backward pass computes its forward pass again: only
the values that cross cuts are kept for it.
"""

from __future__ import annotations

import dataclasses
import math

from .. import op
from .._core import Call, Constant, Expr, Function, IRModule, TensorType, Tuple, TupleGetItem, Var
from ..errors import bad_option, wrong_input
from ..ir.pass_infra import run_passes
from ..train.formulas import tree_sum
from ..train.losses import Loss
from .partitioning import size_in_bytes
from .rules import tensors_of
from .straight import Straight, chained, straight

_PLACES = 64  # candidates for cuts: those with the fewest live bytes


def work_of(call: Call) -> float:
    """Returns about how many operations a call needs: two for each term of a contraction, one for other elements."""
    out = sum(math.prod(map(int, one.shape)) for one in tensors_of(call.checked_type))
    types = [one for argument in call.args for one in tensors_of(argument.checked_type)]
    name = call.op.name
    if name in ("nn.dense", "nn.batch_matmul", "nn.matmul"):
        batch = int(types[0].shape[0]) if name == "nn.batch_matmul" else 1
        elements = math.prod(math.prod(map(int, one.shape)) for one in types[:2])  # (b m k) (b n k) = b k^2 (b m n)
        return 2.0 * out * math.sqrt(elements / max(1, out) / batch)
    if name.startswith("nn.conv"):
        return 2.0 * out * math.prod(map(int, types[1].shape[1:]))
    return float(out)


@dataclasses.dataclass
class Stage:
    """A stage: modules of its passes, and names of their inputs and results.

    forward(batch, received, parameters) returns the values sent to the next stage, or the loss.
    backward(batch, received, parameters, seeds) returns the gradients of the received floats, then of the
    parameters."""

    number: int
    forward: IRModule
    backward: IRModule
    batch: list[str]
    received: list[str]
    parameters: list[str]
    sent: list[str]
    differentiated: list[str]  # received values with a gradient
    seeded: list[str]  # sent values with a gradient


class _Line:
    """The steps of a loss, with the values that live between them."""

    def __init__(self, loss: Loss):
        self.loss = loss
        self.source: Straight = straight(loss.module["main"])
        self.steps = [step for step in self.source.steps]
        self.place = {step: i for i, step in enumerate(self.steps)}
        self.last_use: dict[Expr, int] = {}
        for i, step in enumerate(self.steps):
            for operand in self.source.operands(step):
                self.last_use[operand] = i
        self.last_use[self.source.value(self.source.result)] = len(self.steps)

    def live(self, cut: int) -> list[Expr]:
        """Returns the steps before a cut whose values are used behind it. Tuples are replaced by their fields."""
        return [step for step in self.steps[:cut] if self.last_use.get(step, -1) >= cut]

    def bytes_at(self, cut: int) -> float:
        """Returns the bytes that cross a cut: infinity where a tuple is in use."""
        live = self.live(cut)
        if any(not isinstance(step.checked_type, TensorType) for step in live):
            return math.inf
        return sum(size_in_bytes(step.checked_type) for step in live)


def cuts_of(line: _Line, stages: int) -> list[int]:
    """Returns the places of the cuts, ascending."""
    work = [0.0]
    for step in line.steps:
        work.append(work[-1] + (work_of(step) if isinstance(step, Call) else 0.0))
    cost = {cut: line.bytes_at(cut) for cut in range(1, len(line.steps))}
    places = sorted((cut for cut in cost if cost[cut] < math.inf), key=lambda cut: cost[cut])
    if len(places) < stages - 1:
        raise bad_option(
            f"the loss has {len(line.steps)} steps, which cannot be cut into {stages} stages", "use fewer stages"
        )
    places = sorted(places[: max(_PLACES, 4 * stages)])
    ends = [*places, len(line.steps)]
    best: list[dict[int, tuple[float, float, list[int]]]] = [{0: (0.0, 0.0, [])}]
    for stage in range(1, stages + 1):
        row: dict[int, tuple[float, float, list[int]]] = {}
        for end in ends if stage < stages else [len(line.steps)]:
            for begin, (most, sent, cuts) in best[-1].items():
                if begin >= end:
                    continue
                found = (max(most, work[end] - work[begin]), sent + cost.get(end, 0.0), [*cuts, end])
                if end not in row or found[:2] < row[end][:2]:
                    row[end] = found
        best.append(row)
    return best[-1][len(line.steps)][2][:-1]


def cut_pipeline(loss: Loss, stages: int) -> list[Stage]:
    """Returns the stages of a loss whose only result is the loss."""
    if loss.outputs != ("loss",):
        raise wrong_input(
            f"the loss has the results {', '.join(loss.outputs)}, and a pipeline needs one",
            "return the mean loss alone",
        )
    line = _Line(loss)
    bounds = [0, *cuts_of(line, stages), len(line.steps)]
    made = [_stage(line, number, bounds[number], bounds[number + 1], stages) for number in range(stages)]
    owner: dict[str, int] = {}
    for stage in made:
        for name in stage.parameters:
            if name in owner:
                raise wrong_input(
                    f"parameter `{name}` is used by stages {owner[name]} and {stage.number}",
                    "use one stage less, or give the second use a parameter of its own",
                )
            owner[name] = stage.number
    return made


def _stage(line: _Line, number: int, begin: int, end: int, stages: int) -> Stage:
    source, batch_names = line.source, set(line.loss.batch)
    received = line.live(begin) if begin else []
    sent = line.live(end) if number + 1 < stages else []
    now: dict[Expr, Expr] = {step: Var(f"received{i}", step.checked_type) for i, step in enumerate(received)}
    used: dict[str, Var] = {}
    bound: list[tuple[Var, Expr]] = []

    def new(expr: Expr) -> Expr:
        value = source.value(expr)
        if isinstance(value, Constant):
            return value
        if value not in now:  # a parameter
            now[value] = used[value.name_hint] = Var(value.name_hint, value.checked_type)
        return now[value]

    for step in line.steps[begin:end]:
        operands = [new(one) for one in source.operands(step)]
        if isinstance(step, Tuple):
            now[step] = Tuple(operands)
            continue
        if isinstance(step, TupleGetItem):
            value: Expr = TupleGetItem(operands[0], step.index)
        else:
            value = Call(step.op, operands, step.attrs)
        variable = Var("value", step.checked_type)
        bound.append((variable, value))
        now[step] = variable
    results = [now[step] for step in sent] if number + 1 < stages else [new(source.result)]
    batch = [name for name in used if name in batch_names]
    parameters = [name for name in used if name not in batch_names]
    names = [f"received{i}" for i in range(len(received))]
    params = [used[name] for name in batch] + [now[step] for step in received] + [used[name] for name in parameters]
    body = chained(bound, Tuple(results))
    forward = run_passes(IRModule.from_expr(Function(params, body)), ["infer_type"])
    differentiated = [name for name, step in zip(names, received, strict=True) if _has_gradient(step.checked_type)]
    outputs = [f"sent{i}" for i in range(len(results))]
    seeded = [name for name, one in zip(outputs, results, strict=True) if _has_gradient(_type(one, source, sent))]
    backward = _backward(params, bound, results, differentiated + parameters, number + 1 == stages)
    return Stage(number, forward, backward, batch, names, parameters, outputs, differentiated, seeded)


def _type(value: Expr, source: Straight, sent: list[Expr]) -> TensorType:
    return value.type_annotation if isinstance(value, Var) else value.checked_type


def _has_gradient(type_: TensorType) -> bool:
    return str(type_.dtype).startswith(("float", "bfloat"))


def _backward(params: list[Var], bound: list, results: list[Expr], wrt: list[str], is_last: bool) -> IRModule:
    """Returns the module of the gradients of sum(result * seed) with respect to some parameters. The last stage's only
    result is the loss, whose seed is 1."""
    seeds = []
    terms = []
    for i, result in enumerate(results):
        type_ = result.type_annotation if isinstance(result, Var) else result.checked_type
        if not _has_gradient(type_):
            continue
        if is_last:
            terms.append(result)
            continue
        seed = Var(f"seed{i}", type_)
        seeds.append(seed)
        terms.append(op.sum(result * seed))
    module = IRModule.from_expr(Function([*params, *seeds], chained(bound, tree_sum(terms))))
    made = run_passes(run_passes(module, ["infer_type"]), ["gradient"])
    main = made["main"]
    names = [param.name_hint for param in main.params]
    steps: list[tuple[Var, Expr]] = []
    both = Var("both")
    steps.append((both, main.body))
    gradients = [TupleGetItem(TupleGetItem(both, 1), names.index(name)) for name in wrt]
    out = made.clone()
    out["main"] = Function(main.params, chained(steps, Tuple(gradients)))
    return run_passes(out, ["infer_type", "dead_code"])
