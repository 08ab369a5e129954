"""The inputs of an imported model, and its module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..._core import Dim, Expr, Function, IRModule, Tuple
from ...errors import wrong_input
from .node import text
from .problems import Refused
from .provenance import Fates


def check_names(given: Iterable[str], names: Sequence[str]) -> None:
    """Refuses shapes of inputs that the model has not."""
    for name in given:
        if name not in names:
            raise wrong_input(f"the model has no input `{name}`", f"its inputs are {', '.join(names)}")


def without_shape(name: str) -> Refused:
    """Returns the problem of an input whose shape neither the model nor the user gives."""
    return Refused(
        f"the input `{name}` has no shape in the model",
        f"give it: --shape {name}=1,224,224,3, or shape={{'{name}': (1, 224, 224, 3)}}",
    )


def given_sizes(name: str, given: Sequence, held: Sequence | None, least: int) -> list:
    """Returns the sizes of an input that the user gives; None and -1 leave a size as it is in the model.

    held: those of the model, None for open ones; None if the model has none. Those that it fixes cannot change.
    least: the smallest size.
    """
    given = [None if one in (None, -1) else int(one) for one in given]
    held = [None] * len(given) if held is None else list(held)
    if len(given) != len(held) or any(
        a is not None and (a < least or b not in (None, a)) for a, b in zip(given, held, strict=True)
    ):
        raise wrong_input(
            f"input `{name}` has the shape {text(held)} in the model, and {text(given)} is given",
            f"give one size for each axis, {least} or more; sizes that the model fixes cannot change",
        )
    return [b if a is None else a for a, b in zip(given, held, strict=True)]


def named(name: str, sizes: Sequence, has_batch: bool = True) -> list:
    """Returns the sizes of an input with names for those that are None: of the input, and `batch` for the first."""
    stem = re.sub(r"\W", "_", name)
    return [
        one if one is not None else Dim("batch" if axis == 0 and has_batch else f"{stem}_{axis}")
        for axis, one in enumerate(sizes)
    ]


def module_of(
    params: Sequence[Expr],
    results: Sequence[Expr],
    states: Sequence[tuple[Expr, str, Expr]],
    fates: Fates,
    functions: dict[str, Function] | None = None,
    attrs: dict[str, object] | None = None,
) -> IRModule:
    """Returns the module whose @main has these parameters and results, then those of the states.

    states: parameter, name and value after the run of each; they are zero at first. functions: those besides @main.
    attrs: further attributes of @main.
    """
    results = [*results, *(result for _, _, result in states)]
    main = Function([*params, *(state for state, _, _ in states)], results[0] if len(results) == 1 else Tuple(results))
    if states:
        main = main.with_attr("state_names", [name for _, name, _ in states])
        main = main.with_attr("state_starts", [0.0] * len(states))
    for name, value in (attrs or {}).items():
        main = main.with_attr(name, value)
    functions = {"main": main, **(functions or {})}
    return IRModule(functions, attrs=fates.attrs(functions))
