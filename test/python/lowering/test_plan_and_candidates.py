"""relay opt --emit plan and --emit candidates, and decisions that are given by hand."""

import re

import pytest
from programs import ROOT, cli, fails, needs_program

pytestmark = needs_program
STEPS = re.findall(r"^RELAY_PLAN_STEP\((\w+),", (ROOT / "src/relay/lower/plan/steps.def").read_text(), re.MULTILINE)

TWO_CONVOLUTIONS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 16, 16), float32], %v: Tensor[(8, 3, 3, 3), float32], %w: Tensor[(8, 8, 3, 3), float32]) {
  let %a = nn.conv2d(%x, %v, padding=[1, 1], channels=8, kernel_size=[3, 3]);
  nn.conv2d(%a, %w, padding=[1, 1], channels=8, kernel_size=[3, 3])
}
"""


@pytest.fixture
def two_file(tmp_path):
    path = tmp_path / "two.relay"
    path.write_text(TWO_CONVOLUTIONS)
    return path


def test_every_step_is_printed_in_its_order(two_file):
    text = cli("opt", two_file, "--emit", "plan").stdout
    assert re.findall(r"^# (\w+): ", text, re.MULTILINE) == STEPS
    assert re.search(r"^# choose_halos: [^(\n]*\n(array .*\n)*array .* halo ", text, re.MULTILINE)


def test_one_step(two_file):
    before = cli("opt", two_file, "--emit", "plan:choose_row_padding").stdout
    assert before.startswith("# choose_row_padding: ") and " halo 2:1+1 3:1+1" in before
    assert "halo" not in cli("opt", two_file, "--emit", "plan:make_views").stdout


def test_steps_are_timed(conv_file):
    text = cli("opt", conv_file, "--emit", "plan", "--timings").stdout
    for step in STEPS:
        assert re.search(rf"^ +\d+\.\d{{3}} ms  {step} ", text, re.MULTILINE), step


def test_the_default_comes_first_and_is_the_cheapest(conv_file):
    text = cli("opt", conv_file, "--emit", "candidates", "--target", "zen4").stdout
    groups = [
        re.findall(r"^ +([\d.]+) us  (default|decide \S+=\S+)$", g, re.MULTILINE) for g in text.split("# group ")[1:]
    ]
    assert any(len(group) > 3 for group in groups)
    for group in groups:
        assert group[0][1] == "default" and [float(us) for us, _ in group] == sorted(float(us) for us, _ in group)


def test_a_decision_by_hand(conv_file, tmp_path):
    text = cli("opt", conv_file, "--emit", "candidates", "--target", "zen4").stdout
    decision = re.search(r"decide \S+\.tile=(\d+)x(\d+)$", text, re.MULTILINE)
    name = re.findall(r"^# group \d+ (\S+)$", text[: decision.start()], re.MULTILINE)[-1]
    (tmp_path / "decision.txt").write_text(decision[0] + "\n")
    schedule = cli(
        "opt", conv_file, "--emit", "schedule", "--target", "zen4", "--schedule", f"{name}={tmp_path / 'decision.txt'}"
    ).stdout
    assert f"register tile {decision[1]} x {decision[2]} vectors" in schedule

    for wrong, says in [
        ("decide conv.tile=1000x2", "the group has no choice conv.tile=1000x2"),
        ("decide x", "CHOICE=OPTION"),
    ]:
        (tmp_path / "decision.txt").write_text(wrong + "\n")
        message = fails(
            "R0503", "opt", conv_file, "--emit", "schedule", "--schedule", f"{name}={tmp_path / 'decision.txt'}"
        )
        assert says in message and "--emit candidates" in message
