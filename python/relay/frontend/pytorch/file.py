"""Files of PyTorch for the command line: exported programs and TorchScript, whose inputs are found out."""

from __future__ import annotations

from ..._core import IRModule
from ...errors import wrong_input
from . import from_module, is_script_file, read_pt2


def import_file(path: str, shapes: dict[str, list[int]]) -> tuple[IRModule, list[str]]:
    """The module of an exported program, or of a TorchScript file with inputs of these shapes; and the paths read.

    A file that torch.jit.trace made has the shapes and element types of its example inputs; others are float32.
    """
    if not is_script_file(path):
        return read_pt2(path), [path]
    return from_module(path, _examples(path, shapes)), [path]


def _examples(path: str, shapes: dict[str, list[int]]) -> tuple:
    import torch

    script = torch.jit.load(path, map_location="cpu", _restore_shapes=True)
    inputs = {one.debugName().partition(".")[0]: one.type() for one in list(script.graph.inputs())[1:]}
    missing = [name for name in inputs if name not in shapes and _sizes(inputs[name]) is None]
    if missing:
        raise wrong_input(
            f"{path} is a TorchScript file, which does not contain the shapes of its inputs: {', '.join(missing)}",
            f"give them: {' '.join(f'--shape {name}=1,3,224,224' for name in missing)}",
        )
    for name, sizes in shapes.items():
        if min(sizes, default=1) < 1:
            raise wrong_input(f"the shape of input `{name}` has the size {min(sizes)}", "give sizes above zero")
    return tuple(
        torch.ones(shapes.get(name) or _sizes(type_), dtype=_dtype(type_) or torch.float32)
        for name, type_ in inputs.items()
    )


def _sizes(type_) -> list[int] | None:
    return type_.sizes() if hasattr(type_, "sizes") else None


def _dtype(type_):
    return type_.dtype() if hasattr(type_, "dtype") else None
