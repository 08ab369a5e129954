"""Counts the operators that Dynamo passes to two backends: Relay, and the default one of torch.compile. Neither
generates code here.

Each backend's own functions take the graphs apart, for inference and for training, and decide which operators they
accept. Relay accepts those that its importer has. The default backend accepts those with a lowering other than a call
of ATen's kernel; products and convolutions count as its own, even if a library computes them. The graphs then run in
PyTorch.
"""

import collections
import contextlib
import copy
import operator

import torch
from relay.errors import CompileError
from relay.frontend.pytorch.functional import decompositions, import_functional
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor import lowering
from torch._inductor.compile_fx import compile_fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_networks import made


def _calls(graph) -> list:
    return [node for node in graph.graph.nodes if node.op == "call_function" and node.target is not operator.getitem]


def _left_by_relay(graph) -> list:
    try:
        with unset_fake_temporarily():
            import_functional(graph, None)
    except CompileError as error:
        return [node for node in getattr(error, "nodes", ()) if node is not None] or _calls(graph)
    return []


def _left_by_default(graph) -> list:
    return [one for one in _calls(graph) if one.target not in lowering.lowerings or one.target in lowering.fallbacks]


class _Count:
    """In the place of a backend's code generation."""

    def __init__(self, left):
        self.left_of, self.nodes, self.left = left, 0, collections.Counter()

    def __call__(self, graph, example_inputs, **how):
        self.nodes += len(_calls(graph))
        self.left.update(str(one.target) for one in self.left_of(graph))

        def run(given: list):
            values = list(given)
            given.clear()
            return torch.fx.Interpreter(graph).run(*values)

        run._boxed_call = True
        return run


def _relay(count):
    made = aot_autograd(
        fw_compiler=count,
        decompositions=decompositions,
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )

    def backend(graph, example_inputs):
        with (
            sdpa_kernel(SDPBackend.MATH) if torch.is_grad_enabled() else contextlib.nullcontext()
        ):  # as relay.torch does
            return made(graph, example_inputs)

    return backend


def _default(count):
    return lambda graph, example_inputs: compile_fx(graph, example_inputs, inner_compile=count)


BACKENDS = {"relay": (_relay, _left_by_relay), "default": (_default, _left_by_default)}


def _counted(backend, left, network, inputs) -> dict:
    """The counts of one call, and of its backward pass if gradients are enabled."""
    counters, count = torch._dynamo.utils.counters, _Count(left)
    counters.clear()
    torch._dynamo.reset()
    results = torch.compile(network, backend=backend(count), dynamic=False)(*inputs)
    flat = torch.utils._pytree.tree_leaves(results)
    if learning := [one for one in flat if isinstance(one, torch.Tensor) and one.requires_grad]:
        sources = [one for one in network.parameters() if one.requires_grad]
        torch.autograd.grad(sum(one.sum() for one in learning), sources, allow_unused=True)
    found = {"graphs": counters["stats"]["unique_graphs"], "breaks": sum(counters["graph_break"].values())}
    return found | {"nodes": count.nodes, "left": dict(count.left)}


def fronts(source, name) -> dict:
    """By what is computed and backend: graphs and graph breaks of Dynamo, operators, and those that are left."""
    network, inputs, _ = made(source, name)
    found, why = {}, []
    for kind in ("inference", "training"):
        network.train(kind == "training")
        with torch.set_grad_enabled(kind == "training"):
            try:
                network(*inputs)
            except RuntimeError as error:  # inception_v3's second head does not train on images this small
                why.append(f"{kind} left out: PyTorch itself says {str(error).splitlines()[0]}")
                continue
            found[kind] = {name: _counted(*of, copy.deepcopy(network), inputs) for name, of in BACKENDS.items()}
    more = {kind: of for kind, of in found.items() if of["relay"]["breaks"] > of["default"]["breaks"]}
    for kind, of in more.items():
        why.append(f"{of['relay']['breaks']} graph breaks in {kind}, {of['default']['breaks']} of the default backend")
    return {"outcome": "more breaks" if more else "equal", "why": "; ".join(why), "front": found}
