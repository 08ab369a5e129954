"""relay.feature: the features that a program uses (2019)."""

from relay.analysis import Feature, detect_feature

__all__ = ["Feature", "detect_feature"]
