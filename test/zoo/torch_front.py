"""What Dynamo gives to a backend, counted: for Relay, and for torch.compile's default backend, whose code is not made.

The default backend's own functions cut and decompose the graphs, for inference and for training; in the place of its code
generation stands a count. An operator counts as left to eager PyTorch where the default backend has no lowering but a
call of ATen's kernel. Products and convolutions count as its own, whatever library computes them.
"""

import collections
import contextlib
import dataclasses
import operator

import torch


@dataclasses.dataclass
class Counts:
    graphs: int = 0  # of Dynamo
    breaks: int = 0
    nodes: int = 0  # of the graphs that the default backend makes of them; 0 for Relay
    left: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # operators left to eager's kernels


@contextlib.contextmanager
def counted():
    """Counts of what torch.compile does within; Dynamo forgets what it compiled, before and behind."""
    counters = torch._dynamo.utils.counters
    counters.clear()
    torch._dynamo.reset()
    counts = Counts()
    yield counts
    counts.graphs = counters["stats"]["unique_graphs"]
    counts.breaks = sum(counters["graph_break"].values())
    torch._dynamo.reset()


def _noted(counts: Counts, graph) -> None:
    from torch._inductor import lowering

    for node in graph.graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        counts.nodes += 1
        if node.target not in lowering.lowerings or node.target in lowering.fallbacks:
            counts.left[str(node.target)] += 1


def default_backend(network, inputs) -> Counts:
    """The front of the default backend on one call, and on its backward pass where gradients are enabled."""
    from torch._inductor.compile_fx import compile_fx

    def count(graph, example_inputs, **how):
        _noted(counts, graph)

        def call(given: list):
            values = list(given)
            given.clear()
            return torch.fx.Interpreter(graph).run(*values)

        call._boxed_call = True
        return call

    def backend(graph, example_inputs):
        return compile_fx(graph, example_inputs, inner_compile=count)

    with counted() as counts:
        results = torch.compile(network, backend=backend, dynamic=False)(*inputs)
        flat = torch.utils._pytree.tree_leaves(results)
        if learning := [one for one in flat if isinstance(one, torch.Tensor) and one.requires_grad]:
            sources = [one for one in network.parameters() if one.requires_grad]
            torch.autograd.grad(sum(one.sum() for one in learning), sources, allow_unused=True)
    return counts
