"""The OpenCL drivers that tests run kernels on, and the comparison of a network on a driver with the CPU."""

import ctypes
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
INTEL = ROOT / "build/test-devices/intel/lib"


@dataclasses.dataclass
class Driver:
    name: str
    target: str
    library: pathlib.Path

    def is_here(self):
        try:
            ctypes.CDLL("libOpenCL.so.1")
        except OSError:
            return False
        return self.library.exists()

    def environment(self):
        """The environment of a process that finds this driver only."""
        vendors = ROOT / "build/test-devices/vendors" / self.name
        vendors.mkdir(parents=True, exist_ok=True)
        (vendors / "driver.icd").write_text(f"{self.library}\n")
        paths = [str(self.library.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return os.environ | {
            "OCL_ICD_VENDORS": str(vendors),
            "LD_LIBRARY_PATH": ":".join(paths),
            "PYTHONPATH": str(ROOT / "python"),
        }


def _pocl():
    for path in pathlib.Path("/usr/lib").glob("*/libpocl.so.2*"):
        return path
    return pathlib.Path("/usr/lib/libpocl.so.2")


ALL = {
    "pocl": Driver("pocl", "opencl", _pocl()),
    "intel": Driver("intel", "opencl", INTEL / "libintelocl.so"),
}


@dataclasses.dataclass
class Compared:
    """The largest difference between the device's results and the CPU's, as a part of the largest result."""

    difference: float = float("inf")
    same_bits: bool = False
    device_ms: float = 0
    cpu_ms: float = 0
    problem: str = ""

    def text(self):
        if self.problem:
            return self.problem
        equal = "the bits of the CPU" if self.same_bits else f"differs by {self.difference:.1e} of the largest result"
        return f"{equal}; {self.device_ms:.0f} ms, CPU {self.cpu_ms:.0f} ms"


_COMPARE = """
import json, sys, time
import numpy as np
import relay

def run(target):
    compiled = relay.compile(sys.argv[1], **({"target": target} if target else {}))
    random = np.random.default_rng(1)
    inputs = []
    for port in compiled.inputs:
        shape = [d if d > 0 else 8 for d in port.shape]
        kind = np.dtype(port.dtype)
        values = random.integers(0, 100, shape) if kind.kind in "iu" else random.standard_normal(shape)
        inputs.append(values.astype(kind))
    compiled(*inputs)
    began = time.perf_counter()
    out = compiled(*inputs)
    took = time.perf_counter() - began
    return [np.asarray(x) for x in (out if isinstance(out, (tuple, list)) else [out])], took * 1e3

got, device_ms = run(sys.argv[2])
want, cpu_ms = run(None)
pairs = list(zip(got, want, strict=True))
difference = max(float(np.max(np.abs(a.astype(np.float64) - b)) / np.max(np.abs(b))) for a, b in pairs)
same = all(a.tobytes() == b.tobytes() for a, b in pairs)
print(json.dumps({"difference": difference, "same_bits": same, "device_ms": device_ms, "cpu_ms": cpu_ms}))
"""


def compare_network(driver, path):
    done = subprocess.run(
        [sys.executable, "-c", _COMPARE, str(path), driver.target],
        env=driver.environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        return Compared(problem=done.stderr.strip()[-1500:] or f"ended with {done.returncode}")
    return Compared(**json.loads(done.stdout.splitlines()[-1]))
