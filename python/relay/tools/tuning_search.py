"""The order in which `relay tune` measures candidates.

The cost model of the rules orders the candidates of a group by their estimates. Measurements correct it: for each
family of choices (tile, prefetch, outermost, ...), the logarithm of a measured ratio is modelled as

    log ratio = slope * log estimated ratio + mean of the family + mean of the option

where ratios are those of a candidate's time to the default's. The slope and the means begin at 1 and 0 and move with
the measurements, as if `PRIOR` measurements had said so. That is all that is learned; the values of a group's sizes do
not enter.
"""

import collections
import math
import typing

PRIOR = 3.0
# A candidate that is expected to take longer than this, relative to the default, is not measured.
HOPELESS = 1.35
# A candidate is better only if it takes at most this share of the default's time, in both of its measurements.
BETTER = 0.98
# Measurements of a candidate, if other programs disturb them.
MOST_MEASUREMENTS = 4


class Candidate(typing.NamedTuple):
    """decisions: "conv2d.tile=12x2"; estimate: estimated time over that of the default."""

    decisions: str
    family: str
    estimate: float


class Correction:
    """The corrected expectation of a candidate's ratio."""

    def __init__(self):
        self.points = []  # family, option, log estimate, log ratio
        self.slopes, self.families, self.options = {}, {}, {}

    def add(self, family: str, decisions: str, estimate: float, ratio: float) -> None:
        if family != "several":
            self.points.append((family, option_of(decisions), math.log(estimate), math.log(ratio)))

    def fit(self) -> None:
        by_family = collections.defaultdict(list)
        for family, option, x, y in self.points:
            by_family[family].append((option, x, y))
        for family, rows in by_family.items():
            # Scaled so that a typical estimate, 10 % off, weighs like one measurement.
            scale = math.log(1.1) ** 2
            slope = (PRIOR + sum(x * y for _, x, y in rows) / scale) / (PRIOR + sum(x * x for _, x, _ in rows) / scale)
            rest = [(option, y - slope * x) for option, x, y in rows]
            mean = sum(y for _, y in rest) / (len(rest) + PRIOR)
            self.slopes[family], self.families[family] = slope, mean
            by_option = collections.defaultdict(list)
            for option, y in rest:
                by_option[option].append(y - mean)
            for option, residuals in by_option.items():
                self.options[family, option] = sum(residuals) / (len(residuals) + PRIOR)

    def expected(self, candidate: Candidate) -> float:
        family = candidate.family
        log = self.slopes.get(family, 1.0) * math.log(candidate.estimate) + self.families.get(family, 0.0)
        return math.exp(log + self.options.get((family, option_of(candidate.decisions)), 0.0))


def option_of(decisions: str) -> str:
    return decisions.partition("=")[2]


def words(decisions: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in decisions.split())


class Group:
    """A computation that occurs in a model, with its candidates and what has been measured of them.

    calls: the number of groups with this key; default_us: the time of all of their kernels in a run.
    """

    def __init__(self, key: str, name: str, candidates: list[Candidate]):
        self.key, self.name = key, name
        self.candidates = {c.decisions: c for c in candidates}
        self.default_us = 0.0
        self.ratios = collections.defaultdict(list)  # by decisions: (ratio, high) of each measurement
        self.faults: dict[str, str] = {}

    def add(self, decisions: str, ratio: float | None, high: float | None, fault: str) -> None:
        if fault or ratio is None or high is None:
            self.faults[decisions] = fault or "no time"
        else:
            self.ratios[decisions].append((ratio, high))

    def ratio(self, decisions: str) -> float:
        """The geometric mean of its measurements."""
        return math.exp(sum(math.log(ratio) for ratio, _ in self.ratios[decisions]) / len(self.ratios[decisions]))

    def quiet(self, decisions: str) -> list[tuple[float, float]]:
        """Its measurements while nothing disturbed them: those that have an interval."""
        return [(ratio, high) for ratio, high in self.ratios[decisions] if math.isfinite(high)]

    def is_promising(self, decisions: str) -> bool:
        better = all(r <= BETTER and high < 1 for r, high in self.quiet(decisions))
        return decisions not in self.faults and better and self.ratio(decisions) <= BETTER

    def promising(self) -> list[str]:
        """Candidates that were better whenever they were measured, the best first."""
        return sorted(filter(self.is_promising, list(self.ratios)), key=self.ratio)

    def best(self) -> str | None:
        """The best candidate that was better twice."""
        return next((d for d in self.promising() if len(self.quiet(d)) >= 2), None)

    def combine(self) -> None:
        """Adds the combination of the best options of all choices as a candidate."""
        best: dict[str, str] = {}
        product = 1.0
        for decisions in self.promising():
            for choice, option in words(decisions).items():
                if choice not in best and len(words(decisions)) == 1:
                    best[choice] = option
                    product *= self.ratio(decisions)
        if len(best) > 1:
            together = " ".join(f"{choice}={option}" for choice, option in sorted(best.items()))
            self.candidates.setdefault(together, Candidate(together, "several", product))

    def next(self, correction: Correction, tried: set[str]) -> Candidate | None:
        """The candidate to measure next: a promising one for the second time, else the one with the least expected
        time. `tried`: those that are being measured."""
        best = self.best()
        for decisions in self.promising():
            if decisions == best:
                break
            again = len(self.quiet(decisions)) < 2 and len(self.ratios[decisions]) < MOST_MEASUREMENTS
            if again and decisions not in tried and decisions in self.candidates:
                return self.candidates[decisions]
        self.combine()
        new = [
            c for d, c in self.candidates.items() if d not in self.ratios and d not in self.faults and d not in tried
        ]
        if not new:
            return None
        first = min(new, key=correction.expected)
        return first if correction.expected(first) < HOPELESS else None
