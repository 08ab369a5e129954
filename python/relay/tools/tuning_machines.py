"""Machines on which relay tune measures builds: this one, others that SSH reaches, or those of a Ray cluster.

    machines = Machines(of_addresses(["ssh://pi@board"], ["relay"], None))
    done = machines.run(["profile", File(artifact), "--json"], limit=60)

A machine runs one command at a time. Other machines have Relay themselves; files are copied there, each of them once.
"""

import dataclasses
import json
import pathlib
import queue
import shlex
import shutil
import subprocess
import sys
import tempfile

from relay.ray_cluster import connect
from relay.tools import remote_bench

# A program without weights, from which a machine tells its name as records have it.
TRIVIAL = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n'
# The status with which ssh ends if it fails itself.
SSH_FAILED = 255
# Seconds to wait until a machine of a Ray cluster answers.
ANSWERING = 120


class LostMachine(Exception):
    """A machine does not answer. str(error) says which, and why."""


@dataclasses.dataclass(frozen=True)
class File:
    """A word of a command that ends in the path of a file of this machine: NAME=FILE."""

    path: pathlib.Path
    before: str = ""


@dataclasses.dataclass
class Done:
    """The end of a command. status: negative for a signal, None if it took too long."""

    status: int | None
    out: str
    said: str


class Here:
    """This machine. `relay`: the words that call it."""

    name = "this machine"

    def __init__(self, relay: list[str]):
        self.relay = relay

    def run(self, words: list, limit: float, back: str = "") -> tuple[Done, bytes]:
        """Runs a command of Relay in a folder of its own. Returns its end, and the bytes of the file `back` there."""
        given = [word.before + str(word.path) if isinstance(word, File) else str(word) for word in words]
        with tempfile.TemporaryDirectory(prefix="relay-tune-") as folder:
            try:
                done = subprocess.run(
                    [*self.relay, *given], capture_output=True, text=True, timeout=limit, cwd=folder if back else None
                )
            except subprocess.TimeoutExpired:
                return Done(None, "", ""), b""
            path = pathlib.Path(folder, back)
            made = path.read_bytes() if back and path.exists() else b""
        return Done(done.returncode, done.stdout, done.stderr.strip()), made

    def close(self) -> None:
        pass


class Sent:
    """The files that another machine has, by name, each as it was when it was copied."""

    def __init__(self):
        self.times: dict[str, int] = {}

    def names(self, words: list) -> tuple[list[str], list[pathlib.Path]]:
        """The words of a command in the folder of the files there, and the files that are to be copied first."""
        given, new = [], []
        for word in words:
            if isinstance(word, File):
                name, changed = word.path.name, word.path.stat().st_mtime_ns
                if self.times.get(name) != changed:
                    self.times[name] = changed
                    new.append(word.path)
                given.append(word.before + name)
            else:
                given.append(str(word))
        return given, new


class OverSsh:
    """A machine at ssh://[USER@]HOST[:PORT]. `relay`: the words that call it there."""

    def __init__(self, url: str, relay: list[str], config: str | None):
        self.name, self.relay = url, relay
        self.machine = remote_bench.Machine(remote_bench.ssh_command(url, config))
        self.sent = Sent()

    def run(self, words: list, limit: float, back: str = "") -> tuple[Done, bytes]:
        """Runs as Here.run does, in a folder of the other machine that close() removes."""
        given, new = self.sent.names(words)
        for path in new:
            self.send(path)
        command = shlex.join(["timeout", "--kill-after=5", f"{limit:g}", *self.relay, *given])
        done = self.ssh(f"cd {shlex.quote(self.machine.folder)} && {command}")
        made = self.ssh(f"cat {shlex.quote(f'{self.machine.folder}/{back}')}").stdout if back else b""
        # Shells report a signal as 128 more than its number; `timeout` ends with 124, or 137 after killing.
        status = done.returncode if done.returncode < 128 else 128 - done.returncode
        return Done(
            None if done.returncode in (124, 137) else status,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace").strip(),
        ), made

    def send(self, path: pathlib.Path) -> None:
        to = shlex.quote(f"{self.machine.folder}/{path.name}")
        done = self.ssh(f"cat > {to}", path.read_bytes())
        if done.returncode != 0:
            raise LostMachine(f"{self.name} does not take {path.name}: {done.stderr.decode(errors='replace').strip()}")

    def ssh(self, command: str, data: bytes | None = None) -> subprocess.CompletedProcess:
        done = subprocess.run([*self.machine.ssh, command], input=data, capture_output=True)
        if done.returncode == SSH_FAILED:
            raise LostMachine(f"{self.name} is lost: {done.stderr.decode(errors='replace').strip()}")
        return done

    def close(self) -> None:
        self.machine.close()


class Place:
    """A machine of a Ray cluster, seen from there: an actor."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="relay-tune-"))

    def run(self, words: list, files: dict, limit: float, back: str) -> tuple:
        """The status (None: it took too long), what the command printed and said, and the bytes of the file `back`."""
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        command = [sys.executable, "-m", "relay", *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=self.folder)
        except subprocess.TimeoutExpired:
            return None, "", "", b""
        path = self.folder / back
        return done.returncode, done.stdout, done.stderr.strip(), path.read_bytes() if back and path.exists() else b""

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class OverRay:
    """A machine of a Ray cluster, whose Python has the package relay. `place`: a Place there."""

    def __init__(self, name: str, place):
        self.name, self.place = name, place
        self.sent = Sent()

    def run(self, words: list, limit: float, back: str = "") -> tuple[Done, bytes]:
        """Runs as Here.run does, in a folder of the other machine that close() removes."""
        import ray

        given, new = self.sent.names(words)
        files = {path.name: path.read_bytes() for path in new}
        try:
            *done, made = ray.get(self.place.run.remote(given, files, limit, back), timeout=limit + ANSWERING)
        except ray.exceptions.RayError as error:
            raise LostMachine(f"{self.name} is lost: {str(error).strip().splitlines()[0]}") from error
        return Done(*done), made

    def close(self) -> None:
        import ray

        try:
            ray.get(self.place.close.remote(), timeout=10)
        except ray.exceptions.RayError:
            pass  # the machine is lost


def over_ray(address: str) -> list[OverRay]:
    """The machines of the cluster at HOST:PORT; "local" starts one on this machine."""
    connect(address, 1, "--on ray://")
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    place = ray.remote(num_cpus=1)(Place)
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    return [
        OverRay(
            f"ray://{node['NodeManagerAddress']}",
            place.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(),
        )
        for node in nodes
    ]


def of_addresses(addresses: list[str], relay: list[str], config: str | None) -> list:
    """The machines at ssh://... and ray://... `relay`: the words that call it on machines that SSH reaches."""
    out: list = []
    for address in addresses:
        kind, _, rest = address.partition("://")
        out += over_ray(rest) if kind == "ray" else [OverSsh(address, relay, config)]
    return out


class Machines:
    """Machines of one type, on each of which one command runs at a time."""

    def __init__(self, machines: list, say):
        self.all, self.say = machines, say
        self.free: queue.Queue = queue.Queue()
        self.left = len(machines)
        for machine in machines:
            self.free.put(machine)

    def __len__(self) -> int:
        return self.left

    def run(self, words: list, limit: float) -> Done:
        """Runs a command on a machine that is free. If the machine is lost, another one runs it. Raises LostMachine if
        none is left."""
        while True:
            machine = self.free.get()
            if machine is None:
                self.free.put(None)
                raise LostMachine("no machine is left that measures")
            try:
                done, _ = machine.run(words, limit)
            except LostMachine as lost:
                self.left -= 1
                self.say(f"{lost}; {self.left} left")
                if self.left == 0:
                    self.free.put(None)
                continue
            except BaseException:
                self.free.put(machine)
                raise
            self.free.put(machine)
            return done

    def close(self) -> None:
        for machine in self.all:
            machine.close()


def described(machine, words: list[str]) -> dict:
    """The name of the machine as records have it, its cores and its version of Relay, as `relay compile` there tells
    them; with `words` as options. Raises LostMachine with what it said instead."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "trivial.relay")
        program.write_text(TRIVIAL)
        command = ["compile", File(program), "-o", "trivial.rart", "--candidates", "trivial.json", "--no-tuned", *words]
        done, made = machine.run(command, ANSWERING, back="trivial.json")
    if done.status != 0 or not made:
        raise LostMachine(f"{machine.name} cannot compile: {done.said or f'status {done.status}'}")
    return json.loads(made)
