"""The rows of bench/torch_compile.py, and summaries of all rows."""

import statistics

BEHIND = 0.95  # another engine's time over Relay's
STEP = 1.2  # goal: the most time of a training step, relative to Inductor's


class Row:
    """The measurements of a network with one number of threads."""

    def __init__(self, name, threads, ms, seconds):
        self.name, self.threads, self.ms, self.seconds = name, threads, ms, seconds

    def over(self, engine):
        """The engine's time over Relay's."""
        return self.ms[engine] / self.ms["Relay"]

    def text(self):
        traced, inductor, ours = (self.seconds[one] for one in ("tracing", "Inductor", "Relay"))
        ms = [f"{self.ms[one]:.2f}" for one in ("Relay", "eager", "Inductor")]
        return (
            f"| {self.name} | {self.threads} | {' | '.join(ms)} "
            f"| {self.over('eager'):.2f} | {self.over('Inductor'):.2f} | {traced:.1f} | {ours:.1f} | {inductor:.1f} |"
        )


HEAD = [
    "| network | threads | Relay, ms | eager, ms | Inductor, ms | eager / Relay | Inductor / Relay "
    "| tracing, s | first call of Relay, s | first call of Inductor, s |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
]


def means(rows):
    """Geometric means, a line for each number of threads."""
    lines = []
    for threads in sorted({row.threads for row in rows}):
        mine = [row for row in rows if row.threads == threads]
        of = [f"{one}'s time over Relay's {statistics.geometric_mean([row.over(one) for row in mine]):.2f}"
              for one in ("eager", "Inductor")]  # fmt: skip
        lines.append(f"- {threads} thread{'s' * (threads > 1)}, geometric mean of {len(mine)}: {', '.join(of)}")
    return lines


def behind(rows):
    """Lines for the rows where Relay is more than 5 % slower than an engine."""
    lines = [
        f"- {row.name}, {row.threads} thread{'s' * (row.threads > 1)}: {one} takes {row.over(one):.2f} of Relay's time"
        for row in rows
        for one in ("eager", "Inductor")
        if row.over(one) < BEHIND
    ]
    return ["Relay is more than 5 % slower:", "", *lines] if lines else ["Relay is never more than 5 % slower."]


def steps(rows):
    """A line that names the training steps that take more than STEP of Inductor's time."""
    late = [f"{row.name}, {row.threads} thread{'s' * (row.threads > 1)} ({1 / row.over('Inductor'):.2f})"
            for row in rows if row.over("Inductor") * STEP < 1]  # fmt: skip
    said = f"these take more: {'; '.join(late)}" if late else "all meet this"
    return [f"The goal is at most {STEP} of Inductor's time; {said}."]


def first(rows):
    """A line with the time of first calls over all rows, PyTorch's own tracing separate."""
    of = {name: sum(row.seconds[name] - row.seconds["tracing"] for row in rows) for name in ("Relay", "Inductor")}
    traced = sum(row.seconds["tracing"] for row in rows)
    return [
        f"First calls, all rows: PyTorch's tracing takes {traced:.0f} s; beyond that, Relay takes {of['Relay']:.0f} s, "
        f"Inductor {of['Inductor']:.0f} s."
    ]
