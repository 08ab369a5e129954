"""compile(): a module or a function that runs compiled, with everything else as it was."""

from __future__ import annotations

import copy

import torch
from torch._dynamo import trace_rules
from torch._dynamo.external_utils import wrap_inline

from .dynamo import Options


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
    # As torch.compile itself does it: the frame of `forward` is compiled, and where that is PyTorch's own code, which
    # starts no graph, a frame around it. A graph break would make one more part of the latter.
    call = wrap_inline(made._call_impl) if trace_rules.check(made.forward) else made._call_impl
    made._compiled_call_impl = torch.compile(call, **how)
    return made
