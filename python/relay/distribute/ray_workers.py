"""Workers that Ray places on the machines of a cluster.

Ray chooses a machine for each worker, starts its process there, and reports its end. The workers then connect by gloo,
as those of torch.distributed.run do; no tensor passes through Ray. If a worker ends with an error, or its machine is
lost, all of them are started again.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from ..errors import bad_option
from ..ray_cluster import connect

_PLACING = 60.0  # seconds to wait for free cores
_ANSWERING = 120.0  # seconds to wait until the places have started
_STOPPING = 10.0  # seconds to wait until the other workers have ended


class Host:
    """A place for one worker, an actor of Ray."""

    def __init__(self):
        self._process: subprocess.Popen | None = None

    def address(self) -> tuple[str, int]:
        """Returns the address of the machine and a free port."""
        import ray

        with socket.socket() as one:
            one.bind(("", 0))
            return ray.util.get_node_ip_address(), one.getsockname()[1]

    def run(self, command: list[str], environment: dict[str, str], folder: str) -> int:
        """Runs a command to its end. Returns its exit status, negative for a signal."""
        self._process = subprocess.Popen(command, env={**os.environ, **environment}, cwd=folder)
        return self._process.wait()

    def stop(self) -> None:
        """Ends the command, if it runs, and waits for its end. (Calls of an actor with max_concurrency=2 overlap.)"""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def run_on_ray(address: str, workers: int, restarts: int, script: str, arguments: list[str]) -> int:
    """Runs a script on workers, at the same path on every machine. Returns the exit status.

    address: of the cluster, HOST:PORT; "local" starts one on this machine.
    """
    connect(address, workers, "--ray")
    import ray

    try:
        for attempt in range(restarts + 1):
            failed = _attempt(workers, [sys.executable, script, *arguments])
            if failed is None:
                return 0
            left = f"; all workers are started again ({attempt + 1} of {restarts})" if attempt < restarts else ""
            print(f"{failed}{left}", file=sys.stderr, flush=True)
        return 1
    finally:
        ray.shutdown()


def _attempt(workers: int, command: list[str]) -> str | None:
    """Runs the workers once. Returns a sentence about the first that failed, or None."""
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    group = ray.util.placement_group([{"CPU": 1}] * workers, strategy="SPREAD")
    try:
        if not group.wait(_PLACING):
            cores = int(ray.cluster_resources().get("CPU", 0))
            raise bad_option(
                f"{workers} workers need as many cores, and the cluster has {cores}, not all of them free",
                "start fewer workers, or add machines to the cluster",
            )
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # hosts need not import Relay
        place = ray.remote(num_cpus=1, max_concurrency=2)(Host)
        hosts = [
            place.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, rank)).remote()
            for rank in range(workers)
        ]
        return _watched(hosts, command)
    finally:
        ray.util.remove_placement_group(group)


def _watched(hosts: list, command: list[str]) -> str | None:
    import ray

    try:
        found = ray.get([host.address.remote() for host in hosts], timeout=_ANSWERING)
    except ray.exceptions.GetTimeoutError as error:
        raise bad_option(
            f"the places of {len(hosts)} workers did not start in {_ANSWERING:g} s",
            "the machines may be too busy, or lack Ray's version of this one: see `ray status`",
        ) from error
    (master, port), machines = found[0], {machine for machine, _ in found}
    shared = {"MASTER_ADDR": master, "MASTER_PORT": str(port), "WORLD_SIZE": str(len(hosts)), "OMP_NUM_THREADS": "1"}
    if len(machines) == 1:
        shared |= {"GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    running = {
        host.run.remote(command, shared | {"RANK": str(rank), "LOCAL_RANK": "0"}, os.getcwd()): rank
        for rank, host in enumerate(hosts)
    }
    try:
        while running:
            (done,), _ = ray.wait(list(running), num_returns=1)
            rank = running.pop(done)
            try:
                status = ray.get(done)
            except ray.exceptions.RayActorError as error:
                return f"worker {rank} on {found[rank][0]} is lost: {str(error).strip().splitlines()[0]}"
            if status:
                how = f"by signal {-status}" if status < 0 else f"with status {status}"
                return f"worker {rank} on {found[rank][0]} ended {how}"
        return None
    finally:
        _stopped([hosts[rank] for rank in running.values()])


def _stopped(hosts: list) -> None:
    """Ends the commands of these hosts, and waits until they have ended, or the time is up."""
    import ray

    if hosts:
        ray.wait([host.stop.remote() for host in hosts], num_returns=len(hosts), timeout=_STOPPING)
