"""The cases: PyTorch's own sample inputs (op_db) of every operator that the table has or that is core ATen."""

import dataclasses
import warnings

import torch
from relay.frontend.pytorch.table import OPERATORS
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

DTYPES = (torch.float32, torch.int64, torch.bool)
# A first sample each: the same code, other elements.
FIRST_ONLY = (torch.int32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8)
# Operators whose results are undetermined.
UNDETERMINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
PREFIXES = ("nn.functional.", "special.", "linalg.")


class Call(torch.nn.Module):
    """A call of an operator: its tensors are inputs, everything else is constant."""

    def __init__(self, function, args, kwargs):
        super().__init__()
        self.function = function
        self.leaves, self.form = pytree.tree_flatten((args, kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]

    def forward(self, *tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.form)
        return self.function(*args, **kwargs)

    def inputs(self):
        return tuple(self.leaves[place] for place in self.places)


@dataclasses.dataclass(frozen=True)
class Case:
    op: str
    dtype: str
    number: int
    call: Call

    name = property(lambda self: f"{self.op} {self.dtype} {self.number}")


def core_aten():
    """The core ATen operators by name, as the table writes it."""
    found = {}
    for packet in map(lambda name: getattr(torch.ops.aten, name), dir(torch.ops.aten)):
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            operator = getattr(packet, overload)
            if torch.Tag.core in operator.tags:
                name = operator._schema.name.removeprefix("aten::")
                found[name if overload == "default" else f"{name}.{overload}"] = operator
    return found


def names(info):
    short = next((info.name.removeprefix(one) for one in PREFIXES if info.name.startswith(one)), info.name)
    return {info.aten_name, info.name, short}


def _spread(samples, most):
    """At most that many of them, evenly spread, first and last among them; all where it is 0."""
    if not most or len(samples) <= most:
        return list(enumerate(samples))
    places = sorted({round(i * (len(samples) - 1) / max(most - 1, 1)) for i in range(most)})
    return [(place, samples[place]) for place in places]


def find_cases(most, every=False):
    """With `every`, the operators of op_db that are neither in the table nor core are there too."""
    known = {name.partition(".")[0] for name in [*OPERATORS, *core_aten()]}
    cases = []
    for info in op_db:
        if info.name in UNDETERMINED or not (every or names(info) & known):
            continue
        title = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        for dtype in DTYPES + FIRST_ONLY:
            if dtype not in info.dtypes:
                continue
            torch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                samples = list(info.sample_inputs("cpu", dtype))
            for number, sample in _spread(samples, 1 if dtype in FIRST_ONLY else most):
                call = Call(info.op, (sample.input, *sample.args), sample.kwargs)
                cases.append(Case(title, str(dtype).removeprefix("torch."), number, call))
    return cases
