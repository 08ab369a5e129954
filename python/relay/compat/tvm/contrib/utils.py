"""tvm.contrib.utils: temporary folders."""

from __future__ import annotations

import os
import tempfile


class TempDirectory:
    """A folder that goes with its object: tempdir().relpath("lib.so")"""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.temp_dir = self._folder.name

    def relpath(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The files in it."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Now."""
        self._folder.cleanup()


def tempdir() -> TempDirectory:
    """A new one."""
    return TempDirectory()
