"""Measures a compiled model on another machine, by SSH (relay bench --on ssh://HOST).

    remote_bench.py URL RUNNER ARTIFACT SECONDS THREADS[,THREADS...] [--ssh-config FILE] [--input FILE.npz]

The static runner and the artifact are copied into a new folder of the other machine, which is removed afterwards.
Prints a JSON list with what the runner says for each number of threads.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from urllib.parse import urlsplit


def fail(what, way_out):
    print(f"error: {what}\n  help: {way_out}", file=sys.stderr)
    sys.exit(2)


def ssh_command(url, config):
    """The words of ssh up to the remote command."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as e:
        fail(f"{url}: {e}", "write ssh://[USER@]HOST[:PORT]")
    # A name that begins with a hyphen would be an option of ssh.
    plain = re.fullmatch(r"[\w.:-]+", parts.hostname or "") and not parts.hostname.startswith("-")
    if parts.scheme != "ssh" or not plain or parts.path not in ("", "/") or (parts.username or "").startswith("-"):
        fail(f"'{url}' is not the address of a machine", "write ssh://[USER@]HOST[:PORT]")
    if not shutil.which("ssh"):
        fail("ssh is not installed", "install it (Debian: openssh-client)")
    words = ["ssh", "-o", "BatchMode=yes", *(["-F", config] if config else [])]
    words += ["-p", str(port)] if port else []
    words += ["-l", parts.username] if parts.username else []
    return [*words, parts.hostname]


class Machine:
    """Another machine, with a folder of its own there."""

    def __init__(self, ssh):
        self.ssh = ssh
        self.folder = self.run("mktemp -d").decode().strip()

    def run(self, command, data=None, hint=""):
        done = subprocess.run([*self.ssh, command], input=data, capture_output=True)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            fail(
                f"{self.ssh[-1]}: {said or f'exit status {done.returncode}'}",
                f"check that `{shlex.join(self.ssh)} true` works{hint}",
            )
        return done.stdout

    def copy(self, path, name):
        with open(path, "rb") as file:
            self.run(f"cat > {shlex.quote(f'{self.folder}/{name}')}", file.read())

    def close(self):
        subprocess.run([*self.ssh, f"rm -rf {shlex.quote(self.folder)}"], capture_output=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "runner", "artifact", "seconds", "threads"):
        parser.add_argument(name)
    parser.add_argument("--ssh-config")
    parser.add_argument("--input")
    given = parser.parse_args()
    machine = Machine(ssh_command(given.url, given.ssh_config))
    try:
        machine.copy(given.runner, "relay-run")
        machine.copy(given.artifact, "model.rart")
        if given.input:
            machine.copy(given.input, "inputs.npz")
        rows = []
        for threads in given.threads.split(","):
            command = f"cd {shlex.quote(machine.folder)} && chmod +x relay-run && ./relay-run model.rart"
            command += f" --measure {float(given.seconds)} --threads {int(threads)}"
            command += " --input inputs.npz" if given.input else ""
            said = machine.run(command, hint=", and that --runner is for that processor")
            try:
                rows.append(json.loads(said))
            except ValueError:
                fail(f"{machine.ssh[-1]} printed {said[:200]!r}", "use the relay-run of this version of Relay")
    finally:
        machine.close()
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
