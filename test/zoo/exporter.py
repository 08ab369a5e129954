"""The networks of networks.txt as ONNX files, written by export.py in the environment .venv-zoo."""

import functools
import os
import pathlib
import select
import signal
import subprocess

ZOO = pathlib.Path(__file__).resolve().parent
EXPORT_SECONDS = 600


def networks():
    lines = (ZOO / "networks.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


class Exporter:
    """export.py --serve, a process that has imported PyTorch; made anew after a network that takes too long."""

    def __init__(self, python):
        self.python, self.process = python, None

    def __call__(self, source, name, path):
        """Nothing, or why it failed."""
        if self.process is None:
            command = [str(self.python), str(ZOO / "export.py"), "--serve"]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, start_new_session=True)  # fmt: skip
        self.process.stdin.write(f"{source} {name} {path}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], EXPORT_SECONDS)[0]:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process = None
            return f"took longer than {EXPORT_SECONDS} s"
        said = self.process.stdout.readline().strip()
        if not said:
            self.process = None
            return "the exporter's process ended"
        return said.removeprefix("failed: ") if said.startswith("failed: ") else ""


exporter = functools.cache(Exporter)  # one a process


def exported(source, name, path, python):
    """Nothing, or why the exporter failed; that is kept beside the models in a file .failed, and not tried again."""
    failed = path.with_suffix(".failed")
    if path.exists() or failed.exists():
        return failed.read_text() if failed.exists() else ""
    if why := exporter(python)(source, name, path):
        failed.write_text(why[:300])
    return why[:300]
