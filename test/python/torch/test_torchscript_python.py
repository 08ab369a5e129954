"""Python parts of TorchScript graphs (lists, dicts, strings), and the lines of the user's Python."""

from __future__ import annotations

import pytest
from test_torchscript import line_of

import relay

torch = pytest.importorskip("torch")


class Lists(torch.nn.Module):
    def forward(self, x):
        sizes = [3, 1, 2]
        sizes.sort()
        sizes.reverse()
        sizes.insert(1, 7)
        sizes.extend([5, 4])
        last, copied = sizes.pop(), sizes.copy()
        copied[0] = 9
        copied.remove(7)
        del copied[1]
        copied += [sizes.index(5), sizes.count(7), sum(sizes), len(sizes[1:4:2])]
        rows = [x * one for one in sorted(copied)]
        return torch.stack(rows[:-1] * 2), last


class Dicts(torch.nn.Module):
    def forward(self, x):
        found = {"a": x, "b": x + 1}
        found["c"] = found.pop("a") * 2
        found.update({"d": x - 3})
        total = x.new_zeros(x.shape)
        for name, value in found.items():
            if name.upper().startswith("C") or "D" in name.upper():
                total = total + value
        for name in found.keys():  # noqa: SIM118
            total = total + len(name)
        other = found.get("z")
        if other is None:
            other = found.setdefault("e", x)
        return total, other, list(found.values())[0]


@pytest.mark.parametrize("network", [Lists, Dicts])
def test_lists_and_dicts(network):
    scripted, x = torch.jit.script(network()), torch.randn(2, 3)
    for got, wanted in zip(relay.compile(relay.from_pytorch(scripted, (x,)))(x), scripted(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(got), torch.as_tensor(wanted))


class Changes(torch.nn.Module):
    def forward(self, x):
        sizes = [1, 2]
        if bool(x.sum() > 0):
            sizes.append(3)
        return x * len(sizes)


class Replaces(torch.nn.Module):
    def forward(self, x):
        sizes = {"a": 1}
        while bool(x.sum() > 0):
            sizes["a"] = 2
            x = x - 1
        return x * sizes["a"]


@pytest.mark.parametrize("network", [Changes, Replaces])
def test_a_block_that_may_not_run_changes_no_list(network):
    with pytest.raises(relay.CompileError, match="which a block changes that depends on elements"):
        relay.from_pytorch(torch.jit.script(network()), (torch.ones(2),))


class Straight(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)

    def forward(self, x):
        x = self.first(x)
        return torch.special.bessel_j0(x) + torch.special.airy_ai(x)


@pytest.mark.parametrize("script", [torch.jit.script, lambda network: torch.jit.trace(network, torch.ones(2, 4))])
def test_what_is_missing_without_control_flow_has_its_line(script):
    with pytest.raises(relay.CompileError, match="airy_ai") as caught:
        relay.from_pytorch(script(Straight()), (torch.ones(2, 4),))
    assert line_of(Straight, "airy_ai").partition(":")[2] in str(caught.value)
    assert "test_torchscript_python.py" in str(caught.value)
