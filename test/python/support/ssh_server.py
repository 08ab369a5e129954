"""A server of SSH on this machine, with keys and a configuration of its own."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time

import pytest

SERVER = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
needed = pytest.mark.skipif(not SERVER or not shutil.which("ssh"), reason="dev/setup anywhere installs openssh-server")


@contextlib.contextmanager
def running(folder):
    """The address of this machine, and the configuration of ssh for it."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shutil.copy(folder / "user.pub", folder / "authorized")
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "server").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\n"
    )
    (folder / "client").write_text(f"Host *\n  IdentityFile {folder}/user\n  UserKnownHostsFile {folder}/known\n")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # as the service does
    server = subprocess.Popen([SERVER, "-D", "-e", "-f", folder / "server"], stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    try:
        yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}", folder / "client"
    finally:
        server.terminate()
        server.wait()
