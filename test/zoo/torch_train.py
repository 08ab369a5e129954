"""A network of the zoo under torch.compile(backend="relay"): inference, and steps of training beside eager PyTorch."""

import copy

import relay.torch
import torch
from torch_networks import as_double, error_of, first_of, in_double, made

STEPS = 20
TOLERANCE = 1e-3  # of inference, beside eager
LOSS_TOLERANCE = 1e-2  # roundings of one step go into the next
# Of networks whose losses a rounding changes by more: in double precision, beside eager PyTorch after a rounding.
LOSS_TOLERANCE_IN_DOUBLE = 1e-8
ROUNDING = 1e-15  # of each weight
TIMES_A_ROUNDING = 100  # every operation rounds, and a step makes up to 30 times as much of it


def _losses(model, run, inputs) -> list[float]:
    """The losses of STEPS steps, from the same state of the generator, which dropout draws from."""
    torch.manual_seed(2)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        out = first_of(run(*inputs))
        loss = (out if out.dtype == torch.float64 else out.float()).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _share(explained) -> list[float]:
    """The shares of nodes and of multiply-adds in our kernels."""
    found = []
    for of in ("nodes", "multiply_adds"):
        ours, all_ = (sum(getattr(one, of) for one in some) for some in (explained.compiled, explained.graphs))
        found.append(ours / all_ if all_ else 1.0)
    return found


def _off(losses: list[float], theirs: list[float]) -> list[float]:
    """The relative differences of the losses, step by step."""
    return [abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses, theirs, strict=True)]


def _compared(network, inputs) -> tuple[list[float], list[float]]:
    """The differences of the compiled network's losses from those of eager, and those of eager."""
    torch._dynamo.reset()
    other = copy.deepcopy(network)
    theirs = _losses(other, other, inputs)
    return _off(_losses(network, torch.compile(network, backend="relay"), inputs), theirs), theirs


def _in_double(exact, inputs) -> dict:
    """The same in double precision, beside eager PyTorch from weights that differ by a rounding: how far both are off,
    and whether at some step ours are farther off than a few roundings explain."""
    moved = copy.deepcopy(exact)
    with torch.no_grad():
        for weight in moved.parameters():
            weight.mul_(1 + ROUNDING * torch.randn_like(weight))
    off, theirs = _compared(exact, inputs)
    rounding, unexplained, most = _off(_losses(moved, moved, inputs), theirs), False, 0.0
    for ours, own in zip(off, rounding, strict=True):
        most = max(most, own)
        unexplained |= not ours <= max(LOSS_TOLERANCE_IN_DOUBLE, TIMES_A_ROUNDING * most)
    return {"loss_error_in_double": max(off), "loss_error_of_a_rounding": max(rounding), "unexplained": unexplained}


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
    exact = in_double(network)
    steps_off, theirs = _compared(network, inputs)
    off = max(steps_off)
    double = {} if off <= LOSS_TOLERANCE else _in_double(exact, as_double(inputs))
    shares = {"inference": _share(inference), "training": _share(training)}
    why = []
    for kind, (of_nodes, _) in shares.items():
        if of_nodes < 1:
            why.append(f"{1 - of_nodes:.1%} of the nodes of {kind} run in PyTorch")
    if not infers <= TOLERANCE:
        why.append(f"inference off by {infers:.1e}")
    if double.get("unexplained"):
        why.append(
            f"losses off by {off:.1e}; in double precision by {double['loss_error_in_double']:.1e}, "
            f"eager's after a rounding by {double['loss_error_of_a_rounding']:.1e}"
        )
    return {
        "outcome": "wrong" if why else "equal", "why": "; ".join(why), "error": infers, "loss_error": off,
        "loss": [theirs[0], theirs[-1]], "share": shares, **double,
        "fallbacks": sorted({one.reason for one in [*inference.fallbacks, *training.fallbacks]}),
    }  # fmt: skip
