"""Module: a layer or a network, with parameters, state and parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._core import Expr, IRModule
from ..data import safetensors
from ..errors import wrong_input
from ..run.compiled import Compiled, compile
from ..script.program import active
from .eager import Calls
from .parameter import Parameter
from .summary import summary
from .trace import on_expressions, trace


class Module:
    """A layer. Subclasses assign parameters and parts in __init__ and define forward() on expressions.

    A call on arrays compiles the layer for their types, once, and runs it. A call on expressions builds a program.
    Parameters have the names of their attributes, joined by dots, as in PyTorch.
    """

    __relay_layer__ = True
    training: bool = True
    structure = 0  # counts changes of attributes of all layers, so that cached calls notice them

    def __init__(self):
        self._calls: Calls | None = None

    def forward(self, *args: Any) -> Any:
        """Returns the result for expressions."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_calls":
            Module.structure += 1
            if not isinstance(value, (Parameter, Module)) and name != "training":
                self.__dict__["_edits"] = self.__dict__.get("_edits", 0) + 1
        object.__setattr__(self, name, value)

    def form(self) -> tuple:
        """Returns a key of everything that a program of this layer depends on, other than values of parameters."""
        parts: list[object] = []
        for one in self.modules():
            parts += one.training, one.__dict__.get("_edits", 0)
            parts += (id(part) for _, part in one._parts())
        return tuple(parts)

    def __call__(self, *args: Any, **named: Any) -> Any:
        program = active()
        if program is not None:
            if not program.inside:
                self.set_names()
            program.inside += 1
            result = self.forward(*args, **named)
            program.inside -= 1
            program.calls.append((self, args, result))
            return result
        if any(isinstance(one, Expr) for one in args):
            return on_expressions(self, args, named)
        calls = self.__dict__.get("_calls")
        if calls is None:
            calls = self._calls = Calls(self)
        return calls(*args, **named)

    # --- parts --------------------------------------------------------------------------------------------------------
    def _parts(self) -> Iterator[tuple[str, Parameter | Module]]:
        for name, value in vars(self).items():
            if isinstance(value, (Parameter, Module)):
                yield name, value

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The parts, by the names of their attributes."""
        return ((name, one) for name, one in self._parts() if isinstance(one, Module))

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This layer and all parts of parts, by path."""
        yield prefix, self
        for name, one in self.named_children():
            yield from one.named_modules(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """This layer and all parts of parts."""
        return (one for _, one in self.named_modules())

    def named_state(self) -> Iterator[tuple[str, Parameter]]:
        """All parameters and buffers by path. One that is shared by several layers has several names."""
        for prefix, module in self.named_modules():
            for name, one in module._parts():
                if isinstance(one, Parameter):
                    yield f"{prefix}.{name}" if prefix else name, one

    def set_names(self) -> dict[str, Parameter]:
        """Gives the parameters their paths in this layer as names. Returns them, each once."""
        found: dict[str, Parameter] = {}
        seen: set[int] = set()
        for name, one in self.named_state():
            if id(one) not in seen:
                seen.add(id(one))
                one.name = name
                found[name] = one
        return found

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The trained parameters by path, each once: by its first name."""
        seen: set[int] = set()
        for name, one in self.named_state():
            if one.trained and id(one) not in seen:
                seen.add(id(one))
                yield name, one

    def parameters(self) -> Iterator[Parameter]:
        """The trained parameters, each once."""
        return (one for _, one in self.named_parameters())

    def train(self, mode: bool = True) -> Module:
        """Sets the meaning of batch norms and dropouts, here and in all parts: training or, with False, inference."""
        for one in self.modules():
            one.training = mode
        return self

    def eval(self) -> Module:
        """Sets the meaning of inference: train(False)."""
        return self.train(False)

    # --- state --------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, np.ndarray]:
        """Returns the arrays of all parameters and buffers by name. They are the layer's own."""
        return {name: one.data for name, one in self.named_state()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Copies arrays or torch tensors by name. With strict, both sides must have the same names."""
        mine = dict(self.named_state())
        missing = [name for name in mine if name not in state]
        unknown = [name for name in state if name not in mine]
        if strict and (missing or unknown):
            parts = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"unknown: {', '.join(unknown)}"] * bool(
                unknown
            )
            raise wrong_input(
                f"the state does not fit {type(self).__name__}; {'; '.join(parts)}",
                "load the state of the same network, or pass strict=False",
            )
        for name, value in state.items():
            if name in mine:
                mine[name].copy_from(value, name)

    def save(self, path: str | os.PathLike) -> None:
        """Writes parameters and buffers as safetensors. A tied parameter is written once, by its first name."""
        seen, arrays = set(), {}
        for name, one in self.named_state():
            if id(one) not in seen:
                seen.add(id(one))
                arrays[name] = one.data
        safetensors.write(Path(path), arrays)

    def load(self, path: str | os.PathLike, strict: bool = True) -> None:
        """Reads parameters and buffers from safetensors. Of a tied parameter, one name suffices."""
        state = dict(safetensors.read(Path(path), Path(path).read_bytes()))
        if strict:
            by_parameter: dict[int, Any] = {id(one): state[name] for name, one in self.named_state() if name in state}
            state |= {name: by_parameter[id(one)] for name, one in self.named_state() if id(one) in by_parameter}
        self.load_state_dict(state, strict)

    # --- programs -----------------------------------------------------------------------------------------------------
    def infer(self, *args: Any) -> Module:
        """Infers sizes that were left out, from arrays or types of arguments. Runs nothing."""
        trace(self, args)
        return self

    def module(self, *args: Any) -> IRModule:
        """Returns the program for arrays or types of arguments: @main takes these, then the parameters by name."""
        return trace(self, args).module

    def compile(self, *args: Any, **options: Any) -> Compiled:
        """Compiles the layer for inference, with its parameters as constants. options: of relay.compile."""
        return compile(trace(self, args).with_constants(), **options)

    def summary(self, *args: Any) -> str:
        """Returns a table of the layers with their result shapes, parameters, operations and bytes."""
        return summary(self, args)

    # --- text ---------------------------------------------------------------------------------------------------------
    def extra_repr(self) -> str:
        """Returns the arguments of the layer for repr()."""
        return ""

    def __repr__(self) -> str:
        parts = [f"({name}): {one!r}".replace("\n", "\n  ") for name, one in self.named_children()]
        if not parts:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}({self.extra_repr()}\n  " + "\n  ".join(parts) + "\n)"
