"""A network of the zoo under torch.compile(backend="relay"): inference, and steps of training beside eager PyTorch."""

import copy

import relay.torch
import torch
from torch_front import counted, default_backend
from torch_networks import error_of, first_of, made

STEPS = 20
TOLERANCE = 1e-3  # of inference, beside eager
LOSS_TOLERANCE = 1e-2  # roundings of one step go into the next


def _losses(model, run, inputs) -> list[float]:
    """Of STEPS steps, from the same state of the generator, which dropout draws from."""
    torch.manual_seed(2)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = first_of(run(*inputs)).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _share(explained) -> list[float]:
    """Of nodes, and of multiply-adds, in our kernels."""
    found = []
    for of in ("nodes", "multiply_adds"):
        ours, all_ = (sum(getattr(one, of) for one in some) for some in (explained.compiled, explained.graphs))
        found.append(ours / all_ if all_ else 1.0)
    return found


def _both(network, inputs) -> tuple:
    """(what explain() says, {of: [of Relay, of the default backend]}, what the default one leaves to eager's kernels)."""
    with counted() as ours:
        explained = relay.torch.explain(copy.deepcopy(network), *inputs)
    theirs = default_backend(copy.deepcopy(network), inputs)
    front = {"graphs": [ours.graphs, theirs.graphs], "breaks": [ours.breaks, theirs.breaks]}
    return explained, front, {"of": theirs.nodes, "operators": dict(theirs.left)}


def trained(source, name) -> dict:
    network, inputs, _ = made(source, name)
    found = {}
    with torch.no_grad():
        found["inference"] = _both(network.eval(), inputs)
        wanted = first_of(network(*inputs)).double()
        infers = error_of(first_of(torch.compile(network, backend="relay")(*inputs)), wanted)
    network.train()
    torch._dynamo.reset()
    found["training"] = _both(network, inputs)
    other = copy.deepcopy(network)
    ours, theirs = _losses(network, torch.compile(network, backend="relay"), inputs), _losses(other, other, inputs)
    off = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours, theirs, strict=True))
    why = []
    if not infers <= TOLERANCE:
        why.append(f"inference off by {infers:.1e}")
    if not off <= LOSS_TOLERANCE:
        why.append(f"losses off by {off:.1e}")
    for kind, (_, front, _) in found.items():
        if front["breaks"][0] > front["breaks"][1]:
            why.append(f"{front['breaks'][0]} graph breaks in {kind}, {front['breaks'][1]} of the default backend")
    return {
        "outcome": "wrong" if why else "equal", "why": "; ".join(why), "error": infers, "loss_error": off,
        "loss": [theirs[0], theirs[-1]], "share": {kind: _share(one) for kind, (one, _, _) in found.items()},
        "front": {kind: one for kind, (_, one, _) in found.items()},
        "left_by_default": {kind: one for kind, (_, _, one) in found.items()},
        "fallbacks": sorted({one.reason for explained, _, _ in found.values() for one in explained.fallbacks}),
    }  # fmt: skip
