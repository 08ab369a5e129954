"""Folders with damaged configurations and weights: an InputError with the file, never another error."""

import json
import shutil

import numpy as np
import pytest
from forms import each_nth
from relay.decoding import network
from relay.decoding.source import opened
from tiny_decoders import folder_of

import relay

VALUES = (
    None,
    -1,
    0,
    3,
    1 << 40,
    10**400,
    0.5,
    float("nan"),
    float("inf"),
    "x",
    "",
    [],
    [1],
    {},
    {"rope_type": 3},
    True,
)


def program_of(folder):
    source = opened(folder)
    network.program(str(folder), source.config, source.weights)


@pytest.mark.parametrize("kind", each_nth(5, ["llama-3", "gemma2", "gemma3", "gpt2", "smollm3"]))
def test_every_value_of_the_configuration(kind, tmp_path):
    shutil.copytree(folder_of(kind), tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    whole, refused = json.loads(path.read_text()), 0
    for name in whole:
        for value in VALUES:
            path.write_text(json.dumps({**whole, name: value}))
            try:
                program_of(tmp_path / "m")
            except relay.InputError as error:
                assert str(tmp_path) in str(error)
                refused += 1
    assert refused > 50


def test_damaged_weights(tmp_path):
    """Each file has one to three random characters in its header."""
    shutil.copytree(folder_of("llama"), tmp_path / "m")
    path, draw, refused = tmp_path / "m" / "model.safetensors", np.random.default_rng(0), 0
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for _ in range(300):
        damaged = bytearray(whole)
        for at in draw.integers(0, header, draw.integers(1, 4)):
            damaged[at] = draw.choice(np.frombuffer(b'0123456789[]{},:"-x ', np.uint8))
        path.write_bytes(damaged)
        try:
            program_of(tmp_path / "m")
        except relay.InputError:
            refused += 1
    assert refused > 100
