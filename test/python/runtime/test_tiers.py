"""Fast code for the first runs, and full code that replaces it: tier="auto", `relay run --tier`, the cache."""

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
from forms import each_nth

import relay

RELAY = pathlib.Path(sys.executable).parent / "relay"


def program(size):
    """A convolution of images of this size. Full code that this process has for one serves the next program, so tests
    that expect fast code have a size of their own."""
    return f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, {size}, 24), float32], %w: Tensor[(8, 8, 3, 3), float32]) {{
  sigmoid(nn.conv2d(%x, %w, padding=[1, 1], channels=8, kernel_size=[3, 3]))
}}
"""


PROGRAM = program(24)


def arrays(size=24):
    random = np.random.default_rng(5)
    return random.normal(size=(1, 8, size, 24)).astype("f"), random.normal(size=(8, 8, 3, 3)).astype("f")


def test_results_have_the_same_bits():
    fast, full = (relay.compile(relay.parse(PROGRAM), tier=tier) for tier in ("fast", "full"))
    assert fast.tier == "fast" and full.tier == "full"
    assert fast.report["tier"] == "fast" and "full code" in str(full.report)
    assert fast(*arrays()).tobytes() == full(*arrays()).tobytes()
    fast.wait()  # there is nothing to wait for
    assert fast.tier == "fast"


def test_auto_is_the_default_and_becomes_full():
    model = relay.compile(relay.parse(program(25)))
    first = model(*arrays(25))
    assert model.tier == "fast"
    assert model.wait() is model and model.tier == "full"
    assert model(*arrays(25)).tobytes() == first.tobytes()
    assert relay.compile(relay.parse(program(25))).tier == "full"


def test_calls_begin_the_work():
    model = relay.compile(relay.parse(program(26)))
    assert model.tier == "fast"
    end = time.time() + 60
    while model.tier == "fast" and time.time() < end:
        model(*arrays(26))
    assert model.tier == "full"


def test_programs_with_functions_exchange_their_kernels():
    model = relay.compile(
        relay.parse(
            '#[version = "0.0.5"]\ndef @power(%n: int32, %x: Tensor[(40,), float32]) -> Tensor[(40,), float32] {\n'
            "  if (equal(%n, 0)) { %x } else { @power(subtract(%n, 1), tanh(%x)) }\n}\n"
            "def @main(%x: Tensor[(40,), float32]) { @power(3, %x) }\n"
        )
    )
    x = np.linspace(-2, 2, 40, dtype="f")
    first = model(x)
    assert model.executor == "vm" and model.tier == "fast"
    assert model.wait().tier == "full"
    assert model(x).tobytes() == first.tobytes()


def test_a_process_ends_while_it_compiles():
    script = (
        f"import numpy, relay\nmodel = relay.compile(relay.parse('''{PROGRAM}'''))\n"
        "x = numpy.ones((1, 8, 24, 24), 'f'), numpy.ones((8, 8, 3, 3), 'f')\nmodel(*x); model(*x)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=120).returncode == 0


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    os.utime(path, ns=(time.time_ns() - 10**10,) * 2)
    return path


def run(path, *words):
    result = subprocess.run([RELAY, "run", path, "--json", *words], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def test_the_cache_gets_full_code_at_the_second_use(cached):
    runs = [run(cached) for _ in range(3)]
    assert [(about["cached"], about["tier"]) for about, _ in runs] == [(False, "fast"), (True, "fast"), (True, "full")]
    assert "compiled full code for later runs" in runs[1][1]
    assert all(about["outputs"] == runs[0][0]["outputs"] for about, _ in runs)
    assert len(list((cached.parent / "cache").glob("*.rart"))) == 1


def test_full_code_is_not_taken_from_fast_entries(cached):
    assert run(cached, "--tier", "fast")[0]["tier"] == "fast"
    assert run(cached, "--tier", "fast")[0]["cached"]
    about, _ = run(cached, "--tier", "full")
    assert not about["cached"] and about["tier"] == "full"
    about, _ = run(cached, "--tier", "fast")
    assert about["cached"] and about["tier"] == "full", "better than asked for, and there"


def test_python_replaces_fast_code_in_the_cache(cached):
    cached.write_text(program(27))
    model = relay.compile(cached, cache=True)
    assert model.tier == "fast" and model.wait().tier == "full"
    again = relay.compile(cached, cache=True)
    assert again.cached and again.tier == "full"
    assert again(*arrays(27)).tobytes() == model(*arrays(27)).tobytes()


BUILT = """
import numpy, sys
import relay
from relay.run.compiled import compiled_from
model, _ = compiled_from({path!r}, [{path!r}], "a test 1", lambda: relay.parse(open({path!r}).read()))
print(model.tier)
for _ in range(int(sys.argv[1])): model(numpy.ones((1, 8, 24, 24), "f"), numpy.ones((8, 8, 3, 3), "f"))
"""


@pytest.mark.parametrize("runs", each_nth(3, [1, 0, 3]))
def test_a_process_adds_full_code_before_it_ends(cached, runs):
    script = BUILT.format(path=str(cached))
    tiers = [
        subprocess.run([sys.executable, "-c", script, str(runs)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert tiers == ["fast\n", "full\n"]


def test_an_unknown_tier(cached):
    with pytest.raises(relay.InputError, match="there is no tier 'quick'.*\n.*fast, full and auto"):
        relay.compile(relay.parse(PROGRAM), tier="quick")
    result = subprocess.run([RELAY, "run", cached, "--tier", "quick"], capture_output=True, text=True)
    assert result.returncode != 0 and "there is no tier 'quick'" in result.stderr
