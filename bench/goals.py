"""Goals for the networks, as the best peer's time over ours, on two kinds of machines; and tables of goals and results."""

import math
import statistics

FAST_L3 = {"zen4", "zen5"}  # AVX-512 targets whose L3 can feed the multiply-add units; the L3 of others is slow

# Goals with one thread: (with a fast L3, with a slow L3).
GOALS = {
    "resnet18": (1.7, 1.35),
    "resnet50": (1.25, 1.15),
    "vgg16": (2.5, 1.6),
    "mobilenet_v2": (1.2, 1.2),
    "inception_v3": (1.45, 1.2),
    "densenet121": (1.35, 1.2),
    "fr_expression": (1.35, 1.2),
    "mlsd_512x512_large": (1.3, 1.2),
    "bert_base": (1.05, 1.05),
    "minilm_l6": (1.05, 1.05),
    "vit_b16": (1.05, 1.05),
}
MEAN = (1.4, 1.25)  # goals for the geometric mean
TWO_THREADS = {"mobilenet_v2": 1.3}  # with a fast L3
MEAN_OF_TWO_THREADS = 1.35
SMALL = ("mlp", "dqn", "hello_deepa", "hello_deepa_old", "namaste_deepa")
FROM_FLOOR = 1.25


def losses(profile):
    """The three kernels of a model that lose most time against their ceilings, as text."""
    most = sorted(profile["kernels"], key=lambda k: -k["us"] * max(0, 1 - k["share"]))[:3]
    return "; ".join(
        f"`{k['name']}` {100 * k['us'] / profile['kernels_us']:.0f} % of the run at {100 * k['share']:.0f} % of its "
        f"ceiling ({k['bound']})"
        for k in most
    )


def ratios(rows, best, threads, names):
    """{name: ratio to the best peer} for the named models that were measured."""
    return {r["model"]: best(r)["ratio"] for r in rows if r["threads"] == threads and r["model"] in names}


def mean(found):
    return math.exp(statistics.fmean(map(math.log, found.values())))


def marked(got, reached):
    return f"{got:.2f}" if reached else f"**{got:.2f} missed**"


def goals_section(rows, best, profile, target):
    """`best(row)` is the fastest peer of a row. `profile(name)` is the output of `relay profile` with one thread."""
    one, two = (ratios(rows, best, threads, GOALS) for threads in (1, 2))
    if not one:
        return ""
    here = 0 if target in FAST_L3 else 1
    other = ("fast", "slow")[1 - here]
    lines = [
        f"| model | goal | measured | goal, 2 threads | measured | goal with a {other} L3 | largest losses |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]

    def line(name, goal, got, goal_of_two, got_of_two, goal_there, where=""):
        goal_of_two = None if here else goal_of_two
        of_two = f"{goal_of_two:.2f}" if goal_of_two else ""
        reached_by_two = marked(got_of_two, not goal_of_two or got_of_two >= goal_of_two) if got_of_two else ""
        lines.append(
            f"| {name} | {goal:.2f} | {marked(got, got >= goal)} | {of_two} | {reached_by_two} | {goal_there:.2f} | {where} |"
        )

    for name, got in one.items():
        where = "" if got >= GOALS[name][here] else losses(profile(name))
        line(name, GOALS[name][here], got, TWO_THREADS.get(name), two.get(name), GOALS[name][1 - here], where)
    if len(one) == len(GOALS):
        of_two = mean(two) if len(two) == len(GOALS) else None
        line("geometric mean", MEAN[here], mean(one), MEAN_OF_TWO_THREADS, of_two, MEAN[1 - here])
    small = ratios(rows, best, 1, SMALL)
    medians = {r["model"]: r["relay"]["median_us"] for r in rows if r["threads"] == 1}
    small_lines = [
        "| model | measured us | floor us | measured over floor | best peer / relay |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, ratio in small.items():
        us, floor = medians[name], sum(k["us"] * k["share"] for k in profile(name)["kernels"])
        over = marked(us / floor, us <= FROM_FLOOR * floor)
        small_lines.append(f"| {name} | {us:.1f} | {floor:.1f} | {over} | {marked(ratio, ratio >= 1)} |")
    nl = "\n"
    return f"""
## Goals

The best peer's time divided by ours. This machine has a {("fast", "slow")[here]} L3; the goals for a {other} L3 cannot be measured here. For a model
below its goal, the last column names the three kernels that lose most time against their ceilings (`relay profile`).
[Optimisations that were tried](tried.md) explains the losses.

{nl.join(lines)}

Small models, one thread. The floor is the time that the bytes and operations of all kernels take at the measured speed of the
caches and the multiply-add units (`relay profile`). The goal is at most {FROM_FLOOR} times the floor, and no peer may be faster.

{nl.join(small_lines)}
"""
