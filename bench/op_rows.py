"""The rows of bench/op_times.py: the class of an operator, tables, and verdicts over all rows.

A row contains the measurements of an operator at one size and one number of threads:
    op, shapes, fits ("L2" or "L3"), threads, bytes
    us           Relay's time, in microseconds
    compute_us   the time of its operations at the measured speed of multiply-adds
    memory_us    the time of its arrays at the measured speed of reading
    fusion       the operator's fusion class
    is_view      true if Relay's result is a view of an input, so no data is moved
    torch_us     PyTorch's time out of place, if the operator is a single call of PyTorch
    out_us       the same with out= given
"""

import statistics

# Goals for bandwidth-bound operators: PyTorch's time over Relay's, and shares of the measured bandwidth.
MEAN, LEAST, SHARE, BEHIND = 1.5, 0.7, 0.85, 0.97
MOVES = ("elementwise", "broadcast", "injective", "reduce")


def is_bandwidth_bound(row):
    """True if each element is computed from a few others, in less time than reading and writing the arrays takes."""
    return row["fusion"] in MOVES and row["compute_us"] < row["memory_us"] and not row["is_view"]


def share(row):
    """The share of the ceiling that is reached: the longer of the times of operations and arrays, over Relay's time."""
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
    """Geometric means of PyTorch's time over Relay's, by class, cache level and threads."""
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
    """The operators whose value is below `least`, as text, the worst first."""
    below = sorted((r for r in rows if value(r) < least), key=value)
    return ", ".join(f"`{r['op']}` {value(r):.2f}" for r in below)


def verdicts(rows):
    """A line for each goal of the bandwidth-bound operators: reached, or the operators that miss it."""
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
            asked.append((f"in L2 no operator below {LEAST}", not low, low))
        if far:
            low = _missed(far, share, SHARE)
            asked.append((f"beyond L2 at least {SHARE} of the measured bandwidth", not low, low))
        if given := [r for r in far if "out_us" in r]:
            low = _missed(given, lambda r: over(r, "out_us"), BEHIND)
            asked.append(("beyond L2 not slower than PyTorch with out= given", not low, low))
        for what, reached, low in asked:
            said = "reached" if reached else f"missed: {low}" if low else "missed"
            lines.append(f"- {threads} thread{'s' * (threads > 1)}, {what}: {said}")
    return "\n".join(lines)


def gradient_table(rows):
    """A table of gradients of convolutions, with the share of the multiply-add ceiling that is reached."""
    lines = [
        "| gradient | threads | Relay, us | PyTorch / Relay | share of the multiply-add ceiling |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        part = r["compute_us"] / r["us"]
        lines.append(f"| {r['name']} | {r['threads']} | {r['us']:.0f} | {over(r):.2f} | {part:.2f} |")
    return "\n".join(lines)
