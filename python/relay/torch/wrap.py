"""compile(): makes a module or a function run compiled, and leaves everything else unchanged."""

from __future__ import annotations

import copy
import types

import torch
from torch._dynamo import trace_rules
from torch._dynamo.external_utils import wrap_inline

from .dynamo import Options


def _starts_a_graph(module: torch.nn.Module) -> bool:
    """Returns true if the graph may begin with `forward`. A frame around it would be a further part where the graph
    breaks. PyTorch's own code and callables without Python code cannot begin a graph, and hooks belong in the same
    graph."""
    hooks = (module._forward_pre_hooks, module._forward_hooks, module._backward_pre_hooks, module._backward_hooks)
    is_python = isinstance(module.forward, types.MethodType | types.FunctionType)
    return is_python and not trace_rules.check(module.forward) and not any(hooks)


def compile(model, *, dynamic: bool | None = None, fullgraph: bool = False, **options):
    """Returns `model`, a torch.nn.Module or a function, compiled by the backend "relay".

    A module is returned as a module of the same class that shares its parameters, buffers and submodules with `model`,
    which stays unchanged. Optimizers, state_dict, load_state_dict, to, train and eval work as on `model`, with the same
    names, and their changes to submodules apply to both. Copies (copy.deepcopy) and pickles are ordinary modules;
    compile them again where they are used. Any number of threads may call the module. Graphs under no_grad,
    inference_mode and autocast are compiled separately.

    dynamic, fullgraph: as for torch.compile. options: see dynamo.Options; an unknown option is refused at once (R0504).
    """
    Options.of(options)
    how = {"backend": "relay", "dynamic": dynamic, "fullgraph": fullgraph, "options": options}
    how["isolate_recompiles"] = True  # all modules run the same function, and Dynamo's limit is per function
    if not isinstance(model, torch.nn.Module):
        return torch.compile(model, **how)
    made = copy.copy(model)
    call = made._call_impl if _starts_a_graph(made) else wrap_inline(made._call_impl)
    made._compiled_call_impl = torch.compile(call, **how)
    return made
