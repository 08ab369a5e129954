"""A fault that is planted into the compiler is found in real models, and cut down to a few calls.

make models                                              each takes well below a minute on a quiet machine
.venv/bin/python -m pytest test/models/test_bisect.py
"""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOSE_TAIL_MASK, REGION_SHORT, RING_SHORT = "1", "2", "3"  # lower/schedule/mutation.h
FOUND = re.compile(r"kind (\S+), name (.*), calls (\d+), (\S+) s")


@pytest.mark.parametrize(
    ("model", "fault", "kind", "name"),
    [
        ("fr_eye", ["pass"], "pass", "without_first_relu"),
        ("fr_eye", ["kernel", REGION_SHORT, "native,-avx512f"], "rule", "winograd"),
        ("mlsd_320x320_tiny", ["kernel", RING_SHORT, "native,-avx512f"], "rule", "sliding"),
        ("fr_pose", ["kernel", LOSE_TAIL_MASK, "native,-avx512f"], "rule", "elementwise"),
        ("mlsd_320x320_tiny", ["import", "Resize"], "import", "Resize 'Resize__163'"),
    ],
    ids=["a pass", "an algorithm", "another algorithm", "a schedule rule", "a converter"],
)
def test_a_planted_fault_is_named(model, fault, kind, name):
    subprocess.run([sys.executable, ROOT / "dev" / "fetch_models.py", model], check=True, stdout=subprocess.DEVNULL)
    program = ROOT / "build" / "release" / "bin" / "relay_planted_faults"
    command = [program, ROOT / "models" / f"{model}.onnx", *fault]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    found = FOUND.fullmatch(done.stdout.strip())
    assert found, done.stdout + done.stderr
    assert (found[1], found[2]) == (kind, name)
    assert int(found[3]) <= 10
