"""Machines and models of clusters, in numbers.

Figures of devices and links are those of the makers' data sheets; efficiencies are fits (docs/distributed-training.md
says to what).
"""

from __future__ import annotations

import dataclasses
import json
import os

from ..errors import bad_option, wrong_input


@dataclasses.dataclass(frozen=True)
class Link:
    """A level of the network. ranks: that it connects. alpha: seconds of a message. beta: seconds of a byte that a rank
    sends."""

    name: str
    ranks: int
    alpha: float
    beta: float


@dataclasses.dataclass(frozen=True)
class Machine:
    """A device and the levels of its network, the nearest first.

    flops: operations a second on matrices in the type of training. memory: bytes. bandwidth: bytes a second of its
    memory. best: the share of flops that large products reach. half: elements of an operand's local rows times columns
    at which products reach half of that share. launch: seconds to start the kernels of a layer's forward and backward
    pass. hidden: the share of a layer's time behind which gradients and gathered parameters travel."""

    name: str
    flops: float
    memory: float
    bandwidth: float
    links: tuple[Link, ...]
    best: float = 0.75
    half: float = 4e6
    launch: float = 0.5e-3
    hidden: float = 0.85

    def link(self, stride: int, ranks: int) -> Link:
        """Returns the slowest level between ranks at this distance."""
        span = stride * ranks
        return next((one for one in self.links if one.ranks >= span), self.links[-1])

    def efficiency(self, rows: float, columns: float) -> float:
        """Returns the share of flops that a product with a result of this local size reaches."""
        size = rows * columns
        return self.best * size / (size + self.half)


_NVLINK_H100 = Link("NVLink", 8, 8e-6, 1 / 370e9)
_IB_400 = Link("InfiniBand 400 Gbit/s", 1 << 20, 20e-6, 1 / 45e9)
_NVLINK_A100 = Link("NVLink", 8, 8e-6, 1 / 240e9)
_IB_200 = Link("InfiniBand 200 Gbit/s", 1 << 20, 20e-6, 1 / 22e9)

MACHINES = {
    "h100": Machine("H100 SXM", 989e12, 80e9, 3.35e12, (_NVLINK_H100, _IB_400)),
    "a100": Machine("A100 SXM", 312e12, 80e9, 2.0e12, (_NVLINK_A100, _IB_200), best=0.85, half=2e6),
}


@dataclasses.dataclass(frozen=True)
class Model:
    """A decoder of transformer layers. ffn: the width inside of a layer; gated: three matrices in place of two.
    kv_heads: heads of keys and values. tied: the last product uses the embedding."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int
    sequence: int
    gated: bool = True
    tied: bool = False

    @property
    def layer_parameters(self) -> float:
        """The parameters of a layer."""
        head = self.hidden / self.heads
        attention = 2 * self.hidden * self.hidden + 2 * self.hidden * self.kv_heads * head
        return attention + (3 if self.gated else 2) * self.hidden * self.ffn + 2 * self.hidden

    @property
    def parameters(self) -> float:
        """All parameters."""
        return self.layers * self.layer_parameters + (1 if self.tied else 2) * self.vocabulary * self.hidden

    @property
    def flops_a_token(self) -> float:
        """Operations of the forward and backward pass for a token: 6 for each parameter of a product, and attention,
        of which the causal half is counted as whole, as in published figures."""
        products = self.layers * self.layer_parameters + self.vocabulary * self.hidden
        return 6 * products + 12 * self.layers * self.hidden * self.sequence


MODELS = {
    "gpt-175b": Model("GPT-3 175B", 96, 12288, 96, 96, 49152, 51200, 2048, gated=False, tied=True),
    "llama-3-8b": Model("Llama 3 8B", 32, 4096, 32, 8, 14336, 128256, 8192),
    "llama-3-70b": Model("Llama 3 70B", 80, 8192, 64, 8, 28672, 128256, 8192),
    "llama-3-405b": Model("Llama 3 405B", 126, 16384, 128, 8, 53248, 128256, 8192),
    "llama-1b": Model("Llama 1B", 16, 2048, 32, 8, 8192, 128256, 2048, tied=True),
}


def model_of(text: str | os.PathLike) -> Model:
    """Returns a model by name, or from a JSON file with the fields of Model."""
    text = os.fspath(text)
    if text in MODELS:
        return MODELS[text]
    if not text.endswith(".json"):
        raise bad_option(
            f"there is no model {text!r}", f"give a JSON file with the fields of Model, or one of: {', '.join(MODELS)}"
        )
    try:
        with open(text) as file:
            given = json.load(file)
    except (OSError, ValueError) as error:
        raise wrong_input(f"{text} cannot be read: {error}", "give a JSON file with the fields of Model") from error
    fields = {field.name: field for field in dataclasses.fields(Model)}
    needed = [name for name, field in fields.items() if field.default is dataclasses.MISSING]
    wrong = [name for name in given if name not in fields] if isinstance(given, dict) else ["(no object)"]
    lacking = [name for name in needed if isinstance(given, dict) and name not in given]
    if wrong or lacking:
        what = f"has no field {lacking[0]}" if lacking else f"has an unknown field {wrong[0]}"
        raise wrong_input(f"{text} {what}", f"its fields are: {', '.join(fields)}")
    for name, field in fields.items():
        kind = {"str": str, "int": int, "bool": bool}[str(field.type)]
        if name in given and (type(given[name]) is not kind or (kind is int and given[name] < 1)):
            raise wrong_input(f"{text}: {name} is {given[name]!r}", f"give a {kind.__name__}, from 1 if a number")
    return Model(**given)
