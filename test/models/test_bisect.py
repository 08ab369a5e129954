"""A fault that is planted into the compiler is found in real models within a minute, cut down to a few calls, and the
command that bisect writes finds it again.

make models
.venv/bin/python -m pytest test/models/test_bisect.py
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MUTATIONS = (ROOT / "src" / "relay" / "lower" / "schedule" / "mutation.h").read_text().split("enum class Mutation")[1]
LOSE_TAIL_MASK, REGION_SHORT, RING_SHORT, OUT_OF_BOUNDS = (
    str(re.findall(r"^  (\w+)", MUTATIONS, re.MULTILINE).index(name))
    for name in ("LoseTailMask", "RegionShort", "RingShort", "OutOfBounds")
)
AVX2 = ["--target", "native,-avx512f"]


def bisect(fault, arguments, **where):
    program = ROOT / "build" / "release" / "bin" / "relay_planted_faults"
    command = [program, *fault, "--", "bisect", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **where)
    assert done.returncode == 1, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("model", "fault", "arguments", "kind", "name"),
    [
        ("fr_eye", ["pass"], [], "pass", "without_first_relu"),
        ("fr_eye", ["refusal"], [], "pass", "refuse_relu"),
        ("fr_eye", ["crash"], [], "pass", "crash_at_relu"),
        ("fr_eye", ["kernel", OUT_OF_BOUNDS], [], "compiler", ""),
        ("fr_eye", ["kernel", REGION_SHORT], AVX2, "rule", "winograd"),
        ("mlsd_320x320_tiny", ["kernel", RING_SHORT], AVX2, "rule", "sliding"),
        ("fr_pose", ["kernel", LOSE_TAIL_MASK], AVX2, "rule", "elementwise"),
        ("mlsd_320x320_tiny", ["import", "Resize"], ["--reference", "onnxruntime"], "import", "Resize 'Resize__163'"),
    ],
    ids=[
        "a pass",
        "a pass that refuses",
        "a pass that crashes",
        "a kernel that crashes",
        "an algorithm",
        "another algorithm",
        "a schedule rule",
        "a converter",
    ],
)
def test_a_planted_fault_is_named(tmp_path, model, fault, arguments, kind, name):
    subprocess.run([sys.executable, ROOT / "dev" / "fetch_models.py", model], check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    # Real models amplify the roundings of float32.
    options = ["--tolerance", "1e-3", *arguments, "-o", tmp_path]
    found = bisect(fault, [ROOT / "models" / f"{model}.onnx", *options])
    assert time.monotonic() - begin < 60
    assert (found["blame"], found["name"]) == (kind, name)
    assert kind == "import" or 0 < found["calls"] <= 10
    command = shlex.split((tmp_path / "command.txt").read_text())
    assert command[:2] == ["relay", "bisect"]
    again = bisect(fault, command[2:], cwd=tmp_path)
    assert again["blame"] == kind
    assert again["name"].split(" '")[0] == name.split(" '")[0]  # a node alone may have another name
