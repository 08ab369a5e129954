"""docs/pytorch-networks.md, from the results of torch_run.py."""

import json
import re

HEAD = """<!-- Written by make models-torch. Do not edit. -->

# Networks of PyTorch

`make models-torch` takes the networks of [timm](https://github.com/huggingface/pytorch-image-models), torchvision and
transformers that `test/zoo/networks.txt` and `test/zoo/detection.txt` name, with random weights, where `onnx` cannot be imported.
Each is exported once with a batch that varies, and with a length where there is one; the one program then runs at several sizes.
Its error is the greatest difference from PyTorch in double precision, in parts of the largest value; beside it stands that of eager PyTorch.
What is farther off than 1e-4 and four times eager's error counts as wrong. Transformers are small: two layers of 64 numbers.
Detectors of torchvision are traced, since `torch.export` cannot follow loops over what they find; their error is the share of boxes
that have none near them.

`make models-torch ZOO='--train --limit 40'` gives networks to `torch.compile(backend="relay")`: inference beside eager, then
20 steps of training in training mode with the losses of eager's steps. The shares are those of the nodes of all graphs
that run in Relay's kernels, in inference and in training; in brackets those of multiply-adds, where they are others. No
network has more graph breaks than PyTorch finds without Relay.

{summary}

| network | import | error | eager's | sizes that vary | kernels | inference | losses | share, inference | share, training |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

## What does not run

{failures}
"""
AXES = {(): "", (0,): "batch", (0, 1): "batch, length", (1,): "length"}


def _read(folder) -> dict:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def _number(result, name: str) -> str:
    return f"{result[name]:.1e}" if name in result else ""


def _share(result, kind: str) -> str:
    if "share" not in result:
        return ""
    nodes, work = result["share"][kind]
    return f"{nodes:.1%}" if f"{nodes:.1%}" == f"{work:.1%}" else f"{nodes:.1%} ({work:.1%})"


def _row(name: str, imported: dict, trained: dict) -> str:
    varies = AXES.get(tuple(imported.get("varies", ())), "")
    cells = [
        imported.get("outcome", ""), _number(imported, "error"), _number(imported, "eager_error"), varies,
        str(imported.get("kernels", "")), _number(trained, "error"), _number(trained, "loss_error"),
        _share(trained, "inference"), _share(trained, "training"),
    ]  # fmt: skip
    return f"| {name} | {' | '.join(cells)} |"


def _reason(result: dict) -> str:
    """Without places on this machine."""
    text = re.sub(r"(, first in `\w+`)? at /\S+", "", result["why"] or result["outcome"])
    return re.sub(r"^error\[\w+\]: ", "", text)


def _summary(kind: str, results: dict, known: int) -> str:
    equal = sum(one["outcome"] == "equal" for one in results.values())
    return f"{kind}: {len(results)} of {known} networks have a result here, {equal} of them are equal."


def write_page(folder, names: list[str], path) -> None:
    """From all results that there are, whatever run they are of."""
    imported, trained = ({name: one for name, one in _read(folder / kind).items() if name in names}
                         for kind in ("import", "train"))  # fmt: skip
    rows = [_row(name, imported.get(name, {}), trained.get(name, {}))
            for name in names if name in imported or name in trained]  # fmt: skip
    failures = []
    for kind, results in (("import", imported), ("torch.compile", trained)):
        failures += [f"- {name}, {kind}: {_reason(one)}" for name, one in results.items() if one["outcome"] != "equal"]
        failures += [f"- {name}, {kind}, in part: {_reason({'why': why})}"
                     for name, one in results.items() for why in one.get("fallbacks", ())]  # fmt: skip
    summary = [_summary("Import", imported, len(names)), _summary("torch.compile", trained, len(names))]
    text = HEAD.format(summary="\n".join(summary), rows="\n".join(rows), failures="\n".join(failures) or "Nothing.")
    path.write_text(text)
