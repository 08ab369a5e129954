"""The Open Inference Protocol over gRPC, which needs the packages grpcio and protobuf."""

from ...errors import wrong_input

try:
    import google.protobuf  # noqa: F401
    import grpc  # noqa: F401
except ImportError as error:
    raise wrong_input(
        f"--grpc-port needs {error.name}, which is not installed",
        "pip install relay[grpc], or pip install grpcio protobuf",
    ) from error

from .service import started

__all__ = ["started"]
