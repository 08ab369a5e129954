"""Writes the generated pages of docs/ (operators.md, passes.md, diagnostics.md, cli.md) and the stubs of relay.op, of
relay.nn and of the options of relay.compile().

.venv/bin/python dev/docs.py [--check]       --check: write nothing, and fail if a page would change

Everything comes from the compiler itself, through the Python package and the program's --help.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build" / "release" / "bin" / "relay"
HEAD = "<!-- Written by dev/docs.py. Do not edit. -->\n"


CHECK_JSON = """
`relay check FILE --json` is meant for editors. It prints one object. The exit status is 0 if `ok` is true, 3 if
`verdict` is `unsupported`, and otherwise 1. If the file cannot be read or an option is wrong, the status is 1, and a
message is printed instead of an object.

| field | contents |
| --- | --- |
| `model` | the file name as given |
| `ok` | true if the model can be compiled |
| `verdict` | `ok`, `unsupported`, `malformed` or `refused` |
| `failed_stage` | `import` (reading, types) or `compile`; null |
| `problems`, `warnings` | lists of diagnostics |
| `operators` | the operators of an ONNX model; empty for other formats |
| `entry_checks` | the constraints on input sizes that a run checks, one string each |
| `groups`, `kernels` | the numbers of groups and kernels; 0 for artifacts and for text without `@main` |

The verdict is `unsupported` if the model is valid but Relay cannot compile it, `malformed` if the model contradicts its
format, and `refused` for any other reason, such as types that do not agree, or an exceeded import limit. The fields of
an operator are:

| field | contents |
| --- | --- |
| `op`, `opset` | its name, with its domain in front unless that is ONNX's own; its version in the model |
| `count`, `first` | the number of its nodes, and the first one |
| `supported` | true if Relay has a converter for it |
| `reason`, `remedy` | the reason why a node of it cannot be imported, and the way out; "" if all can be imported |

The fields of a diagnostic are:

| field | contents |
| --- | --- |
| `severity` | `error` or `warning` |
| `kind`, `code` | `type_mismatch`, `R0301`: see [diagnostics](diagnostics.md) |
| `message` | one line |
| `file`, `line`, `column`, `end_line`, `end_column` | the place, from 1, with an exclusive end; null if absent |
| `node` | the node of the imported model; null if absent |
| `labels` | related places: the same fields, and `text` |
| `notes`, `help` | further lines; the way out, or "" |
| `text` | the whole diagnostic as the terminal shows it |
"""


def escape(text):
    return str(text).replace("|", "\\|")


def proofs():
    """The table of test/ops/proofs.json, which `make test-ops` writes."""
    sys.path.insert(0, str(ROOT / "test/ops"))
    import run

    stored, (reasons, _) = json.loads(run.PROOFS.read_text()), run.listed_reasons()
    letters = {reason: chr(ord("a") + i) for i, reason in enumerate(reasons)}
    titles = run.columns()
    out = [
        "## Proofs of each operator\n",
        "`make test-ops` runs these proofs and prints the table. A number counts the proofs over the operator's "
        "examples; a letter gives the reason why the proof does not apply; a blank marks a missing proof.\n",
        "| column | a proof shows that |\n| --- | --- |",
        *(f"| {title} | {escape(doc)} |" for title, doc in titles.values()),
        "\n| letter | cells | reason |\n| --- | ---: | --- |",
    ]
    cells = [cell for row in stored.values() for cell in row.values()]
    out += [f"| {letter} | {cells.count(reason)} | {reasons[reason]} |" for reason, letter in letters.items()]
    out.append(f"\n| operator | {' | '.join(title for title, _ in titles.values())} |")
    out.append(f"| --- |{' ---: |' * len(titles)}")
    for name, row in stored.items():
        shown = [str(row[column] or "") for column in titles]
        out.append(f"| {name} | {' | '.join(letters.get(cell, cell) for cell in shown)} |")
    return "\n".join([*out, ""])


def operators():
    import relay

    out = [HEAD, "# Operators\n"]
    table = relay.operators()
    new = sum(one["is_extension"] for one in table.values())
    out.append(
        f"{len(table)} operators, {new} of them new. A call is `nn.relu(%x)` in text and "
        "`relay.nn.relu(x)` in Python: inputs, then attributes, by position or by name. Defaults are the same in "
        "both, unless `help()` of the function says otherwise. `relay ops NAME` prints one operator with its "
        "formula, its result types and its constraints.\n"
    )
    for name, one in table.items():
        out.append(
            f"## {name}\n\n{one['doc']}\n\nFusion: {one['fusion']}."
            f"{' Differentiable.' if one['differentiable'] else ''}"
            f"{' New: TVM Relay has no such operator.' if one['is_extension'] else ''}\n"
        )
        if one["inputs"]:
            out.append("| input | meaning |\n| --- | --- |")
            out += [f"| `{i}`{' (tuple)' if is_tuple else ''} | {escape(doc)} |" for i, doc, is_tuple in one["inputs"]]
            out.append("")
        if one["attributes"]:
            out.append("| attribute | type | default | meaning |\n| --- | --- | --- | --- |")
            out += [
                f"| `{a}` | {escape(kind)} | {'required' if required else f'`{default!r}`'} | {escape(doc)} |"
                for a, doc, kind, required, default in one["attributes"]
            ]
            out.append("")
        if one["examples"]:
            inputs, attributes = one["examples"][0]
            out.append(
                f"Example: inputs {', '.join(f'`{i}`' for i in inputs)}{f', `{attributes}`' if attributes else ''}\n"
            )
    out.append(proofs())
    return "\n".join(out)


OPTIONS = """`relay opt --pass-option fuse_ops.max_group=8`,
`relay.run_passes(mod, passes, options={"fuse_ops.max_group": 8})`,
or `relay.transform.PassContext(config={"fuse_ops.max_group": 8})`.
"""


def passes():
    import relay
    from relay import _core

    listed = subprocess.run([PROGRAM, "opt", "--list-passes"], capture_output=True, text=True, check=True).stdout
    levels = [line for line in listed.splitlines() if line.startswith("-O")]
    rows = [f"| `{name}` | {escape(doc)} |" for name, doc in relay.passes().items()]
    options = [f"| `{name}` | {default} | {escape(doc)} |" for name, default, doc in _core.pass_options()]
    pipelines = [
        f"- `{level.partition(':')[0]}`: {level.partition(':')[2].strip().replace(',', ', ')}" for level in levels
    ]
    return "\n".join(
        [
            *(HEAD, "# Passes\n", "| pass | effect |\n| --- | --- |", *rows),
            *("\n## Options\n", OPTIONS, "| option | default | effect |\n| --- | --- | --- |", *options),
            *("\n## Pipelines\n", *pipelines, ""),
        ]
    )


def diagnostics():
    from relay import _core

    out = [HEAD, "# Diagnostics\n", "`relay explain CODE` prints one of them.\n"]
    for code, name, sentence, example, remedy in _core.diagnostics():
        out.append(f"## {code} {name}\n\n{sentence}\n\n```\n{example}\n```\n\n{remedy}\n")
    return "\n".join(out)


def command_line():
    def help_of(*words):
        return subprocess.run([PROGRAM, "help", *words], capture_output=True, text=True, check=True).stdout.strip()

    top = help_of()
    verbs = [line.split()[0] for line in top.partition("Subcommands:\n")[2].partition("\n\n")[0].splitlines()]
    out = [HEAD, "# The command line\n", f"```\n{top}\n```\n"]
    more = {"check": CHECK_JSON}
    out += [f"## relay {verb}\n\n```\n{help_of(verb)}\n```\n{more.get(verb, '')}" for verb in verbs]
    return "\n".join(out)


def operator_stub():
    from relay.op.stub import stub

    return stub()


def layers_stub():
    from relay.op.stub import layers_stub

    return layers_stub()


OPTION_STUB = """# Written by dev/docs.py. Do not edit.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypedDict, TypeVar

from .. import _core

_Function = TypeVar("_Function", bound=Callable)

KEYWORDS: dict[str, dict]
Shapes: TypeAlias = Mapping[str, Sequence[int] | Sequence[Sequence[int]] | None]

def options_of(given: dict) -> _core.Options: ...
def of_compilation(given: dict) -> list[str]: ...
def takes_options(function: _Function) -> _Function: ...

class CompileOptions(TypedDict, total=False):
"""


def option_stub():
    from relay.run.options import KEYWORDS

    return OPTION_STUB + "".join(f"    {name}: {row['type']} | None\n" for name, row in KEYWORDS.items())


PAGES = {
    "docs/operators.md": operators,
    "docs/passes.md": passes,
    "docs/diagnostics.md": diagnostics,
    "docs/cli.md": command_line,
    "python/relay/op/__init__.pyi": operator_stub,
    "python/relay/nn/operators.pyi": layers_stub,
    "python/relay/run/options.pyi": option_stub,
}


def main(arguments):
    stale = []
    for name, write in PAGES.items():
        path, text = ROOT / name, write()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text)
            print(f"docs: wrote {name}")
    if "--check" in arguments and stale:
        print(f"docs: out of date: {', '.join(stale)}; run make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
