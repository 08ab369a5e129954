"""The rows of bench/op_times.py: which class an operator is of, the tables, and what is said of all rows.

A row is what was measured of an operator at one size with so many threads:
    op, shapes, fits ("L2" or "L3"), threads, bytes
    us           Relay's time, in microseconds
    compute_us   of its operations at the measured speed of multiply-adds
    memory_us    of its arrays at the measured speed of reading
    fusion       the operator's fusion class
    is_view      whether Relay's result lies in an input: nothing is moved
    torch_us     PyTorch's time out of place, where the operator is one call of it; out_us: with out= given
"""

import statistics

# What a bandwidth-bound operator should reach (PyTorch's time over Relay's, and shares of the measured bandwidth).
MEAN, LEAST, SHARE, BEHIND = 1.5, 0.7, 0.85, 0.97
MOVES = ("elementwise", "broadcast", "injective", "reduce")


def is_bandwidth_bound(row):
    """It computes each element from a few others, in less time than its arrays take to be read and written."""
    return row["fusion"] in MOVES and row["compute_us"] < row["memory_us"] and not row["is_view"]


def share(row):
    """Of the ceiling: what the operations or the arrays take, whichever is longer, over what Relay takes."""
    return max(row["compute_us"], row["memory_us"]) / row["us"]


def over(row, which="torch_us"):
    """PyTorch's time over Relay's."""
    return row[which] / row["us"]


def _cell(row, which):
    return f"{over(row, which):.2f}" if which in row else "-"


def table(rows):
    """A row for each size and number of threads."""
    head = ["operator", "inputs", "in", "threads", "Relay, us", "PyTorch / Relay", "with out=", "ceiling / Relay"]
    lines = [f"| {' | '.join(head)} |", "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for r in sorted(rows, key=lambda r: (r["op"], r["bytes"], r["threads"])):
        part = "a view" if r["is_view"] else f"{share(r):.2f}"
        lines.append(f"| {r['op']} | {r['shapes']} | {r['fits']} | {r['threads']} | {r['us']:.1f} "
                     f"| {_cell(r, 'torch_us')} | {_cell(r, 'out_us')} | {part} |")  # fmt: skip
    return "\n".join(lines)


def _mean(rows, which="torch_us"):
    ratios = [over(r, which) for r in rows if which in r]
    return f"{statistics.geometric_mean(ratios):.2f} of {len(ratios)}" if ratios else "none"


def summary(rows):
    """PyTorch's time over Relay's by class, place and threads: geometric means."""
    classes = {
        "bandwidth-bound": [r for r in rows if is_bandwidth_bound(r)],
        "others": [r for r in rows if not is_bandwidth_bound(r) and not r["is_view"]],
    }
    lines = [
        "| operators | arrays in | threads | PyTorch / Relay | with out= | ceiling / Relay |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, mine in classes.items():
        for fits, threads in sorted({(r["fits"], r["threads"]) for r in mine}):
            some = [r for r in mine if (r["fits"], r["threads"]) == (fits, threads)]
            part = statistics.geometric_mean([share(r) for r in some])
            lines.append(f"| {name} | {fits} | {threads} | {_mean(some)} | {_mean(some, 'out_us')} | {part:.2f} |")
    return "\n".join(lines)


def _missed(rows, value, least):
    """Those below, the worst first."""
    below = sorted((r for r in rows if value(r) < least), key=value)
    return ", ".join(f"`{r['op']}` {value(r):.2f}" for r in below)


def verdicts(rows):
    """For each thing that was asked of the bandwidth-bound operators whether it was reached, and where not."""
    lines = []
    for threads in sorted({r["threads"] for r in rows}):
        mine = [r for r in rows if r["threads"] == threads and is_bandwidth_bound(r)]
        near, far = ([r for r in mine if r["fits"] == fits] for fits in ("L2", "L3"))
        beside = [r for r in near if "torch_us" in r]
        asked = []
        if beside:
            mean = statistics.geometric_mean([over(r) for r in beside])
            asked.append((f"in L2 a geometric mean of at least {MEAN} (it is {mean:.2f})", mean >= MEAN, ""))
            low = _missed(beside, over, LEAST)
            asked.append((f"in L2 none below {LEAST}", not low, low))
        if far:
            low = _missed(far, share, SHARE)
            asked.append((f"beyond L2 at least {SHARE} of the measured bandwidth", not low, low))
        if given := [r for r in far if "out_us" in r]:
            low = _missed(given, lambda r: over(r, "out_us"), BEHIND)
            asked.append(("beyond L2 not behind PyTorch with out= given", not low, low))
        for what, reached, low in asked:
            said = "reached" if reached else f"missed: {low}" if low else "missed"
            lines.append(f"- {threads} thread{'s' * (threads > 1)}, {what}: {said}")
    return "\n".join(lines)


def gradient_table(rows):
    """Of gradients of convolutions, whose operations are known: what part of the ceiling is reached."""
    lines = [
        "| gradient | threads | Relay, us | PyTorch / Relay | of the multiply-add ceiling |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        part = r["compute_us"] / r["us"]
        lines.append(f"| {r['name']} | {r['threads']} | {r['us']:.0f} | {over(r):.2f} | {part:.2f} |")
    return "\n".join(lines)
