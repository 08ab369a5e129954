"""Runs each notebook of notebooks/ in a fresh kernel, and compares the outputs with those in the file.

A file holds sources and outputs in a normal form: text only, no counts, sizes or addresses. So a reader of the
file sees what a run prints, and a difference is a change of behaviour.

    make test-notebooks                      all, one after another
    RELAY_BLESS=1 make test-notebooks        writes the outputs, and the normal form of edited notebooks

`make test` runs three of them.
"""

import json
import os
import re
import sys

import pytest
from programs import ROOT, needs_program

PACKAGES = ROOT / "build" / "test-notebooks"
sys.path.append(str(PACKAGES))
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: make test-notebooks")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: make test-notebooks")

from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # noqa: E402

BLESS = bool(os.environ.get("RELAY_BLESS"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ALWAYS = {"01-import-and-run"}
SECONDS = 120  # the most that a cell may take

pytestmark = needs_program


def normal_output(output):
    """An output as text for a reader, or None if it has no text."""
    if output.output_type == "stream":
        return {"name": output.name, "output_type": "stream", "text": output.text.replace("\r\n", "\n")}
    text = output.get("data", {}).get("text/plain")
    if text is None:
        return None
    data = {"text/plain": re.sub(r" at 0x[0-9a-f]+", " at ...", re.sub(r"\d+ kB", "... kB", text))}
    more = {"execution_count": None} if output.output_type == "execute_result" else {}
    return {"data": data, "metadata": {}, "output_type": output.output_type, **more}


def normal_outputs(outputs):
    found = []
    for one in filter(None, map(normal_output, outputs)):
        if found and one["output_type"] == "stream" and found[-1].get("name") == one["name"]:
            found[-1]["text"] += one["text"]
        else:
            found.append(one)
    return found


def normal(book):
    """The notebook in its normal form."""
    cells = []
    for number, cell in enumerate(book.cells):
        one = {"cell_type": cell.cell_type, "id": f"cell-{number}", "metadata": {}, "source": cell.source.rstrip()}
        if cell.cell_type == "code":
            one |= {"execution_count": None, "outputs": normal_outputs(cell.outputs)}
        cells.append(one)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return nbformat.from_dict({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def text_of(book):
    return nbformat.writes(book) + "\n"


def executed(path):
    """The notebook after a run of all cells. A failure names the cell."""
    book = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=SECONDS, startup_timeout=30, allow_errors=False, kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "notebooks")}},
    )  # fmt: skip
    try:
        client.execute()
    except CellTimeoutError as error:
        pytest.fail(f"{path.name}: a cell takes more than {SECONDS} s\n{error}", pytrace=False)
    except DeadKernelError as error:
        pytest.fail(f"{path.name}: the kernel ended\n{error}", pytrace=False)
    except CellExecutionError as error:
        pytest.fail(f"{path.name}: a cell fails\n{error}", pytrace=False)
    return normal(book)


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """The environment of kernels: the packages, the program, and folders of their own."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH")])))
    monkeypatch.setenv("PATH", f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    monkeypatch.delenv("RELAY_THREADS", raising=False)


@pytest.mark.parametrize(
    "path",
    [pytest.param(one, id=one.stem, marks=[] if one.stem in ALWAYS else pytest.mark.slow) for one in NOTEBOOKS],
)
def test_notebook(path, kernel):
    made = executed(path)
    if BLESS:
        path.write_text(text_of(made))
        return
    written = nbformat.read(path, as_version=4)
    for ran, committed in zip(made.cells, written.cells, strict=True):
        if ran.cell_type == "code":
            assert ran.outputs == committed.outputs, f"{path.name}, {ran.id}: another output\n{ran.source}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_normal_form(path):
    """The file is what blessing would write for the same outputs."""
    assert path.read_text() == text_of(normal(nbformat.read(path, as_version=4))), "RELAY_BLESS=1 make test-notebooks"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links(path):
    texts = [
        "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"
    ]
    assert texts[0].startswith("# ")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", " ".join(texts)):
        assert (path.parent / target).exists(), f"{path.name} links to {target}, which does not exist"


def test_a_failing_cell_fails(tmp_path, kernel):
    path = tmp_path / "wrong.ipynb"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import relay\nrelay.parse('nothing')")])
    nbformat.write(book, path)
    with pytest.raises(pytest.fail.Exception, match="a cell fails(.|\n)*R0103"):
        executed(path)
