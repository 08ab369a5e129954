"""Answers that join and leave a running batch: the same texts as alone, late answers, leavers, long prompts, errors."""

import numpy as np
import pytest
from relay.decoding import Model
from relay.decoding.running import Running
from small_texts import folder_path

PROMPTS = ["the cat", "the dog sat on the hat", "a hat", "x"]


@pytest.fixture(scope="module")
def model():
    return Model(folder_path(), threads=1)


def alone(model, prompt, **how):
    return "".join(model.stream(prompt, **how))


def finished(running):
    """Steps until no answer is left. Returns the number of answers of each step."""
    counts = []
    while running:
        running.read()
        counts.append(len(running.step()))
    return counts


def test_answers_that_join_and_leave_have_the_texts_of_answers_alone(model):
    lengths = dict(zip(PROMPTS, (4, 30, 9, 17), strict=True))
    hot = {"temperature": 0.9, "top_p": 0.9, "seed": 3}
    for how in ({}, hot):
        members = {p: model.member(p, max_tokens=n, **how) for p, n in lengths.items()}
        running = Running(model.decoder)
        for member in members.values():  # one joins at each step, of other numbers of positions
            running.add(member)
        counts = finished(running)
        for prompt, member in members.items():
            assert member.answer.text == alone(model, prompt, max_tokens=lengths[prompt], **how), prompt
            assert member.answer.ended and len(member.answer.tokens) <= lengths[prompt]
        assert max(counts) >= 3 and sum(counts) >= sum(len(one.answer.tokens) for one in members.values())


def test_a_late_answer_joins_and_an_early_one_goes_on(model):
    first, late = model.member("the dog sat", max_tokens=40), model.member("a hat", max_tokens=6)
    running = Running(model.decoder)
    running.add(first)
    running.read()
    for _ in range(10):
        assert [member for member, _ in running.step()] == [first]
    running.add(late)
    running.read()
    assert running.members == [first, late]
    counts = finished(running)
    assert counts[:6] == [2] * 6 and late.answer.text == alone(model, "a hat", max_tokens=6)
    assert first.answer.text == alone(model, "the dog sat", max_tokens=40)


def test_leavers_are_dropped_whether_they_wait_or_run(model):
    members = [model.member(prompt, max_tokens=12) for prompt in PROMPTS]
    running = Running(model.decoder)
    for member in members:
        running.add(member)
    for _ in range(3):
        running.read()
        running.step()
    assert running.members == members[:3] and running.waiting == members[3:]
    running.remove([members[0], members[2], members[3]])
    assert running.members == [members[1]] and not running.waiting
    finished(running)
    assert members[1].answer.text == alone(model, PROMPTS[1], max_tokens=12)
    running.remove(members)  # all have left
    assert not running


def test_a_prompt_of_several_parts_is_read_between_steps(model, monkeypatch):
    monkeypatch.setattr("relay.decoding.running._PART", 4)
    first, second = model.member("the cat", max_tokens=20), model.member("the dog sat on the hat " * 3, max_tokens=5)
    parts = -(-len(second.tokens) // 4)
    running = Running(model.decoder)
    running.add(first)
    running.read()
    running.add(second)
    for part in range(parts):
        assert second in running.waiting
        running.read()
        assert [member for member, _ in running.step()] == ([first] if part < parts - 1 else [first, second])
    finished(running)
    np.testing.assert_equal(first.answer.text, alone(model, "the cat", max_tokens=20))
    assert len(second.answer.tokens) == 5 or second.answer.ended == "stop"


def test_an_error_of_a_prompt_removes_that_answer_alone(model):
    good, bad = model.member("the cat", max_tokens=8), model.member("a hat", max_tokens=8)
    bad.tokens[0] = 1 << 30
    running = Running(model.decoder)
    running.add(good)
    running.read()
    running.add(bad)
    with pytest.raises(Exception, match="is not one of the model's"):
        running.read()
    assert running.members == [good] and not running.waiting
    finished(running)
    assert good.answer.text == alone(model, "the cat", max_tokens=8)
