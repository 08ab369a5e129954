"""Chains of elementwise operators compile in time that grows with their length, however often they use one value."""

import os
import re
import subprocess

import pytest
from forms import each_nth
from programs import PROGRAM, ROOT, needs_program

import relay

pytestmark = needs_program
TYPE = "Tensor[(4, 8), float32]"
LIMIT = 10  # seconds for one program; the slowest takes about 2


def program(link: str, length: int, first: str = "%x", last: str = "A") -> str:
    """%x and what `link` makes of it, `length` times; A in it is the last value."""
    lines = ['#[version = "0.0.5"]', f"def @main(%x: {TYPE}, %w: Tensor[(8, 8), float32]) -> {TYPE} {{"]
    lines.append(f"  let %v = {first};")
    value = "%v"
    for i in range(length):
        lines.append(f"  let %a{i} = " + re.sub(r"\bA\b", value, link) + ";")
        value = f"%a{i}"
    return "\n".join([*lines, "  " + re.sub(r"\bA\b", value, last), "}"]) + "\n"


def compiles(tmp_path, text: str) -> None:
    path = tmp_path / "chain.relay"
    path.write_text(text)
    command = [PROGRAM, "compile", path, "-o", tmp_path / "chain.rart"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        pytest.fail(f"not compiled after {LIMIT} s:\n{text[:400]}")
    assert result.returncode == 0, result.stderr[-2000:] + text[:400]


def calls(name: str, definition: dict):
    """The operator with one value for all inputs, with another last one, and together with the value itself."""
    attributes = next((attrs for _, attrs in definition["examples"] if attrs), "")
    tail = f", {attributes}" if attributes else ""
    first = ["A"] * (len(definition["inputs"]) - 1)
    yield f"{name}({', '.join([*first, 'A'])}{tail})"
    yield f"add(A, {name}({', '.join([*first, 'nn.relu(A)'])}{tail}))"


def links() -> list[str]:
    """Calls from values of one type to a value of that type, for all elementwise operators."""
    found = []
    for name, definition in sorted(relay.op.operators().items()):
        if definition["fusion"] not in ("elementwise", "broadcast") or any(t for _, _, t in definition["inputs"]):
            continue
        for link in calls(name, definition):
            try:
                relay.transform.InferType()(relay.parse(program(link, 1)))
            except relay.CompileError:
                continue
            found.append(link)
    return found


LINKS = links() if PROGRAM.exists() else []
OTHERS = ["where(less(A, 0f), multiply(A, 0.1f), A)", "sqrt(multiply(A, A))", "multiply(add(A, 1f), subtract(A, 1f))"]


def test_there_are_links():
    assert len({link.split("(")[0] for link in LINKS}) >= 30 and len(LINKS) >= 60, LINKS


@pytest.mark.parametrize("link", each_nth(3, LINKS + OTHERS))
def test_every_operator_at_length_16(tmp_path, link):
    compiles(tmp_path, program(link, 16))


@pytest.mark.parametrize("length", [200, 1000])
@pytest.mark.parametrize(
    "link", each_nth(2, ["add(A, A)", "add(A, nn.relu(A))", "nn.leaky_relu(A, alpha=0.1)", *OTHERS[:2]])
)
def test_long_chains(tmp_path, link, length):
    compiles(tmp_path, program(link, length))


@pytest.mark.parametrize("link", ["add(A, A)", "add(A, nn.relu(A))", *OTHERS[:2]])
@pytest.mark.parametrize("heavy", ["nn.dense(A, %w)", "nn.softmax(A)", "add(A, sum(A, axis=[1], keepdims=1))"])
def test_chains_around_other_kernels(tmp_path, link, heavy):
    compiles(tmp_path, program(link, 40, first=heavy.replace("A", "%x"), last=heavy))


def processor_time(tmp_path, text: str) -> float:
    """Seconds of processor time that compiling the program takes on one thread."""
    path = tmp_path / "chain.relay"
    path.write_text(text)
    command = [PROGRAM, "compile", path, "-o", tmp_path / "chain.rart", "--threads", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, text[:400]
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    "link, stages",
    [
        ("add(A, nn.relu(A))", 2),
        ("add(nn.softmax(nn.dense(sigmoid(A), %w)), sum(A, axis=[1], keepdims=1))", 5),
    ],
)
def test_time_grows_with_the_length(tmp_path, link, stages):
    """4,000 stages take at most 2.5 times as long as 2,000: in one of three tries, since other processes slow both."""
    ratios = []
    while not ratios or (min(ratios) > 2.5 and len(ratios) < 3):
        shorter, longer = (processor_time(tmp_path, program(link, n // stages)) for n in (2000, 4000))
        ratios.append(longer / shorter)
    assert min(ratios) <= 2.5, ratios


def test_a_size_of_many_terms(tmp_path):
    size = " + ".join(["n"] * 10_000)
    compiles(tmp_path, f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({size}), float32]) {{ nn.relu(%x) }}\n')
