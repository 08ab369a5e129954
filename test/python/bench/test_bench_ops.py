"""The output of bench/op_times.py for measured rows."""

import sys

from programs import ROOT

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
from op_rows import gradient_table, is_bandwidth_bound, summary, table, verdicts  # noqa: E402
from op_times import with_out  # noqa: E402


def row(op, us, torch_us, fits="L2", threads=1, fusion="elementwise", compute_us=1.0, is_view=False, **more):
    return {"op": op, "shapes": "Tensor[(4), float32]", "fits": fits, "threads": threads, "bytes": 8, "us": us,
            "torch_us": torch_us, "compute_us": compute_us, "memory_us": 9.0, "fusion": fusion, "is_view": is_view,
            **more}  # fmt: skip


def test_bandwidth_bound_is_what_moves_more_than_it_computes():
    assert is_bandwidth_bound(row("abs", 10, 20))
    assert not is_bandwidth_bound(row("erf", 10, 20, compute_us=9.5))
    assert not is_bandwidth_bound(row("sort", 10, 20, fusion="opaque"))
    assert not is_bandwidth_bound(row("reshape", 10, 20, is_view=True))


def test_verdicts_name_what_is_missed():
    rows = [row("abs", 10, 20), row("neg", 10, 12), row("flip", 10, 6.9), row("abs", 10, 20, "L3", out_us=9.8),
            row("neg", 12, 20, "L3", out_us=11)]  # fmt: skip
    assert verdicts(rows).splitlines() == [
        "- 1 thread, in L2 a geometric mean of at least 1.5 (it is 1.18): missed",
        "- 1 thread, in L2 no operator below 0.7: missed: `flip` 0.69",
        "- 1 thread, beyond L2 at least 0.85 of the measured bandwidth: missed: `neg` 0.75",
        "- 1 thread, beyond L2 not slower than PyTorch with out= given: missed: `neg` 0.92",
    ]
    assert "in L2 no operator below 0.7: reached" in verdicts([row("abs", 10, 20, threads=2)])


def test_summary_has_a_line_for_each_class_place_and_number_of_threads():
    rows = [row("abs", 10, 40), row("neg", 10, 10, threads=2), row("sort", 10, 20, "L3", fusion="opaque")]
    assert summary(rows).splitlines()[2:] == [
        "| bandwidth-bound | L2 | 1 | 4.00 of 1 | none | 0.90 |",
        "| bandwidth-bound | L2 | 2 | 1.00 of 1 | none | 0.90 |",
        "| others | L3 | 1 | 2.00 of 1 | none | 0.90 |",
    ]


def test_tables():
    shown = table([row("abs", 10, 20, out_us=15), row("reshape", 1, 2, is_view=True)]).splitlines()
    assert shown[2] == "| abs | Tensor[(4), float32] | L2 | 1 | 10.0 | 2.00 | 1.50 | 0.90 |"
    assert shown[3].endswith("| 2.00 | - | a view |")
    gradients = [{"name": "3 x 3: of the data", "threads": 2, "us": 100, "torch_us": 150, "compute_us": 80}]
    assert gradient_table(gradients).splitlines()[2] == "| 3 x 3: of the data | 2 | 100 | 1.50 | 0.80 |"


def test_out_is_given_to_functions_of_torch_only():
    assert with_out("torch.add(lhs,\n  rhs)") == "torch.add(lhs, rhs, out=out)"
    assert with_out("lhs * rhs") == "torch.mul(lhs, rhs, out=out)" and with_out("-data") == "torch.neg(data, out=out)"
    assert with_out("data.flip(dims=axis)") == "torch.flip(data, dims=axis, out=out)"
    assert with_out("F.relu(data)") is None
    assert with_out("torch.sum(data) ** 2") is None
