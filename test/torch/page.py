"""docs/pytorch-support.md, from the outcomes of a run."""

import pathlib

import cases
import torch
from relay.frontend.pytorch import apart
from relay.frontend.pytorch.graph import ITEMS
from relay.frontend.pytorch.table import CHECKS, OPERATORS
from suite import cell, reason_rows

HEAD = """<!-- Written by make test-torch. Do not edit. -->

# PyTorch: what is supported

`make test-torch` takes PyTorch {version}'s own sample inputs (`op_db` of `torch.testing._internal`) of
every operator that is in the importer's table or that is core ATen{how_many}; the first sample of
each of {first_only}. Each sample is a call that is exported, imported, compiled, run, and compared with what PyTorch
computes. What is refused counts as failed.

| elements | passed | failed | refused |
| --- | --- | --- | --- |
{rows}

Not counted are {random} random calls, and {unexported} that `torch.export` does not export.

## Operators

Samples that pass; a blank: PyTorch has none of that type.

| operator | {dtypes} | what fails |
| --- |{columns} --- |
{operators}

## Operators of the table without samples of their own name

{others}

## Why samples fail

| samples | reason |
| --- | --- |
{reasons}

## Core ATen operators that are not imported

{missing}
"""
DTYPES = [str(one).removeprefix("torch.") for one in cases.DTYPES + cases.FIRST_ONLY]


def _refused(result):
    return result["outcome"].startswith("R0403")


def _counts(title, results):
    passed = sum(r["outcome"] == "passed" for r in results)
    refused = sum(map(_refused, results))
    share = f"{passed} of {len(results)}, {passed / max(len(results), 1):.1%}"
    return f"| {title} | {share} | {len(results) - passed - refused} | {refused} |"


def _operator_row(op, results):
    cells = []
    for dtype in DTYPES:
        mine = [r for r in results if r["dtype"] == dtype]
        cells.append(f"{sum(r['outcome'] == 'passed' for r in mine)} of {len(mine)}" if mine else "")
    reasons = dict.fromkeys(r["outcome"] for r in results if r["outcome"] != "passed")
    return f"| {op} | {' | '.join(cells)} | {cell('; '.join(list(reasons)[:2]))} |"


def not_imported():
    """Names of core ATen operators that nothing takes: not the table, not what is taken apart here or by PyTorch.

    An operator that changes its arguments in place is another one in the programs that PyTorch gives; sizes are no
    operators of ours."""
    taken = {*apart.DECOMPOSITIONS, *torch.export.default_decompositions()}
    return sorted(
        name
        for name, one in cases.core_aten().items()
        if name not in {*OPERATORS, *CHECKS, *ITEMS} and one not in taken and not one._schema.is_mutable
        and not name.startswith("sym_")
    )  # fmt: skip


# Tests of operators that no sample comes to: what PyTorch makes of others only when it traces for torch.compile, takes
# gradients or reads TorchScript, and what is not of ATen.
TESTED = {
    "test_torch_apart.py": (
        "_adaptive_avg",
        "_cdist_forward",
        "avg_pool2d_backward",
        "replication_pad2d",
        "transformers::",
    ),
    "test_torch_aten.py": (
        "_grouped_mm",
        "_log_softmax",
        "_native_batch_norm_legit_no_training",
        "_neg_view",
        "_scaled_dot_product_flash_attention_for_cpu",
        "alias",
        "col2im",
        "copy",
        "lift_fresh_copy",
        "native_dropout",
        "prims::convert_element_type",
        "reflection_pad1d",
        "reflection_pad3d",
        "replication_pad1d",
        "replication_pad3d",
    ),
    "test_torch_backend.py": ("_softmax", "convolution", "detach", "_unsafe_view"),
    "test_torch_complex.py": ("_conj", "_fft_"),
    "test_torch_complex_arithmetic.py": ("_conj_physical",),
    "test_torch_keys.py": ("lstm.", "gru.", "rnn_", "__lshift__", "__rshift__", "_unique2", "upsample_"),
    "test_torch_modules.py": ("mkldnn_rnn_layer",),
    "test_torch_optimizers.py": ("prims::fma",),
    "test_torch_quantized.py": ("quantized_decomposed::", "_int_mm", "_weight_int4pack"),
    "test_torch_sizes.py": ("reflection_pad2d", "replication_pad2d"),
    "test_torch_vision.py": ("torchvision::",),
    "test_torchscript.py": ("_convolution",),
}


def _without_samples(results):
    """A table of these keys: the operators whose samples reach each of them, otherwise the tests that cover it."""
    named = {name for info in cases.op_db for name in cases.names(info)}
    rows = ["| key | what comes to it |", "| --- | --- |"]
    for key in sorted(OPERATORS):
        if key.partition(".")[0] in named:
            continue
        samples = dict.fromkeys(r["op"] for r in results if key in r["keys"] and r["outcome"] == "passed")
        tests = [test for test, beginnings in TESTED.items() if key.startswith(beginnings)]
        found = [f"samples of {', '.join(list(samples)[:3])}"] if samples else []
        found += [f"`{test}`" for test in tests]
        if not found and "::" not in key and not hasattr(torch.ops.aten, key.partition(".")[0]):
            found = ["nothing: TVM's table had the name, PyTorch has no such operator"]
        rows.append(f"| `{key}` | {'; '.join(found) or 'no sample, and no test is listed'} |")
    return "\n".join(rows)


def write_page(results, samples, path):
    counted = [r for r in results if r["outcome"] != "random" and not r["outcome"].startswith("torch.export")]
    by_op = {}
    for result in counted:
        by_op.setdefault(result["op"], []).append(result)
    rows = [_counts(dtype, [r for r in counted if r["dtype"] == dtype]) for dtype in DTYPES]
    random = sum(r["outcome"] == "random" for r in results)
    text = HEAD.format(
        version=torch.__version__,
        first_only=", ".join(DTYPES[len(cases.DTYPES) :]),
        dtypes=" | ".join(DTYPES),
        columns=" --- |" * len(DTYPES),
        how_many=f": {samples} of an operator and type, evenly spread, where there are more" if samples else "",
        rows="\n".join([*rows, _counts("all", counted)]),
        random=random,
        unexported=len(results) - len(counted) - random,
        operators="\n".join(_operator_row(op, by_op[op]) for op in sorted(by_op)),
        reasons="\n".join(reason_rows(r["outcome"] for r in counted if r["outcome"] != "passed")),
        others=_without_samples(counted),
        missing=", ".join(f"`{name}`" for name in not_imported()) + ".",
    )
    pathlib.Path(path).write_text(text)
