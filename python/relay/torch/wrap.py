"""compile(): a module or a function that runs compiled, with everything else as it was."""

from __future__ import annotations

import copy
import types

import torch
from torch._dynamo import trace_rules
from torch._dynamo.external_utils import wrap_inline

from .dynamo import Options


def _starts_a_graph(module: torch.nn.Module) -> bool:
    """Whether the graph may begin with `forward`. A frame around it would be one more part where the graph breaks; but
    PyTorch's own code, and what is no code of Python, begins none, and hooks are to be in the same graph."""
    hooks = (module._forward_pre_hooks, module._forward_hooks, module._backward_pre_hooks, module._backward_hooks)
    is_python = isinstance(module.forward, types.MethodType | types.FunctionType)
    return is_python and not trace_rules.check(module.forward) and not any(hooks)


def compile(model, *, dynamic: bool | None = None, fullgraph: bool = False, **options):
    """`model`, a torch.nn.Module or a function, compiled by the backend "relay".

    A module comes back as a module of the same class that shares its parameters, buffers and submodules with `model`,
    which itself stays as it is: optimizers, state_dict, load_state_dict, to, train and eval work as on `model`, with
    the same names; what they change in a submodule holds for both. Copies (copy.deepcopy) and pickles are ordinary
    modules: compile them again where they are used. Any number of threads may call it; under no_grad, inference_mode
    and autocast graphs of their own are compiled.

    dynamic and fullgraph: of torch.compile. options: see dynamo.Options; one that there is not is refused now (R0504).
    """
    Options.of(options)
    how = {"backend": "relay", "dynamic": dynamic, "fullgraph": fullgraph, "options": options}
    how["isolate_recompiles"] = True  # all modules run the same function: Dynamo's limit is for each of them
    if not isinstance(model, torch.nn.Module):
        return torch.compile(model, **how)
    made = copy.copy(model)
    call = made._call_impl if _starts_a_graph(made) else wrap_inline(made._call_impl)
    made._compiled_call_impl = torch.compile(call, **how)
    return made
