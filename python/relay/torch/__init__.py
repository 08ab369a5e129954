"""Relay as a backend of torch.compile, for inference and training.

    import relay.torch
    fast = torch.compile(model, backend="relay", options={"threads": 2})

An installed Relay needs no import, because PyTorch finds the backend by its entry point. Operators that the importer
refuses run in PyTorch, with a warning that names the operator and the line of the model; the rest of the graph is
compiled. relay.torch.explain reports what ran where and where graphs break, and RELAY_LOGS=fallbacks prints it.
"""

from . import logs
from .dynamo import FallbackWarning, backend
from .report import Explanation, GraphBreak, GraphReport, explain
from .wrap import compile

logs.print_as_asked()

__all__ = ["Explanation", "FallbackWarning", "GraphBreak", "GraphReport", "backend", "compile", "explain"]
