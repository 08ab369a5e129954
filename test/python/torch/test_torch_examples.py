"""The programs of examples/pytorch run, print the expected text, and compare themselves with PyTorch."""

import re
import subprocess
import sys

import pytest
from forms import each_nth
from programs import ROOT

pytest.importorskip("torch")
pytest.importorskip("transformers")
FOLDER = ROOT / "examples/pytorch"
SAYS = {
    "classify_picture": r"LABEL_\d: \d+\.\d%\n" * 3,
    "embed_sentences": r"1\.000  .*\n.*  1\.000  .*\n.*  1\.000\n",
    "transcribe": r"(\d+ )+\d+\n",
    "train": r"(?s)step 0: loss .*\d+% of new points are right\n",
    "tree_lstm": r"PyTorch .* ms, Relay .* ms\n",
}


def test_every_program_is_here():
    assert {one.stem for one in FOLDER.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", each_nth(5, SAYS))
def test_example(name):
    run = subprocess.run([sys.executable, "-W", "ignore", FOLDER / f"{name}.py"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(SAYS[name], run.stdout), run.stdout
