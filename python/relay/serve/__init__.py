"""A server of models: python -m relay.serve NAME=PATH. See docs/serving.md."""

from ..errors import wrong_input

try:
    import prometheus_client  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise wrong_input(
        f"the server needs {error.name}, which is not installed",
        "pip install relay[serve], or pip install uvicorn starlette prometheus-client",
    ) from error

from .server import serve
from .settings import Settings

__all__ = ["Settings", "serve"]
