"""Models that are published with their schedules and artifacts: relay hub push|pull|ls|show (docs/hub.md)."""

from .pull import pull
from .push import push

__all__ = ["pull", "push"]
