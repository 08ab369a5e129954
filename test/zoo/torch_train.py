"""A network of the zoo under torch.compile(backend="relay"): inference, and steps of training beside eager PyTorch."""

import copy

import relay.torch
import torch
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


def trained(source, name) -> dict:
    network, inputs, _ = made(source, name)
    with torch.no_grad():
        inference = relay.torch.explain(network.eval(), *inputs)
        torch._dynamo.reset()
        wanted = first_of(network(*inputs)).double()
        infers = error_of(first_of(torch.compile(network, backend="relay")(*inputs)), wanted)
    network.train()
    torch._dynamo.reset()
    training = relay.torch.explain(copy.deepcopy(network), *inputs)
    torch._dynamo.reset()
    other = copy.deepcopy(network)
    ours, theirs = _losses(network, torch.compile(network, backend="relay"), inputs), _losses(other, other, inputs)
    off = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours, theirs, strict=True))
    shares = {"inference": _share(inference), "training": _share(training)}
    why = []
    for kind, (of_nodes, _) in shares.items():
        if of_nodes < 1:
            why.append(f"{1 - of_nodes:.1%} of the nodes of {kind} run in PyTorch")
    if not infers <= TOLERANCE:
        why.append(f"inference off by {infers:.1e}")
    if not off <= LOSS_TOLERANCE:
        why.append(f"losses off by {off:.1e}")
    return {
        "outcome": "wrong" if why else "equal", "why": "; ".join(why), "error": infers, "loss_error": off,
        "loss": [theirs[0], theirs[-1]], "share": shares,
        "fallbacks": sorted({one.reason for one in [*inference.fallbacks, *training.fallbacks]}),
    }  # fmt: skip
