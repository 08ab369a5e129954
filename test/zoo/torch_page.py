"""docs/pytorch-networks.md, and test/zoo/torch_results.json with the last result of each network, by torch_run.py."""

import json
import re

HEAD = """<!-- Written by make models-torch. Do not edit. -->

# Networks of PyTorch

`make models-torch` takes the networks of [timm](https://github.com/huggingface/pytorch-image-models), torchvision and
transformers that `test/zoo/networks.txt` and `test/zoo/detection.txt` name, with random weights, where `onnx` cannot be imported.
Each is exported once with a batch that varies, and with a length where there is one; the one program then runs at several sizes.
Its error is the greatest difference from PyTorch in double precision, in parts of the largest value; beside it stands that of eager PyTorch.
What is farther off than 1e-4 and four times eager's error counts as wrong. Where eager's error is above a hundredth,
single precision tells nothing, and the program is imported in double precision, where it may be off by 1e-6.
Transformers are small: two layers of 64 numbers.
Detectors of torchvision are traced, since `torch.export` cannot follow loops over what they find; the one program
takes images of three sizes, and their error is the share of boxes that have none near them. Where that share is above
a fifth for eager PyTorch too (ssdlite: many scores are equal but for rounding, since values are cut off at 6), it says
nothing, and the error is that of what the layers give in front of the choice of boxes.

`make models-torch ZOO='--train --limit 40'` gives networks to `torch.compile(backend="relay")`: inference beside
eager, then 20 steps of training in training mode with the losses of eager's steps. In some networks each step
multiplies a rounding, by 30 in skresnet18. Where losses differ by more than 1e-2 the steps are taken in double
precision too, by eager PyTorch a second time from weights that differ by a part in 1e15: at no step may Relay's
losses differ from eager's by more than a hundred times what these do. The column then has the greatest differences of
all three. The shares are those of the nodes of all graphs that run in Relay's kernels, in inference and in training;
in brackets those of multiply-adds, where they are others.

`make models-torch ZOO=--front` counts what `torch.compile` gives to Relay and to its default backend (Inductor), without
generating code: graphs and graph breaks, and the operators that a backend leaves to PyTorch's kernels, of inference and of a
training step together. Each backend decomposes in its own way, so they have different operators. Relay leaves what its importer
refuses; the default one what it has no lowering for but a call of ATen's kernel, as the gradients of convolutions and attention in
one operator. The three columns have Relay's number, then the default backend's.

{summary}

| network | import | error | eager's | sizes that vary | kernels | inference | losses | share, inference | share, training | graphs | breaks | left to PyTorch |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

## What does not run

{failures}

## Not run here

{missing}
"""
AXES = {(): "", (0,): "batch", (0, 1): "batch, length", (1,): "length", (2, 3): "image"}


KINDS = ("import", "train", "front")
SECONDS = ("seconds", "read_s", "compile_s")  # of one machine, and so not kept


def _kept(folder, names: list[str], store) -> dict:
    """{kind: {network: its last result}}: what `store` has, with what this machine's runs left in `folder`."""
    stored = json.loads(store.read_text())
    for kind in KINDS:
        for path in (folder / kind).glob("*.json"):
            result = json.loads(path.read_text())
            stored.setdefault(path.stem, {})[kind] = {key: one for key, one in result.items() if key not in SECONDS}
    stored = {name: stored[name] for name in names if name in stored}
    rows = [f"{json.dumps(name)}: {json.dumps(of)}" for name, of in stored.items()]
    store.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return {kind: {name: of[kind] for name, of in stored.items() if kind in of} for kind in KINDS}


def _number(result, name: str) -> str:
    return f"{result[name]:.1e}" if name in result else ""


def _losses(result) -> str:
    said = _number(result, "loss_error")
    if "loss_error_in_double" not in result:
        return said
    doubles = [_number(result, f"loss_error_{of}") for of in ("in_double", "of_a_rounding")]
    return f"{said}; double {doubles[0]}, eager's {doubles[1]}"


def _share(result, kind: str) -> str:
    if "share" not in result:
        return ""
    nodes, work = result["share"][kind]
    return f"{nodes:.1%}" if f"{nodes:.1%}" == f"{work:.1%}" else f"{nodes:.1%} ({work:.1%})"


def _fronts(result: dict, backend: str) -> list[int]:
    """[graphs, graph breaks, operators left to PyTorch, operators], of inference and training together."""
    both = [of[backend] for of in result["front"].values()]
    return [sum(one["graphs"] for one in both), sum(one["breaks"] for one in both),
            sum(sum(one["left"].values()) for one in both), sum(one["nodes"] for one in both)]  # fmt: skip


def _front_cells(result: dict) -> list[str]:
    if "front" not in result:
        return ["", "", ""]
    ours, default = _fronts(result, "relay"), _fronts(result, "default")
    return [f"{a}, {b}" for a, b in zip(ours[:3], default, strict=False)]


def _row(name: str, imported: dict, trained: dict, front: dict) -> str:
    varies = AXES.get(tuple(imported.get("varies", ())), "")
    cells = [
        imported.get("outcome", ""), _number(imported, "error"), _number(imported, "eager_error"), varies,
        str(imported.get("kernels", "")), _number(trained, "error"), _losses(trained),
        _share(trained, "inference"), _share(trained, "training"), *_front_cells(front),
    ]  # fmt: skip
    return f"| {name} | {' | '.join(cells)} |"


def _reason(result: dict) -> str:
    """Without places on this machine."""
    text = re.sub(r"(, first in `\w+`)? at /\S+", "", result["why"] or result["outcome"])
    return re.sub(r"^error\[\w+\]: ", "", text)


def _summary(kind: str, results: dict, known: int) -> str:
    equal = sum(one["outcome"] == "equal" for one in results.values())
    return f"{kind}: {len(results)} of {known} networks have a result here, {equal} of them are equal."


def _fronts_summary(results: dict) -> str:
    counted = [one for one in results.values() if "front" in one]
    lines = []
    for title, backend in (("Relay", "relay"), ("its default backend", "default")):
        graphs, breaks, left, nodes = map(sum, zip(*(_fronts(one, backend) for one in counted), strict=True))
        lines.append(f"{title} {graphs} graphs with {breaks} breaks, and leaves {left} of {nodes} operators to PyTorch")
    more = sum(_fronts(one, "relay")[1] > _fronts(one, "default")[1] for one in counted)
    said = f"Of {len(counted)} networks torch.compile gives {'; '.join(lines)}."
    return f"{said} {more or 'None'} of them {'have' if more > 1 else 'has'} more breaks with Relay."


def write_page(folder, names: list[str], store, path) -> None:
    """From all results that there are, whatever run they are of: those of `folder` replace those of `store`."""
    imported, trained, front = _kept(folder, names, store).values()
    rows = [_row(name, imported.get(name, {}), trained.get(name, {}), front.get(name, {}))
            for name in names if name in imported or name in trained or name in front]  # fmt: skip
    failures = []
    for kind, results in (("import", imported), ("torch.compile", trained), ("fronts", front)):
        failures += [
            f"- {name}, {kind}: {_reason(one)}"
            for name, one in results.items()
            if one["outcome"] != "equal" or one["why"]
        ]
        failures += [f"- {name}, {kind}, in part: {_reason({'why': why})}"
                     for name, one in results.items() for why in one.get("fallbacks", ())]  # fmt: skip
    summary = [_summary("Import", imported, len(names)), _summary("torch.compile", trained, len(names))]
    summary += [_fronts_summary(front)] if any("front" in one for one in front.values()) else []
    left = [name for name in names if name not in imported]
    missing = (
        f"For want of time on this machine, not for a refusal that is known: {', '.join(left)}." if left else "None."
    )
    text = HEAD.format(
        missing=missing, summary="\n".join(summary), rows="\n".join(rows), failures="\n".join(failures) or "Nothing."
    )
    path.write_text(text)
