"""Operators' examples (relay_op_cases) as StableHLO: through XLA's CPU client, and back in through Relay."""

import functools
import json
import pathlib
import subprocess
import tempfile

import jax
import numpy as np
from jaxlib import xla_client
from relay.export.writer import numpy_dtype
from safetensors.numpy import load_file

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "bin" / "relay_op_cases"


@functools.cache
def _client():
    return jax.devices()[0].client


def run_on_xla(text: str, args: list) -> list[np.ndarray]:
    """Returns the results of a text that XLA's CPU client compiles and runs."""
    devices = xla_client.DeviceList(tuple(_client().local_devices()[:1]))
    program = _client().compile_and_load(text.encode(), devices, xla_client.CompileOptions())
    with jax.enable_x64(True):
        found = program.execute_sharded([jax.device_put(one) for one in args])
    return [np.asarray(one[0]) for one in found.disassemble_into_single_device_arrays()]


def load() -> list[dict]:
    """Returns the cases: name, op, module, inputs (NumPy arrays), outputs (computed in float64)."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, folder], check=True)
        cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
        tensors = load_file(pathlib.Path(folder) / "cases.safetensors")
    return [_case(one, tensors) for one in cases if not one["problem"]]


def _case(case: dict, tensors: dict) -> dict:
    params, inputs, operands = [], [], []
    dtypes = {name: one if isinstance(one, list) else [one] for name, one in case["dtypes"].items()}
    for name, held in case["inputs"].items():
        fields = []
        for position, one in enumerate(held if isinstance(held, list) else [held]):
            array = tensors[one]
            given = dtypes.get(name)
            dtype = given[min(position, len(given) - 1)] if given else str(array.dtype)
            dtype = "float32" if dtype == "float64" and not given else dtype
            params.append(relay.var(f"x{len(params)}", shape=array.shape, dtype=dtype))
            inputs.append(np.asarray(array).astype(numpy_dtype(dtype)))
            fields.append(params[-1])
        operands.append(relay.Tuple(fields) if isinstance(held, list) else fields[0])
    attributes = {key: one for key, one in case["attrs"].items()}
    return {
        "name": case["name"],
        "op": case["op"],
        "build": lambda: relay.Function(params, relay._core.call(case["op"], operands, attributes)),
        "inputs": inputs,
        "outputs": [tensors[one] for one in case["outputs"]],
    }
