"""Divides a program among the ranks of a mesh.

    program = partition(annotate(module, Mesh(data=4), {"x": "{data}, {}"}))
    program.module         what each rank runs: ordinary Relay with collectives (relay.distribute.collectives)
    print(program.report())

One axis of the mesh is handled after the other, the first one first. Along an axis each value has a state: the
dimension that is divided, whole, or a partial sum. Values are visited in program order. A call takes, of all ways in
which it can be computed on parts (relay.distribute.rules), the one for which the fewest bytes are moved; collectives
convert operands that are in another state. If its result has an annotation, the conversion to that is counted too: a
program of relay.distribute.propagate_shardings is divided as its annotations say.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .. import _core
from .._core import Call, Constant, Expr, Function, IRModule, TensorType, Tuple, TupleGetItem, Var
from ..errors import wrong_input
from ..ir.pass_infra import run_passes
from .annotations import ANNOTATION, PRODUCED, annotations, result_types
from .collectives import is_collective, moved_bytes
from .mesh import WHOLE, Mesh, Sharding, State
from .rules import Way, form_of, static_form, tensors_of, ways_of
from .straight import Straight, chained, rebuilt, straight


def size_in_bytes(type_: TensorType) -> int:
    """Returns the bytes of a tensor of constant size."""
    bits = {"bool": 8}.get(str(type_.dtype)) or int("".join(c for c in str(type_.dtype) if c.isdigit())[-2:])
    return math.prod(map(int, type_.shape)) * max(1, bits // 8)


@dataclasses.dataclass
class Moved:
    """A collective of a partitioned program."""

    number: int
    name: str
    axis: str
    ranks: int  # that take part
    of: str  # the value that is converted
    type: str  # on each rank, before
    bytes: float  # that each rank sends
    why: str


@dataclasses.dataclass
class Partitioned:
    """A program for each rank of a mesh. All ranks run the same module; collectives and parts depend on the rank.

    shardings: of parameters by name and of results ("=0")."""

    module: IRModule
    mesh: Mesh
    shardings: dict[str, Sharding]
    whole: IRModule  # before
    moved: list[Moved]

    def report(self) -> str:
        """Returns a table of the collectives, with the bytes that each rank sends."""
        lines = [
            f"mesh {self.mesh}; {len(self.moved)} collectives, {sum(m.bytes for m in self.moved):.0f} bytes a rank"
        ]
        for m in self.moved:
            lines.append(f"#{m.number} {m.name}({m.axis}) of {m.of}: {m.type}, {m.bytes:.0f} bytes, {m.why}")
        return "\n".join(lines)


@dataclasses.dataclass(eq=False)
class _Value:
    """A tensor of the program: its form in each state that was needed so far."""

    name: str
    type: TensorType  # the whole one
    forms: dict[State, Expr]
    stored: bool = False  # divided to save memory only: gathered at each use, not kept


class Axis:
    """Divides a module along one axis.

    produced: the states of the values that have a number (annotations.PRODUCED), by number."""

    def __init__(self, module: IRModule, axis: str, n: int, first: int, stored: set[str]):
        self.axis, self.n, self.number, self.stored = axis, n, first, stored
        self.source: Straight = straight(module["main"])
        self.values: dict[Expr, list[_Value]] = {}
        self.bound: list[tuple[Var, Expr]] = []
        self.moved: list[Moved] = []
        self.uses = self._count_uses(self.source)
        self.asked = self._asked(self.source, axis)
        self.produced: dict[int, State] = {}

    @staticmethod
    def _asked(source: Straight, axis: str) -> dict[Expr, dict[int, State]]:
        """Returns the states that annotations ask for, by call and number of the result."""
        asked: dict[Expr, dict[int, State]] = {}
        for step in source.steps:
            if isinstance(step, Call) and step.op.name == ANNOTATION:
                (made,) = source.operands(step)
                while isinstance(made, Call) and made.op.name == PRODUCED:
                    (made,) = source.operands(made)
                at = 0
                if isinstance(made, TupleGetItem):
                    (whole,) = source.operands(made)
                    at = sum(len(tensors_of(field)) for field in list(whole.checked_type.fields)[: made.index])
                    made = whole
                if isinstance(made, Call):
                    state = Sharding.parse(step.attrs.get_str("sharding")).state(axis)
                    asked.setdefault(made, {}).setdefault(at, state)
        return asked

    @staticmethod
    def _count_uses(source: Straight) -> dict[Expr, int]:
        uses: dict[Expr, int] = {}
        for step in [*source.steps, source.result]:
            if step is source.result and step in uses:
                continue
            for operand in source.operands(step) if isinstance(step, (Call, Tuple, TupleGetItem)) else []:
                uses[operand] = uses.get(operand, 0) + 1
        return uses

    # --- emission -----------------------------------------------------------------------------------------------------
    def let(self, name: str, value: Expr) -> Var:
        """Binds a value."""
        variable = Var(name)
        self.bound.append((variable, value))
        return variable

    def convert(self, value: _Value, state: State, why: str) -> Expr:
        """Returns a value in a state, by a collective if it is in none that serves."""
        if state in value.forms:
            return value.forms[state]
        source, name, attributes = self._conversion(value, state)
        attributes |= {"axis": self.axis, "size": self.n, "number": self.number}
        made = self.let(f"{value.name}_{name.split('.')[1]}", _core.call(name, [value.forms[source]], attributes))
        type_ = self.local_type(value.type, source)
        sent = moved_bytes(name, size_in_bytes(value.type), self.n)
        self.moved.append(Moved(self.number, name, self.axis, self.n, value.name, str(type_), sent, why))
        self.number += 1
        if not (value.stored and state == WHOLE):
            value.forms[state] = made
        return made

    def _conversion(self, value: _Value, state: State) -> tuple[State, str, dict]:
        """Returns the state to convert from, and the collective with its own attributes."""
        source = min(value.forms, key=lambda one: self._bytes(value, one, state))
        if isinstance(state, str):
            has = "whole" if source == WHOLE else f"a {source}" if isinstance(source, str) else "divided"
            raise wrong_input(
                f"an annotation asks for a {state} of `{value.name}` over `{self.axis}`, "
                f"and it is {has} along this axis",
                "remove the annotation, or ask for dimensions",
            )
        if isinstance(source, str):
            if state == WHOLE:
                return source, "comm.all_reduce", {"combiner": source}
            return source, "comm.reduce_scatter", {"combiner": source, "dim": state}
        if source == WHOLE:
            return source, "comm.part", {"dim": state}
        if state == WHOLE:
            return source, "comm.all_gather", {"dim": source}
        return source, "comm.all_to_all", {"split": state, "join": source}

    def _bytes(self, value: _Value, source: State, state: State) -> float:
        """Returns the bytes that a conversion moves: infinity if there is none."""
        if source == state:
            return 0.0
        if isinstance(state, str):
            return math.inf
        if isinstance(state, int) and state >= 0 and int(value.type.shape[state]) % self.n:
            return math.inf
        if isinstance(source, str):
            name = "comm.all_reduce" if state == WHOLE else "comm.reduce_scatter"
        elif source == WHOLE:
            name = "comm.part"
        else:
            name = "comm.all_gather" if state == WHOLE else "comm.all_to_all"
        if value.stored and state == WHOLE:
            return 0.0
        return moved_bytes(name, size_in_bytes(value.type), self.n)

    def cost(self, value: _Value, state: State) -> float:
        """Returns the bytes that are moved to have a value in a state."""
        return min(self._bytes(value, source, state) for source in value.forms)

    def local_type(self, type_: TensorType, state: State) -> TensorType:
        """Returns the type of a rank's part."""
        if isinstance(state, str) or state == WHOLE:
            return type_
        shape = [int(extent) for extent in type_.shape]
        shape[state] //= self.n
        return TensorType(tuple(shape), type_.dtype)

    # --- steps --------------------------------------------------------------------------------------------------------
    def tensors(self, expr: Expr) -> list[_Value]:
        """Returns the values of an operand."""
        if expr not in self.values and isinstance(expr, Constant):
            self.values[expr] = [_Value("constant", expr.checked_type, {WHOLE: expr})]
        return self.values[expr]

    def step(self, source: Straight, step: Expr, uses: dict[Expr, int]) -> None:
        """Divides a step."""
        operands = source.operands(step)
        if isinstance(step, Tuple):
            self.values[step] = [one for operand in operands for one in self.tensors(operand)]
        elif isinstance(step, TupleGetItem):
            fields = operands[0].checked_type.fields
            begin = sum(len(tensors_of(field)) for field in list(fields)[: step.index])
            self.values[step] = self.tensors(operands[0])[begin : begin + len(tensors_of(fields[step.index]))]
        else:
            self.values[step] = self.call(step, operands, uses)

    def call(self, call: Call, operands: list[Expr], uses: dict[Expr, int]) -> list[_Value]:
        """Divides a call. Returns its results."""
        args = [one for operand in operands for one in self.tensors(operand)]
        name = call.op.name
        if name == ANNOTATION:
            return [self.annotated(call, args[0])]
        if any(WHOLE not in value.forms for value in args) and (static := static_form(call)) is not None:
            read, module = static
            return self.inlined(module, [args[i] for i in read])
        if name == PRODUCED:
            return [self.numbered(call, args[0])]
        results, asked = tensors_of(call.checked_type), self.asked.get(call, {})
        way = whole = Way((WHOLE,) * len(args), (WHOLE,) * len(results))
        is_divided = any(WHOLE not in value.forms for value in args)
        if is_divided or any(state != WHOLE for state in asked.values()):
            alone = all(uses.get(one, 0) <= 1 for one in operands)
            permitted = [one for one in ways_of(call, self.n) if self.permits(one, args, alone)]
            possible = [whole, *(one for one in permitted if self.continues(one, args))]
            if not any(all(one.results[at] == state for at, state in asked.items()) for one in possible):
                possible = [whole, *permitted]
            way = min(possible, key=lambda one: self.price(one, args, results, asked))
            if way is whole and is_divided and (module := form_of(call)) is not None:
                return self.inlined(module, args)
        return self.emitted(call, way, args)

    @staticmethod
    def permits(way: Way, args: list[_Value], alone: bool) -> bool:
        """True unless a way needs a partial sum that is not there or is used elsewhere: others would need its sum."""
        needed = [(state, value) for state, value in zip(way.inputs, args, strict=True) if isinstance(state, str)]
        return not needed or (alone and all(state in value.forms for state, value in needed))

    @staticmethod
    def continues(way: Way, args: list[_Value]) -> bool:
        """True if an operand is already divided, or partial, as a way needs it."""
        return any(state != WHOLE and state in value.forms for state, value in zip(way.inputs, args, strict=True))

    def price(
        self, way: Way, args: list[_Value], results: list[TensorType], asked: dict[int, State]
    ) -> tuple[float, float, int]:
        """Returns the bytes that a way moves, those that its partial results need later, and 0 if it divides work.
        Bytes that convert results to the states that are asked for are moved."""
        moved = sum(self.cost(value, state) for value, state in zip(args, way.inputs, strict=True))
        moved += sum(self._bytes(_Value("", results[at], {}), way.results[at], state) for at, state in asked.items())
        later = 0.0
        for state, type_ in zip(way.results, results, strict=True):
            if isinstance(state, str):
                later += moved_bytes("comm.all_reduce", size_in_bytes(type_), self.n)
        return moved, later, all(state == WHOLE for state in way.results)

    def emitted(self, call: Call, way: Way, args: list[_Value]) -> list[_Value]:
        """Emits a call on parts."""
        name = call.op.name
        given = iter([self.convert(v, s, f"for {name}") for v, s in zip(args, way.inputs, strict=True)])
        attributes = (dict(call.attrs) if call.attrs else {}) | (way.attributes or {})
        now = [self.packed(argument.checked_type, given) for argument in call.args]
        label = name.rpartition(".")[2]
        made = self.let(label, _core.call(name, now, attributes))
        types = tensors_of(call.checked_type)
        if isinstance(call.checked_type, TensorType):
            state = way.results[0]
            stored = name == "cast" and args[0].stored and state != WHOLE
            return [_Value(label, types[0], {state: made}, stored=stored)]
        return [
            _Value(f"{label}.{i}", type_, {way.results[i]: self.let(f"{label}_{i}", TupleGetItem(made, i))})
            for i, type_ in enumerate(types)
        ]

    def packed(self, type_: Any, given) -> Expr:
        """Returns the next values as an argument of this type."""
        if isinstance(type_, TensorType):
            return next(given)
        return Tuple([self.packed(field, given) for field in type_.fields])

    def annotated(self, call: Call, value: _Value) -> _Value:
        """Returns the value in the state that an annotation asks for."""
        sharding = Sharding.parse(call.attrs.get_str("sharding"))
        state = sharding.state(self.axis)
        attributes = {"sharding": call.attrs.get_str("sharding")}
        is_as_produced = state == next(iter(value.forms))
        made = self.let(value.name, _core.call(ANNOTATION, [self.convert(value, state, "annotated")], attributes))
        if not is_as_produced:
            return _Value(value.name, value.type, {state: made})
        value.forms[state] = made  # the value may also be there in other states
        return value

    def numbered(self, call: Call, value: _Value) -> _Value:
        """Notes the state in which a value with a number is produced."""
        state, number = next(iter(value.forms)), int(dict(call.attrs)["number"])
        self.produced[number] = state
        value.forms[state] = self.let(value.name, _core.call(PRODUCED, [value.forms[state]], {"number": number}))
        return value

    def inlined(self, module: IRModule, args: list[_Value]) -> list[_Value]:
        """Divides another form of a call."""
        source = straight(module["main"])
        at = 0
        for param in source.params:
            count = len(tensors_of(param.checked_type))
            self.values[param] = args[at : at + count]
            at += count
        uses = self._count_uses(source)
        for step in source.steps:
            self.step(source, step, uses)
        return self.tensors(source.value(source.result))

    def run(self, states: dict[str, int]) -> IRModule:
        """Returns the module of a rank. states: of parameters by name and of results, "=0"; others are whole."""
        params = []
        for param in self.source.params:
            name, type_ = param.name_hint, param.checked_type
            if not isinstance(type_, TensorType):
                self.values[param] = [_Value(name, one, {}) for one in tensors_of(type_)]
                continue
            state = states.get(name, WHOLE)
            new = Var(name, self.local_type(type_, state))
            params.append(new)
            self.values[param] = [_Value(name, type_, {state: new}, stored=name in self.stored and state != WHOLE)]
        for step in self.source.steps:
            self.step(self.source, step, self.uses)
        body = self.source.value(self.source.result)
        results = [
            self.convert(value, states.get(f"={i}", WHOLE), f"result {i}") for i, value in enumerate(self.tensors(body))
        ]
        result = results[0] if isinstance(body.checked_type, TensorType) else Tuple(results)
        out = IRModule.from_expr(Function(params, chained(self.bound, result)))
        return run_passes(out, ["infer_type", "dead_code"])


def partition(module: IRModule, *, stored: set[str] | None = None) -> Partitioned:
    """Returns the program of each rank for a module with annotations (relay.distribute.annotate).

    stored: parameters that are divided to save memory only. They are gathered at each use (ZeRO 3)."""
    mesh, shardings = annotations(module)
    module = run_passes(module, ["infer_type"])
    types = {param.name_hint: param.checked_type for param in module["main"].params}
    types |= {f"={i}": type_ for i, type_ in enumerate(result_types(module))}
    check_sizes(module)
    check_annotations(module, mesh)
    for name, sharding in shardings.items():
        sharding.check(name, tuple(types[name].shape), mesh)
    now, moved = module, []
    for axis, size in mesh.sizes:
        if size == 1:
            continue
        divided = Axis(now, axis, size, len(moved), stored or set())
        now = divided.run({name: sharding.state(axis) for name, sharding in shardings.items()})
        moved += divided.moved
    now = run_passes(without_annotations(now), ["infer_type"])
    left = {dict(step.attrs)["number"] for step in straight(now["main"]).steps if is_collective(step)}
    return Partitioned(now, mesh, shardings, module, [one for one in moved if one.number in left])


def check_sizes(module: IRModule) -> None:
    """Raises a diagnostic if a size is not a number."""
    for param in module["main"].params:
        for one in tensors_of(param.checked_type):
            if isinstance(one, TensorType) and not all(isinstance(extent, int) for extent in one.shape):
                raise wrong_input(
                    f"`{param.name_hint}` is a {one}, and sizes of a divided program must be numbers",
                    "give the sizes: relay.distribute divides a program for one size of the batch",
                )


def check_annotations(module: IRModule, mesh: Mesh) -> None:
    """Raises a diagnostic if a value cannot be divided as its annotation says."""
    source = straight(module["main"])
    names = {source.value(variable): variable.name_hint for variable in source.bound}
    for step in source.steps:
        if isinstance(step, Call) and step.op.name == ANNOTATION:
            sharding, name = Sharding.parse(step.attrs.get_str("sharding")), names.get(step, "a value")
            sharding.check(name, tuple(step.checked_type.shape), mesh)


def without_annotations(module: IRModule) -> IRModule:
    """Returns the module without annotations of values."""

    def change(step: Expr, operands: list[Expr], _, keep) -> Expr:
        return operands[0] if isinstance(step, Call) and step.op.name == ANNOTATION else keep()

    return IRModule.from_expr(rebuilt(module["main"], change))
