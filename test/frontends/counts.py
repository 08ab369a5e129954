"""Writes the table of counts of docs/front-ends.md, of the results that the comparisons left in build/front-ends.

The comparisons of one format may be of another day than those of the next: each row has its own date. The row of a
format without results in build/front-ends stays as it is.
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from old_operators import OLD  # noqa: E402
from runner import PAGE, RESULTS, write  # noqa: E402

TITLES = {
    "tflite": "TFLite", "keras": "Keras", "tensorflow": "TensorFlow", "mxnet": "MXNet", "caffe": "Caffe",
    "caffe2": "Caffe2", "darknet": "DarkNet", "coreml": "Core ML", "paddle": "PaddlePaddle", "oneflow": "OneFlow",
}  # fmt: skip
# Names of the old importers that are not names of the format, and what they are called in it.
RENAMED = {
    "tflite": {"DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess"},
    "darknet": {"ACTIVE": "activation", "NETWORK": "net", "BLANK": "blank"},
    "coreml": {one: re.sub("(Function)?(Layer)?Params$", "", one) for one in OLD["coreml"]},
}
# Names that stand for no operator: TFLite has no TAN, and DarkNet no section [xnor]; Core ML's are preprocessing.
NONE = {
    "darknet": {"BLANK", "NETWORK", "XNOR"},
    "keras": {"InputLayer"},
    "caffe": {"Input"},
    "coreml": {"NeuralNetworkImageScaler", "NeuralNetworkMeanImage"},
    "paddle": {"feed"},
    "tflite": {"TAN"},
}


def of_old(name: str, held: dict) -> tuple[int, int, list[str]]:
    """The numbers of operators that the old importer had and that are imported, and the names of the others."""
    known = {one.lower() for one in held["imported"]}
    known |= {one.partition(":")[2] for one in known if ":" in one}
    wanted = [one for one in OLD[name] if one not in NONE.get(name, ())]
    named = RENAMED.get(name, {})
    lacking = [one for one in wanted if named.get(one, one).lower() not in known]
    return len(wanted), len(wanted) - len(lacking), lacking


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)"


def row(name: str, held: dict) -> tuple[str, str]:
    """A row of the table, and a sentence on what is missing of the old list."""
    count, there, lacking = of_old(name, held)
    old = share(there, count)
    reference = ""
    if held.get("reference"):
        known = {one.lower() for one in held["imported"]}
        reference = share(sum(one.lower() in known for one in held["reference"]), len(held["reference"]))
    if held.get("needed"):
        known = {*held["imported"], *held.get("control", ())}  # TensorFlow 1's control flow is imported as a whole
        reference = f"needed: {share(len(known.intersection(held['needed'])), len(held['needed']))}"
    cells = [
        TITLES[name], str(len(held["imported"])), str(len(held["compared"])), str(held["cases"]), old, reference,
        str(held["failed"]), held["date"], f"{held['wall_seconds']} ({held['cpu_seconds']})",
    ]  # fmt: skip
    told = f"{TITLES[name]}: {', '.join(lacking)}" if lacking else ""
    return f"| {' | '.join(cells)} |", told


def earlier(title: str) -> tuple[str, str]:
    """The row of a format in the page, and its sentence; empty if there is none."""
    _, _, rest = PAGE.read_text().partition("<!-- counts:")
    block, _, _ = rest.partition("<!-- end of counts -->")
    found = re.search(rf"^\| {re.escape(title)} \|.*$", block, re.MULTILINE)
    told = re.search(rf"{re.escape(title)}: [^;.]*", block.partition("not imported: ")[2])
    return found.group() if found else "", told.group() if told else ""


def main():
    rows, missing = [], []
    for name, title in TITLES.items():
        path = RESULTS / f"{name}.json"
        made, told = row(name, json.loads(path.read_text())) if path.exists() else earlier(title)
        rows += [made] if made else []
        missing += [told] if told else []
    head = (
        "| format | imported | compared | cases | of TVM's importer | of the reference | failed | date | seconds (of "
        "CPU) |"
    )
    lines = [head, f"|{' --- |' * (head.count('|') - 1)}", *rows]
    if missing:
        lines += ["", f"Operators of TVM's importers that are not imported: {'; '.join(missing)}."]
    write("counts", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
