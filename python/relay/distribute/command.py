"""The verbs of the command line for many workers: relay train, relay plan-cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from ..arguments import ArgumentParser
from ..data.sizes import bytes_of
from ..errors import CompileError, bad_option, wrong_input
from .gloo import check_torch
from .machines import MACHINES, MODELS, model_of
from .plan_cluster import report
from .ray_workers import run_on_ray


def _train_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="relay train", description="Runs a script on several workers of this machine, and restarts them."
    )
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--restarts", type=int, default=3, help="times that all workers are started again after one failed (default 3)"
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="places the workers on the machines of a Ray cluster: HOST:PORT, or local for one on this machine",
    )
    parser.add_argument("script", help="the Python file, followed by its arguments")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _plan_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="relay plan-cluster", description="Chooses the degrees of parallelism for a model on a cluster."
    )
    parser.add_argument(
        "model", help=f"a JSON file with the fields of relay.distribute.machines.Model, or {', '.join(MODELS)}"
    )
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--memory", default="80G", help="of each device (default 80G)")
    parser.add_argument("--machine", default="h100", choices=sorted(MACHINES))
    parser.add_argument("--batch", type=int, default=1024, help="sequences of a step (default 1024)")
    parser.add_argument("--best", type=int, default=10, help="layouts to print (default 10)")
    return parser


def run_workers(workers: int, restarts: int, script: str, arguments: list[str], ray: str | None = None) -> int:
    """Runs a script on workers, and starts all of them again after a failure: under PyTorch's elastic agent, or on a
    Ray cluster at this address."""
    check_torch()
    if workers < 1 or restarts < 0:
        raise bad_option(f"{workers} workers and {restarts} restarts", "give 1 worker or more, and 0 restarts or more")
    if not os.path.isfile(script):
        raise wrong_input(f"there is no file {script}", "name a Python script: relay train --workers 4 script.py")
    if ray is not None:
        return run_on_ray(ray, workers, restarts, os.path.abspath(script), arguments)
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    options = ["--standalone", f"--nproc-per-node={workers}", f"--max-restarts={restarts}", "--monitor-interval=0.2"]
    try:
        main([*options, script, *arguments])
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        print(
            f"error: worker {rank} (process {failure.pid}) ended with {failure.signal_name()} "
            f"after {restarts} restarts\nhelp: its message is above; the same command goes on from the last checkpoint",
            file=sys.stderr,
        )
        return 1
    return 0


def _status_of(command: Callable[[], int]) -> int:
    """Returns the exit status of a command, whose problem is printed."""
    try:
        return command()
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1


def train(arguments: list[str]) -> int:
    """Runs `relay train`, and returns its exit status."""
    given = _train_parser().parse_args(arguments)
    return _status_of(lambda: run_workers(given.workers, given.restarts, given.script, given.arguments, given.ray))


def plan_cluster(arguments: list[str]) -> int:
    """Runs `relay plan-cluster`, and returns its exit status."""
    given = _plan_parser().parse_args(arguments)

    def plan() -> int:
        memory = bytes_of(given.memory)
        print(report(model_of(given.model), MACHINES[given.machine], given.devices, memory, given.batch, given.best))
        return 0

    return _status_of(plan)
