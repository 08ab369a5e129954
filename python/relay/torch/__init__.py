"""Relay as a backend of torch.compile: inference and training.

    import relay.torch
    fast = torch.compile(model, backend="relay", options={"threads": 2})

An installed Relay needs no import: PyTorch finds the backend by its entry point. What the importer refuses runs in
PyTorch, with a warning that names the operator and the line of the model; the rest of the graph stays compiled.
relay.torch.explain says what ran where and where graphs break, and RELAY_LOGS=fallbacks prints it.
"""

from . import logs
from .dynamo import FallbackWarning, backend
from .report import Explanation, GraphBreak, GraphReport, explain
from .wrap import compile

logs.print_as_asked()

__all__ = ["Explanation", "FallbackWarning", "GraphBreak", "GraphReport", "backend", "compile", "explain"]
