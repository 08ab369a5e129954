"""TFLite models of MediaPipe's hands, from a package on npm. Some are parts of a larger file of it."""

import hashlib
import pathlib
import re
import tempfile

import fetch_models

FOLDER = fetch_models.FOLDER / "tflite"
_PACKED = "hands_solution_packed_assets"
HANDS = fetch_models.Package(
    "@mediapipe/hands", "0.4.1675469240", "Apache-2.0",
    {
        "hand_landmark_full.tflite": "8c026882c9ec059ce0f8e75266bee5a9a23c341a40e0000df755374d3d1b9b68",
        "hand_landmark_lite.tflite": "d7fde8ac11f8ce03f8663775bfc323f4fc9f2a38062b4f4efa142874ef5b2a48",
        "palm_detection_full.tflite": "2f25e740121983f68ffc05f99991d524dc0ea812134f6316a26125816941ee85",
        "palm_detection_lite.tflite": "e9a4aaddf90dda56a87235303cf00e4c2d3fb28725f68fd88772997dac905c18",
    },
)  # fmt: skip
NAMES = [pathlib.PurePath(one).stem for one in HANDS.files]


def fetch(names: list[str]) -> list[pathlib.Path]:
    """The paths of these models, which are fetched once and checked by their SHA-256."""
    wanted = {FOLDER / f"{name}.tflite": HANDS.files[f"{name}.tflite"] for name in names}
    if not all(fetch_models.is_there(path, sha256) for path, sha256 in wanted.items()):
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            read = fetch_models.reader(fetch_models.download(HANDS, pathlib.Path(place)))
            for path, sha256 in wanted.items():
                content = _content(read, path.name)
                found = hashlib.sha256(content).hexdigest()
                if found != sha256:
                    raise fetch_models.FetchError(f"{path.name} has SHA-256 {found}, expected {sha256}")
                path.write_bytes(content)
    return list(wanted)


def _content(read, name: str) -> bytes:
    """The bytes of a file: of its own, or of the part that the loader of the packed files names."""
    try:
        return read(name)
    except KeyError:
        parts = re.findall(r'"filename":\s*"([^"]+)",\s*"start":\s*(\d+),\s*"end":\s*(\d+)',
                           read(f"{_PACKED}_loader.js").decode())  # fmt: skip
        start, end = next((int(a), int(b)) for path, a, b in parts if path.rpartition("/")[2] == name)
        return read(f"{_PACKED}.data")[start:end]
