"""Shared parts of the tests of gradients: inputs, programs and the comparison with PyTorch."""

import numpy as np
import pytest

import relay

torch = pytest.importorskip("torch")


def random(*shape, seed=[0]):  # noqa: B006  a new seed each time
    seed[0] += 1
    return (np.random.default_rng(seed[0]).standard_normal(shape) * 0.5).astype("float32")


def close(got, want):
    want = np.asarray(want)
    np.testing.assert_allclose(
        np.asarray(got), want, rtol=1e-4, atol=1e-4 * max(1e-3, float(np.abs(want).max(initial=0)))
    )


def torch_gradients(loss, arrays):
    tensors = [torch.tensor(a, dtype=torch.float64 if a.dtype.kind == "f" else None) for a in arrays]
    tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
    value = loss(*tensors)
    floats = [t for t in tensors if t.is_floating_point()]
    return value.detach(), torch.autograd.grad(value, floats)


def check(mod, loss, arrays, floats=None):
    """Value and gradients, evaluated and compiled, against PyTorch's. `floats`: the parameters that have gradients."""
    names = [p.name_hint for p in mod["main"].params]
    wrt = floats or [name for name, a in zip(names, arrays, strict=True) if a.dtype.kind == "f"]
    made = relay.value_and_grad(mod, wrt)
    want_value, want = torch_gradients(loss, arrays)
    for run in (relay.compile(made), lambda *a: relay.evaluate(made, list(a))):
        value, gradients = run(*arrays)
        close(value, want_value)
        assert len(gradients) == len(want)
        for one, expected in zip(gradients, want, strict=True):
            close(one, expected)
    return made


def straight(mod):
    """Returns whether the program consists of operators only."""
    kinds = set()
    relay.analysis.post_order_visit(mod["main"], lambda e: kinds.add(type(e).__name__))
    return len(mod.functions) == 1 and not kinds & {"If", "Match", "RefCreate", "RefRead", "RefWrite"}


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def module(params, body):
    return relay.IRModule({"main": relay.Function(params, body)})


LSTM = """#[version = "0.0.5"]
import "list"
def @cell(%x: Tensor[(1, 3), float32], %h: Tensor[(1, 4), float32], %c: Tensor[(1, 4), float32],
          %w: Tensor[(16, 3), float32], %u: Tensor[(16, 4), float32], %b: Tensor[(16), float32]) {
  let %g = split(nn.bias_add(add(nn.dense(%x, %w), nn.dense(%h, %u)), %b), indices_or_sections=4, axis=1);
  let %next = add(multiply(sigmoid(%g.1), %c), multiply(sigmoid(%g.0), tanh(%g.2)));
  (multiply(sigmoid(%g.3), tanh(%next)), %next)
}
def @run(%xs: List[Tensor[(1, 3), float32]], %h: Tensor[(1, 4), float32], %c: Tensor[(1, 4), float32],
         %w: Tensor[(16, 3), float32], %u: Tensor[(16, 4), float32], %b: Tensor[(16), float32]
        ) -> Tensor[(1, 4), float32] {
  match (%xs) {
    Nil => %h,
    Cons(%x, %rest) => { let %s = @cell(%x, %h, %c, %w, %u, %b); @run(%rest, %s.0, %s.1, %w, %u, %b) },
  }
}
def @main(%xs: List[Tensor[(1, 3), float32]], %w: Tensor[(16, 3), float32], %u: Tensor[(16, 4), float32],
          %b: Tensor[(16), float32]) {
  sum(@run(%xs, zeros(shape=[1, 4], dtype="float32"), zeros(shape=[1, 4], dtype="float32"), %w, %u, %b))
}
"""
