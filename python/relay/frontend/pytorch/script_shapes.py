"""Variable sizes of a TorchScript module's inputs: dynamic_shapes in the form of torch.export.export."""

from __future__ import annotations

import torch

from ...errors import wrong_input


def by_position(dynamic_shapes, names: list[str] | None, count: int) -> tuple:
    """Returns the entry of each input, or None if there is none. Entries are given by position, or by the names of
    forward()."""
    if isinstance(dynamic_shapes, dict):
        unknown = [name for name in dynamic_shapes if name not in (names or [])]
        if unknown:
            raise wrong_input(
                f"dynamic_shapes names the input {unknown[0]!r}, but forward() takes: {', '.join(names or ['?'])}",
                "use these names, or give a tuple with one entry per input",
            )
        return tuple(dynamic_shapes.get(name) for name in names)
    if len(dynamic_shapes) != count:
        raise wrong_input(
            f"dynamic_shapes has entries for {len(dynamic_shapes)} inputs, but there are {count}",
            "give one entry per input; None keeps all of its sizes",
        )
    return tuple(dynamic_shapes)


def _varies(said, axis: int) -> bool:
    """Returns true if the entry of an input makes this size variable."""
    if isinstance(said, dict):
        of = said.get(axis)
    else:
        of = said[axis] if said is not None and axis < len(said) else None
    return of is not None and not isinstance(of, int) and of is not torch.export.Dim.STATIC


def as_fake(example_inputs: tuple, shapes: tuple) -> tuple:
    """Returns the inputs without elements, of one fake mode, with symbols for the variable sizes."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)

    def fake(tensor, said):
        if not isinstance(tensor, torch.Tensor):
            return tensor
        kinds = [DimDynamic.DYNAMIC if _varies(said, axis) else DimDynamic.STATIC for axis in range(tensor.dim())]
        return mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=kinds))

    return tuple(fake(tensor, said) for tensor, said in zip(example_inputs, shapes, strict=True))
