"""docs/onnx-support.md, from the outcomes of a run."""

import collections
import pathlib
import re

import onnx
from suite import cell, reason_rows

FRONTEND = pathlib.Path(__file__).resolve().parents[2] / "src/relay/frontend/onnx"
NOT_IMPORTED = FRONTEND / "not_imported.def"
MICROSOFT = FRONTEND / "microsoft/operators.def"
HEAD = """<!-- Written by make test-onnx. Do not edit. -->

# ONNX: what is supported

`make test-onnx` runs the backend suite of onnx {version} and writes this page:
{kinds}. A function that stands for an operator is a case of its own.

Floats of 8, 6 and 4 bits and integers of 4 and 2 are [storage types](language.md#storage-types): inputs and results are arrays of
`ml_dtypes`. Strings are moved, compared and looked up as numbers of one list, which the module keeps: what is
compiled takes and gives arrays of strings. Nothing joins or splits them: of a text vectoriser (`CountVectorizer` of scikit-learn) the part
behind its `Tokenizer` is imported, and takes the tokens. A map that `DictVectorizer` reads is a row with a column for
each word of its vocabulary, one that `CastMap` reads a row in the order of its keys. Sparse tensors become dense at import. A sequence that a graph gives is a tuple, or a list (`relay.values.as_list`) where its length is known only when the model runs. `ZipMap` gives the scores as an array, columns in the
order of the labels. Of results that are drawn (`Bernoulli`, `Dropout` in training) types and shapes are compared; a compiled model
draws the same numbers in each run.

- **(a)**: every input of the graph is given when the model runs; no value is read at import.
- **(b)**: inputs that decide ranks, axes or sizes (`shape`, `axes`, `k`, a count of steps; the list is `DECIDING` in
  `test/onnx/cases.py`) are constants. Of inputs that are sequences or optional the shapes of their tensors are told
  (`relay.load(model, shapes={{"parts": [(2, 3), (4, 3)]}})`); they are given as tuples. In (a) only the number of their axes is
  told (`shapes={{"parts.*": (-1, -1)}}`); they are given as lists, or as `relay.Data("Some", x)` and `relay.Data("None")`.

| executor | (a) | (b) |
| --- | --- | --- |
{rows}
| no kernel, because all was folded | {folded[a]} | {folded[b]} |

The virtual machine and machine code run kernels that were compiled; the evaluator has no part in them.
"""


def _share(results, executor):
    passed = sum(r["outcome"][executor] == "passed" for r in results)
    return f"{passed} of {len(results)}, {passed / max(len(results), 1):.1%}"


def _passes(result):
    return all(why == "passed" for why in result["outcome"].values())


def _reason(result):
    return next((why for why in result["outcome"].values() if why != "passed"), "")


def _domains():
    """(title, domain, prefix of names in the outcomes)."""
    others = sorted({schema.domain for schema in onnx.defs.get_all_schemas_with_history()} - {""})
    return (("ai.onnx", "", ""), *((domain, domain, f"{domain}.") for domain in others))


def _operator_rows(by_mode, domain, prefix):
    versions = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == domain:
            versions[schema.name].add(schema.since_version)
    rows = []
    for name in sorted(versions):
        cells = []
        for mode in "ab":
            mine = [r for r in by_mode[mode] if r["op"] == prefix + name]
            cells.append(f"{sum(map(_passes, mine))} of {len(mine)}" if mine else "")
        failing = [r for r in by_mode["b"] + by_mode["a"] if r["op"] == prefix + name and not _passes(r)]
        reasons = list(dict.fromkeys(_reason(r) for r in failing))
        why = cell("; ".join(reasons[:2]))
        rows.append(f"| {name} | {', '.join(map(str, sorted(versions[name])))} | {' | '.join(cells)} | {why} |")
    return rows


def _microsoft():
    """Names, in lines."""
    names = re.findall(r"(?m)^RELAY_ONNX\((\w+),", MICROSOFT.read_text())
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) > 110:
            lines.append("")
        lines[-1] += f"`{name}`, " if name != names[-1] else f"`{name}`"
    return "\n".join(line.rstrip() for line in lines)


MICROSOFT_TEXT = """## com.microsoft

What ONNX Runtime's optimisers, its quantisers and exporters for it write. Each is compared with ONNX Runtime, or with
its description where the processor backend has no kernel, in `test/python/onnx/test_onnx_microsoft*.py` and, for
those that run a graph, `test_onnx_generate.py` and `test_onnx_beams*.py`.
`BeamSearch` takes decoders alone (GPT-2, `model_type` 0), of T5 (1) and of Whisper (2), `GreedySearch` decoders
alone; the number of beams must be in the model. `Sampling` is imported where it draws from one word.

{names}
{missing}"""


def entries():
    """(domain, operator, why, what helps) of what is known and not imported; no operator: all of the domain."""
    entry = r'RELAY_ONNX_NOT_IMPORTED\("([^"]*)", "(\w*)",\s+"([^"]*)",\s+"([^"]*)"\)'
    return re.findall(entry, NOT_IMPORTED.read_text())


def not_imported(*domains):
    """A table of those of some domains; nothing where there are none."""
    rows = [
        f"| {name or f'all of `{domain}`'} | {why} | {way_out} |"
        for domain, name, why, way_out in entries()
        if domain in domains
    ]
    head = ["", "Not imported:", "", "| operator | why | what helps |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n" if rows else ""


def microsoft_section():
    return MICROSOFT_TEXT.format(
        names=_microsoft(), missing=not_imported("com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc")
    )


def write_page(results, path):
    """Counts, operators, and every reason with the number of its cases."""
    by_mode = {mode: [r for r in results if r["mode"] == mode] for mode in "ab"}
    rows = [
        f"| {executor} | {_share(by_mode['a'], executor)} | {_share(by_mode['b'], executor)} |"
        for executor in results[0]["outcome"]
    ]
    kinds = collections.Counter(r["kind"] for r in by_mode["a"])
    text = HEAD.format(
        version=onnx.__version__,
        kinds=", ".join(f"{count} cases of kind {kind}" for kind, count in kinds.items()),
        rows="\n".join(rows),
        folded={mode: sum(r["folded"] is True for r in by_mode[mode]) for mode in "ab"},
    )
    for title, domain, prefix in _domains():
        text += f"\n## {title}\n\nCases that pass on every executor; a blank: the suite has none.\n\n"
        text += "| operator | since opset | (a) | (b) | what fails |\n| --- | --- | --- | --- | --- |\n"
        text += "\n".join(_operator_rows(by_mode, domain, prefix)) + "\n" + not_imported(domain)
    text += "\n" + microsoft_section()
    for mode in "ab":
        text += f"\n## Why cases of ({mode}) fail\n\n| cases | reason |\n| --- | --- |\n"
        text += "".join(f"{row}\n" for row in reason_rows(_reason(r) for r in by_mode[mode] if not _passes(r)))
    pathlib.Path(path).write_text(text)
