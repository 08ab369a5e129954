"""Processors: their features, and the target of a published model that fits best."""

from __future__ import annotations

import dataclasses

from .compiler import target_of
from .manifest import Manifest, Target


@dataclasses.dataclass(frozen=True)
class Processor:
    """A processor as the compiler describes it."""

    name: str  # "zen5"
    cpu: str
    triple: str
    features: frozenset[str]  # "+avx2", "-avx512f"

    def is_exactly(self, target: Target) -> bool:
        return (target.cpu, target.triple, frozenset(target.features)) == (self.cpu, self.triple, self.features)

    def runs(self, target: Target) -> bool:
        """True if the processor has all features that the target's code needs."""
        return target.triple == self.triple and target.needed <= self.features


def described(target: dict) -> Processor:
    """Returns the processor of the compiler's description."""
    return Processor(target["name"], target["cpu"], target["triple"], frozenset(target["features"]))


def processor_of(target: str) -> Processor:
    """Returns the processor that --target names. Raises CompileError (R0502)."""
    return described(target_of(target))


def choice(manifest: Manifest, processor: Processor) -> Target | None:
    """Returns the target for a processor: the same one, else the one that needs most of its features, or None."""
    fits = [target for target in manifest.targets if processor.runs(target)]
    return max(fits, key=lambda target: (processor.is_exactly(target), len(target.needed)), default=None)
