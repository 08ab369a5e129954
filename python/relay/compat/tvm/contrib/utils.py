"""tvm.contrib.utils: temporary folders."""

from __future__ import annotations

import os
import tempfile


class TempDirectory:
    """A folder that is deleted together with its object: tempdir().relpath("lib.so")"""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.temp_dir = self._folder.name

    def relpath(self, name: str) -> str:
        """Returns the path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """Returns the files in the folder."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Deletes the folder now."""
        self._folder.cleanup()


def tempdir() -> TempDirectory:
    """Returns a new folder."""
    return TempDirectory()
