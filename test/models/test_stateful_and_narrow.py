"""Real models whose sizes are dynamic, that keep a state, branch, or have narrow numbers: the same as ONNX Runtime, at
several sizes from one compilation.

    .venv/bin/python -m pytest -q test/models/test_stateful_and_narrow.py -k silero
"""

import pathlib
import sys

import numpy as np
import onnxruntime
import pytest

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))
from test_models import as_tuple, fetched_only, photograph  # noqa: E402


def session(file):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def largest_difference(got, want):
    """The largest difference in any result, relative to the largest value of that result."""
    pairs = list(zip(as_tuple(got), want, strict=True))
    assert [np.shape(a) for a, _ in pairs] == [b.shape for _, b in pairs]
    return max(np.abs(np.asarray(a, np.float64) - b).max() / max(np.abs(b).max(), 1e-30) for a, b in pairs)


def speech(rate, seconds=2, seed=0):
    """Silence, then a voice-like sound: a buzz through a moving resonance, with noise; then silence."""
    draw, t = np.random.default_rng(seed), np.arange(rate * seconds) / rate
    pitch = 2 * np.pi * np.cumsum(130 + 20 * np.sin(2 * np.pi * 3 * t)) / rate
    voice = sum(np.sin(k * pitch) * np.exp(-(((k * 130 - 700 - 300 * np.sin(9 * t)) / 400) ** 2)) for k in range(1, 25))
    loud = (t > 0.5) & (t < 1.5)
    return (0.2 * voice * loud + 0.003 * draw.standard_normal(t.size)).astype(np.float32)


@pytest.mark.parametrize("rate, frame, context", [(16000, 512, 64), (8000, 256, 32)])
@pytest.mark.parametrize("batch", [1, 3])
def test_voice_activity_frame_by_frame(rate, frame, context, batch):
    """If nested four deep with weights in its branches, an LSTM inside, and a state from frame to frame. The state of
    each is its own, so that a difference would add up."""
    file = fetched_only("silero_vad")
    model, peer = relay.compile(file), session(file)
    sounds = np.stack([speech(rate, seed=seed) for seed in range(batch)])
    frames = [sounds[:, i : i + frame] for i in range(0, sounds.shape[1] - frame + 1, frame)]
    before = np.zeros((batch, context), np.float32)
    ours = theirs = np.zeros((2, batch, 128), np.float32)
    voiced = []
    for samples in frames:
        x = np.concatenate([before, samples], 1)
        got, ours = model(input=x, state=ours, sr=np.int64(rate))
        want, theirs = peer.run(None, {"input": x, "state": theirs, "sr": np.array(rate)})
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-5)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5 * max(1, np.abs(theirs).max()))
        before = samples[:, -context:]
        voiced.append(want.max())
    assert np.ptp(voiced) > 0.01, "the sound was meant to change what it hears"
    if rate == 16000:
        # Two frames at once: what is squeezed is not 1.
        with pytest.raises(relay.CompileError, match="squeeze .* needs .* == 1.: 2 is not 1"):
            model(input=np.zeros((batch, 1100), np.float32), state=ours, sr=np.int64(rate))


def normalised_photograph(size, seed):
    return np.moveaxis(photograph(size, seed)[..., :3], -1, 1) / 256 - 0.5


@pytest.mark.parametrize(
    "name, tolerance",
    # Numbers of 16 and of 8 bits: what one rounding moves is a part of what lies before it. ONNX Runtime computes the
    # first in float32 where it has no kernel of float16; of the second each layer has ranges of its own.
    [("isnet_fp16", 2e-2), ("isnet_int8", 1e-1)],
)
def test_background_removal(name, tolerance, capsys):
    file = fetched_only(name)
    x = normalised_photograph(1024, 1).astype(np.float32)
    want = session(file).run(None, {"input": x})
    got = as_tuple(relay.compile(file)(x))
    assert [g.shape for g in got] == [w.shape for w in want]
    off = [float(np.abs(g.astype(np.float64) - w).mean() / np.abs(w).max()) for g, w in zip(got, want, strict=True)]
    mask = np.abs(got[0].astype(np.float64) - want[0])
    with capsys.disabled():
        print(
            f"\n{name}: mean difference {max(off):.1e} of the largest value; of the mask at most {mask.max():.1e}",
            end=" ",
        )
    assert max(off) <= tolerance / 10
    # Pixels at edges may fall on the other side.
    assert (mask > tolerance).mean() <= 1e-3


def test_kinds_of_files():
    """Any file is an input: the kinds of these sources are what both say they are."""
    file = fetched_only("magika")
    model, peer = relay.compile(file), session(file)
    texts = [
        ROOT / "README.md",
        ROOT / "Makefile",
        file,
        ROOT / "dev/fetch_models.py",
        ROOT / "src/relay/driver/main.cpp",
    ]

    def ends(path):
        content = path.read_bytes()
        begin, end = content[:1024], content[-1024:]
        return [*begin, *[256] * (1024 - len(begin)), *[256] * (1024 - len(end)), *end]

    rows = np.array([ends(path) for path in texts], np.int32)
    for count in (1, 3, 5):
        got, want = model(rows[:count]), peer.run(None, {"bytes": rows[:count]})
        assert largest_difference(got, want) <= 1e-4
        assert (np.asarray(got).argmax(1) == want[0].argmax(1)).all()


def test_notes_of_a_sound():
    file = fetched_only("basic_pitch")
    model, peer = relay.compile(file), session(file)
    t = np.arange(43844) / 22050
    sounds = np.stack([np.sin(2 * np.pi * f * t) * np.exp(-t) for f in (220, 330, 440.5)]).astype(np.float32)[..., None]
    for count in (1, 3):
        given = {peer.get_inputs()[0].name: sounds[:count]}
        want = peer.run(None, given)
        # It takes logarithms of what is nearly zero: ONNX Runtime without its optimiser is as far off as 2e-3.
        assert largest_difference(model(sounds[:count]), want) <= 5e-3


def test_embeddings_of_sentences():
    """Named sizes of batch and sequence, weights of 8 bits, masks of different lengths."""
    file = fetched_only("minilm_int8")
    model, peer = relay.compile(file), session(file)
    draw = np.random.default_rng(2)
    for batch, length in [(1, 5), (2, 16), (3, 40)]:
        words = draw.integers(1000, 20000, (batch, length))
        mask = (np.arange(length) < np.linspace(length, length // 2, batch)[:, None]).astype(np.int64)
        given = {"input_ids": words, "attention_mask": mask, "token_type_ids": np.zeros_like(words)}
        want = peer.run(None, given)
        assert largest_difference(model(**given), want) <= 1e-4
