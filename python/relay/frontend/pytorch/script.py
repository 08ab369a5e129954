"""TorchScript modules. Their graph is executed here, node by node, on fake tensors.

Python values in the graph (numbers, lists, sizes) are computed at once, so loops over numbers are unrolled. An `if`
whose condition is computed from elements becomes torch.cond's operator, and such a loop becomes torch.while_loop's. The
tensors that their blocks read from outside are operands. The resulting graph contains no TorchScript.
"""

from __future__ import annotations

import torch

from ...errors import wrong_input
from . import script_appended, script_lines, script_python, script_quantized, script_sizes
from .script_python import NotTraceable, tensors

_FOREVER = 2**63 - 1
_CONSTRUCTED = ("prim::ListConstruct", "prim::TupleConstruct")


def _operator(node):
    """Returns the ATen overload that the node calls."""
    name, _, rest = node.schema().partition("(")[0].partition("::")
    packet, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, name), packet), overload or "default")
    except AttributeError as error:
        raise NotTraceable(f"the operator {node.kind()}") from error


def _numbers(value, kind: str, least: int):
    """Converts elements of tensors to integers where the operator takes integers. These sizes depend on elements."""
    if kind in ("List[int]", "Optional[List[int]]") and isinstance(value, list):
        value = [_numbers(one, "int", least) for one in value]
        for one in value:
            if isinstance(one, torch.SymInt):
                script_appended.holds(one >= least)
        return value
    if kind == "Tensor" and type(value) in (bool, int, float):
        return tensors(value)[0]  # a trace calls operators such as detach with numbers
    return value.item() if kind in ("int", "Optional[int]") and isinstance(value, torch.Tensor) else value


def _outer_names(block) -> list[str]:
    """Returns the values that a block reads and that are defined around it, by name."""
    inside, outer = {one.debugName() for one in block.inputs()}, []

    def read(values):
        outer.extend(one.debugName() for one in values if one.debugName() not in inside)

    for node in block.nodes():
        read(node.inputs())
        for inner in node.blocks():
            outer.extend(name for name in _outer_names(inner) if name not in inside)
        inside.update(one.debugName() for one in node.outputs())
    read(block.outputs())
    return list(dict.fromkeys(outer))


def _held(block):
    """Returns the nodes of a block, and of inner blocks, that only name attributes of the module."""
    for node in block.nodes():
        if node.kind() in ("prim::GetAttr", "prim::Constant"):
            yield node
        for inner in node.blocks():
            yield from _held(inner)


# Operators that read the single element of a tensor.
_ELEMENTS = {f"aten::{kind.capitalize()}{way}": of for kind, of in {"int": int, "float": float}.items()
             for way in ("", "Implicit")}  # fmt: skip
_ELEMENTS |= {"aten::Bool": bool, "aten::item": lambda x: x, "aten::ScalarImplicit": lambda x: x}


def _is_held(value) -> bool:
    """Returns true if a tensor's elements are known now: it is made of sizes, or is an attribute, not a parameter."""
    return type(value) is torch.Tensor and not isinstance(value, torch._subclasses.FakeTensor)


def _carried_on(after, before):
    """Returns the new value of a tensor that a loop carries, with its previous sizes."""
    sizes = [*after.shape, *before.shape]
    if all(isinstance(one, int) for one in sizes) and after.numel() != before.numel():
        raise NotTraceable(f"a loop that creates {list(after.shape)} of the shape {list(before.shape)}, step by step")
    return after.to(before.dtype).reshape(before.shape)


def _with(value, changed: dict):
    """The value with other tensors, by their identities, in lists, tuples and dictionaries too."""
    if isinstance(value, torch.Tensor):
        return changed.get(id(value), value)
    if type(value) in (list, tuple):
        return type(value)(_with(one, changed) for one in value)
    if type(value) is dict:
        return {key: _with(one, changed) for key, one in value.items()}
    return value


def _tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif type(value) in (list, tuple, dict):
        for one in value.values() if type(value) is dict else value:
            yield from _tensors_in(one)


class _Around:
    """The values that blocks read from outside: the tensors, each once, which become operands, and all others."""

    def __init__(self, given: dict):
        self._given = given
        self.tensors = list({id(one): one for one in _tensors_in(list(given.values()))}.values())

    def values(self, operands) -> dict:
        """By name, with operands in the places of the tensors."""
        changed = {id(one): operand for one, operand in zip(self.tensors, operands, strict=False)}
        return {name: _with(value, changed) for name, value in self._given.items()}

    @staticmethod
    def others(values: dict) -> dict:
        return {name: value for name, value in values.items() if not isinstance(value, torch.Tensor)}


class _Run:
    def __init__(self, values: dict, failure: script_lines.Failure, folds: bool = False):
        """`folds`: also evaluate values that depend on known elements only. Branches, without tensors, do not."""
        self.values, self.failure, self.folds = values, failure, folds  # values by name

    def _known(self, node, kind: str, given: list):
        """Returns the result if it is known now, such as arithmetic on sizes, otherwise None."""
        has_shape = kind == "aten::_shape_as_tensor" and script_sizes.of_shape(given[0].shape) is None
        if has_shape or (kind == "prim::NumToTensor" and type(given[0]) in (int, float)):
            with torch.utils._python_dispatch._disable_current_modes():
                return torch.tensor(list(given[0].shape) if kind.startswith("aten") else given[0])
        flat = [one for value in given for one in (value if isinstance(value, list) else [value])]
        tensors = [one for one in flat if isinstance(one, torch.Tensor)]
        if not tensors or not all(map(_is_held, tensors)) or not kind.startswith("aten::"):
            return None
        if any(isinstance(one, script_sizes.Sizes | torch.SymInt) for one in flat):
            return None  # known at run time only
        with torch.utils._python_dispatch._disable_current_modes():
            if kind in _ELEMENTS:
                return _ELEMENTS[kind](given[0].item())
            if kind.endswith("_") and isinstance(given[0], torch.Tensor):
                given = [given[0].clone(), *given[1:]]  # earlier results stay unchanged
            return self.called(node, kind, given)

    def block(self, block, inputs=()) -> list:
        self.values |= {one.debugName(): value for one, value in zip(block.inputs(), inputs, strict=True)}
        return self.steps(block)

    def steps(self, block) -> list:
        for node in block.nodes():
            self.node(node)
        return [self.values[one.debugName()] for one in block.outputs()]

    def node(self, node) -> None:
        with self.failure.at(node):
            self._node(node)

    def _node(self, node) -> None:
        kind = node.kind()
        if kind in ("prim::GetAttr", "prim::Constant") and node.output().debugName() in self.values:
            return
        given = [self.values[one.debugName()] for one in node.inputs()]
        if kind == "prim::If":
            results = self.choice(node, given[0])
        elif kind == "prim::Loop":
            results = self.loop(node, *given)
        elif kind == "prim::Constant":
            results = [node.output().toIValue()]
        elif kind == "prim::GetAttr":
            results = [getattr(given[0], node.s("name"))]
        elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            results = list(given[0])
        elif kind == "prim::RaiseException":
            raise NotTraceable("an exception that the module raises")
        elif kind == "aten::tensor" and not self.folds and type(given[0]) in (bool, int, float):
            own = {bool: torch.bool, int: torch.int64}.get(type(given[0]), torch.get_default_dtype())
            results = [torch.ops.aten.full.default([], given[0], dtype=own if given[1] is None else given[1])]
        else:
            known = self._known(node, kind, given) if self.folds else None
            results = [self.called(node, kind, given) if known is None else known]
            results = list(results[0]) if node.outputsSize() > 1 else results
        for one, value in zip(node.outputs(), results, strict=False):
            self.values[one.debugName()] = value

    @staticmethod
    def called(node, kind: str, given: list):
        if kind == "aten::_shape_as_tensor" and (sizes := script_sizes.of_shape(given[0].shape)) is not None:
            return sizes
        if kind == "aten::scalar_tensor" and (sizes := script_sizes.of_number(*given[:2])) is not None:
            return sizes
        if script_sizes.has_sizes(given) and kind not in _CONSTRUCTED:
            sizes = script_sizes.called(kind, given)
            if sizes is not None:
                return sizes
            given = script_sizes.as_tensors(given)
        made = script_quantized.called(kind, given, lambda these: _Run._called(node, these))
        return _Run._called(node, given) if made is None else made

    @staticmethod
    def _called(node, given: list):
        made = script_python.called(node, given)
        if made is not NotImplemented:
            return made
        function = _operator(node)
        arguments = function._schema.arguments
        least = int("upsample" in node.kind())  # PyTorch refuses to resize it to an empty tensor
        given = [_numbers(value, str(one.type), least) for value, one in zip(given, arguments, strict=True)]
        ordered = [value for value, one in zip(given, arguments, strict=True) if not one.kwarg_only]
        named = {one.name: value for value, one in zip(given, arguments, strict=True) if one.kwarg_only}
        return function(*ordered, **named)

    def _around(self, blocks: list) -> _Around:
        held = [node for block in blocks for node in _held(block)]  # weights are operands too
        for node in held:
            self.node(node)
        names = dict.fromkeys(name for block in blocks for name in _outer_names(block))
        names |= dict.fromkeys(node.output().debugName() for node in held)
        return _Around({name: self.values[name] for name in names})

    def choice(self, node, condition) -> list:
        blocks = list(node.blocks())
        if isinstance(condition, torch.SymBool):  # sizes that depend on elements are at least 1
            condition = torch.fx.experimental.symbolic_shapes.guard_or_false(condition)
        if not isinstance(condition, torch.Tensor):
            return self.block(blocks[0 if condition else 1])
        around = self._around(blocks)

        def branch(block):
            def run(*operands):
                values = around.values(operands)
                with script_python.unchanged(around.others(values)):
                    results = _Run(values, self.failure).block(block)
                return tuple(one.clone() for one in tensors(*results))  # a branch gives no operand back

            return run

        condition = condition.reshape([]) if condition.dim() else condition
        condition = condition if condition.dtype == torch.bool else condition != 0
        operands = tuple(around.tensors)
        return list(torch.ops.higher_order.cond(condition, branch(blocks[0]), branch(blocks[1]), operands))

    def loop(self, node, most, condition, *carried) -> list:
        [block] = node.blocks()
        if isinstance(most, torch.SymInt) and condition is True and script_appended.appends(block, carried):
            return self._appended(block, most, carried)
        if isinstance(most, torch.SymInt):  # as many steps as a tensor has rows, which vary
            most = torch.ops.aten.scalar_tensor.default(most, dtype=torch.int64)
        if isinstance(most, torch.Tensor):
            return self._while(block, most, condition, 0, carried)
        for count in range(min(most, _FOREVER)):
            if isinstance(condition, torch.Tensor):
                return self._while(block, most, condition, count, carried)
            if not condition:
                break
            now, *after = self.block(block, [count, *carried])
            if isinstance(now, torch.Tensor):  # from the beginning: the carried value is the same in each step
                return self._while(block, most, condition, count, carried)
            condition, carried = now, after
        return list(carried)

    def _appended(self, block, most, carried) -> list:
        around = self._around([block])

        def step(count, operands):
            values, empty = around.values(operands), operands[len(around.tensors) :]
            with script_python.unchanged(around.others(values)):
                return _Run(values, self.failure).block(block, [count, *empty])[1:]

        # The empty ones are operands: a step reads its sizes off them. A scan takes no views of one tensor.
        operands = [one.clone() for one in [*around.tensors, *carried]]
        return script_appended.scanned(most, carried, operands, step)

    def _while(self, block, most, condition, count: int, carried) -> list:
        around = self._around([block])
        limit = most if isinstance(most, torch.Tensor) or most < _FOREVER else None
        more = [limit] if isinstance(limit, torch.Tensor) else []

        def goes_on(count, condition, *rest):
            bound = rest[-1] if more else limit
            return condition.clone() if bound is None else torch.logical_and(condition, count < bound)

        def body(count, condition, *rest):
            state, operands = rest[: len(carried)], rest[len(carried) : len(carried) + len(around.tensors)]
            values = around.values(operands)
            with script_python.unchanged(around.others(values)):
                results = _Run(values, self.failure).block(block, [count, *state])
            now, *after = tensors(*results)
            kept = zip(after, state, strict=True)
            after = [_carried_on(one, before).clone() for one, before in kept]
            return (count + 1, now.reshape([]).to(torch.bool).clone(), *after)

        [first, *state] = tensors(condition, *carried)
        begin = (*tensors(count), first.reshape([]).to(torch.bool), *state)
        operands = (*around.tensors, *more)
        return list(torch.ops.higher_order.while_loop(goes_on, body, begin, operands))[2:]


def _defaults(module, count: int) -> list:
    """Returns the defaults of the arguments after those that are given."""
    is_function = isinstance(module, torch.jit.ScriptFunction)
    arguments = module.schema.arguments if is_function else module.forward.schema.arguments[1:]
    return [one.default_value for one in arguments[count:] if one.has_default_value()]


def traced(module, example_inputs: tuple):
    """Returns the GraphModule of ATen operators and control flow for a ScriptModule or ScriptFunction, for inputs of
    these sizes.

    Raises CompileError (R0601) for constructs that it cannot follow.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    graph, failure = module.inlined_graph, script_lines.Failure()
    names = [one.debugName() for one in graph.inputs()]
    held = {} if isinstance(module, torch.jit.ScriptFunction) else {names.pop(0): module}

    def run(*inputs):
        given = [*inputs, *_defaults(module, len(inputs))]
        values = held | dict(zip(names, given, strict=True))
        results = _Run(values, failure, folds=True).steps(graph)
        results = script_sizes.as_tensors(results)
        return results[0] if len(results) == 1 else tuple(results)

    try:
        how = {"tracing_mode": "fake", "pre_dispatch": True, "_allow_non_fake_inputs": True}
        with torch.fx.traceback.preserve_node_meta():
            return make_fx(run, **how)(*example_inputs)
    except Exception as error:  # NotTraceable, and any exception of operators on fake tensors
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise wrong_input(
            f"the TorchScript module cannot be traced{failure.line}: {said}",
            "export the original torch.nn.Module with torch.export.export(module, example_inputs), then pass the "
            "result to relay.load",
        ) from error
