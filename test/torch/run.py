"""PyTorch's own sample inputs through the importer, and the page docs/pytorch-support.md.

    make test-torch                              every operator; writes the page
    make test-torch TORCH='--only ^conv --show'  some of them, with what each failure says; writes nothing

Each case is one call of an operator: it is exported, imported, compiled, run, and compared with what PyTorch itself
computes. What torch.export cannot export and what is random are counted apart. A case runs in a process with a limit
on time and memory.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import re
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "test"), str(ROOT / "build/test-torch")]

import torch  # noqa: E402
from cases import find_cases  # noqa: E402
from page import write_page  # noqa: E402
from relay.frontend.pytorch import conversion, graph  # noqa: E402
from relay.frontend.pytorch.table import key_of  # noqa: E402
from suite import Workers, progress, reason_of  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import relay  # noqa: E402

NOT_CASES = ("random", "torch.export")
# Relative, absolute; of others 1e-5.
TOLERANCES = {torch.float16: (1e-3, 1e-3), torch.bfloat16: (1.6e-2, 1e-2), torch.float64: (1e-7, 1e-7)}


def as_tensor(value):
    """Also an array of the elements that NumPy has from ml_dtypes."""
    if getattr(value, "dtype", None) == "bfloat16":
        return torch.from_numpy(value.view("int16")).view(torch.bfloat16)
    return torch.as_tensor(value)


def differs(got, wanted):
    """None, or what differs."""
    if len(got) != len(wanted):
        return f"gives {len(got)} results, not {len(wanted)}"
    for one, other in zip(got, wanted, strict=True):
        one = as_tensor(one)
        if one.dtype != other.dtype:
            return f"gives {one.dtype}, not {other.dtype}"
        if one.shape != other.shape:
            return "gives another shape"
        if other.is_complex():
            one, other = torch.view_as_real(one), torch.view_as_real(other)
        if not other.dtype.is_floating_point:
            if not torch.equal(one, other):
                return "gives other values"
            continue
        # The tolerances of torch.testing.assert_close. Sums close to zero carry the rounding of their terms, which are
        # as large as other elements.
        rtol, least = TOLERANCES.get(other.dtype, (1e-5, 1e-5))
        finite = other[torch.isfinite(other)].abs()
        largest = float(finite.max()) if finite.numel() else 0.0
        atol = max(least, 8 * torch.finfo(other.dtype).eps * largest)
        if not torch.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True):
            return "gives other values"
    return None


def tensors_of(value):
    """Tensors among the results in order; numbers as tensors."""
    leaves = [leaf for leaf in pytree.tree_leaves(value) if leaf is not None]
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else torch.as_tensor(leaf) for leaf in leaves]


def without_places(case, got, wanted):
    """Checks that the places hold the values, and removes the places: the order of equal elements is undetermined."""
    if case.op not in ("topk", "sort") or len(got) != 2 or wanted[0].dim() == 0:
        return got, wanted
    data, values, places = case.call.inputs()[0], *map(torch.as_tensor, got)
    axes = range(data.dim())
    fits = (data.gather(axis, places).equal(values) for axis in axes if _alike(data, places, axis))
    return ([values], wanted[:1]) if any(fits) else (got, wanted)


def _alike(data, places, axis):
    others = [(a, b) for i, (a, b) in enumerate(zip(data.shape, places.shape, strict=True)) if i != axis]
    return all(a == b for a, b in others) and (not places.numel() or int(places.max()) < data.shape[axis])


def is_random(node):
    if node.target is torch.ops.aten.scaled_dot_product_attention.default:
        return bool(node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p"))
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def run_case(case, executor):
    """Returns "passed", the reason of the failure, or the reason to leave the case out."""
    inputs = case.call.inputs()
    with torch.no_grad():
        try:
            given = copy.deepcopy(inputs)
            wanted = tensors_of(case.call(*given))
            program = torch.export.export(case.call, inputs)
        except Exception as error:  # PyTorch has many classes for it
            return f"torch.export: {type(error).__name__}"
        if any(map(is_random, program.graph.nodes)):
            return "random"
        try:
            module = relay.load(program)
            if executor == "debug":
                got = relay.evaluate(module, list(inputs))
            else:
                got = relay.compile(module, executor=executor, threads=1)(*inputs)
            got = list(got) if isinstance(got, (tuple, list)) else [got]
            # Inputs that the call changes are results in front of its own.
            changed = [one for one, before in zip(given, inputs, strict=True) if not one.equal(before)]
            wanted = changed + wanted if len(got) == len(changed) + len(wanted) else wanted
            return differs(*without_places(case, got, wanted)) or "passed"
        except Exception as error:  # whatever it is, it is this case's reason
            kind = "" if isinstance(error, relay.CompileError) else f"{type(error).__name__}: "
            text = re.sub(r"the PyTorch program cannot be imported: ", "", reason_of(error))
            return kind + re.sub(r"( \(N times\))?, first in `.*", "", text)


class Recording(conversion.Conversion):
    """Notes the keys of the operators that are converted."""

    keys = set()

    def __init__(self, node, *others):
        super().__init__(node, *others)
        self.keys.add(key_of(node.target))


def run_and_note(case, executor):
    """Returns the result of run_case and the keys that it converted."""
    graph.Conversion = Recording
    Recording.keys.clear()
    return run_case(case, executor), sorted(Recording.keys)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression: cases whose names (op dtype number) it finds")
    parser.add_argument("--samples", type=int, default=8, help="at most that many of an operator and type; 0: all")
    parser.add_argument("--every", action="store_true", help="operators too that are neither in the table nor core")
    parser.add_argument("--executor", default="vm", choices=["debug", "vm", "aot"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time", type=float, default=120, help="seconds a case")
    parser.add_argument("--memory", type=int, default=12288, help="MiB of address space a process")
    parser.add_argument("--show", action="store_true", help="print every failure")
    parser.add_argument("--json", help="write the outcomes to this file")
    parser.add_argument("--page", default=str(ROOT / "docs/pytorch-support.md"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["RELAY_CACHE"] = "off"
    warnings.simplefilter("ignore")
    cases = [case for case in find_cases(options.samples, options.every) if re.search(options.only, case.name)]
    workers = Workers(
        lambda i: run_and_note(cases[i], options.executor),
        lambda why: (why, []),
        options.jobs,
        options.time,
        options.memory,
    )
    outcomes = dict(progress(workers.run(range(len(cases))), len(cases)))
    results = [
        {"name": case.name, "op": case.op, "dtype": case.dtype, "outcome": outcomes[i][0], "keys": outcomes[i][1]}
        for i, case in enumerate(cases)
    ]
    report(results, options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=0))
    if not options.only and not options.every and options.executor == "vm":
        write_page(results, options.samples, options.page)
    return 1 if any(r["outcome"].startswith("crash") for r in results) else 0


def report(results, options):
    counted = [r for r in results if not r["outcome"].startswith(NOT_CASES)]
    passed = sum(r["outcome"] == "passed" for r in counted)
    print(
        f"{passed} of {len(counted)}, {passed / max(len(counted), 1):.1%}; not counted: {len(results) - len(counted)}"
    )
    failed = [r for r in results if r["outcome"] != "passed"]
    for why, count in collections.Counter(r["outcome"] for r in failed).most_common(None if options.show else 40):
        print(f"  {count:4} {why}")
        if options.show:
            names = [r["name"] for r in failed if r["outcome"] == why]
            print(f"       {', '.join(names[:12])}{' ..' if len(names) > 12 else ''}")


if __name__ == "__main__":
    sys.exit(main())
