"""The folder of a build: equal sources give equal objects wherever the checkout is, so that checkouts share a compiler
cache and a program does not name the machine that built it."""

import pathlib

import pytest

import relay

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("path", [ROOT / "build/release/bin/relay", pathlib.Path(relay._core.__file__)])
def test_programs_do_not_name_their_sources_by_absolute_paths(path):
    text = path.read_bytes()
    assert b"src/relay/" in text  # checks state their places
    assert str(ROOT / "src").encode() not in text
