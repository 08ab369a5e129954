"""Connects to a cluster of Ray, or starts one on this machine.

connect("local", 2, "--ray")           `option`: the words of the command line in front of the address, for messages
connect("10.0.0.2:6379", 2, "--ray")
"""

from __future__ import annotations

import importlib.util
import os
import socket

from .errors import InputError, bad_option

_LISTENING = 10.0  # seconds to wait for a connection
_STARTS = 3  # attempts to start a local cluster


def connect(address: str, cores: int, option: str) -> None:
    """Connects this process to the cluster at HOST:PORT. The address "local" starts a cluster of `cores` cores on this
    machine."""
    if importlib.util.find_spec("ray") is None:
        raise bad_option(f"{option} needs Ray, which is not installed", f"pip install ray, or leave {option} out")
    import ray

    os.environ.setdefault("RAY_worker_niceness", "0")  # of a local cluster; Ray's 15 starves workers on a busy machine
    is_local = address == "local"
    if not is_local:
        check_listens(address, option)
    options = {"num_cpus": cores, "include_dashboard": False} if is_local else {}
    for left in reversed(range(_STARTS if is_local else 1)):
        try:
            ray.init(address, logging_level="warning", **options)
            return
        except Exception as error:  # Ray raises a bare Exception if its processes do not start in 30 s
            ray.shutdown()
            if left:
                continue
            reason = str(error).strip().splitlines()[0]
            if not is_local:
                raise no_cluster(address, option, reason) from error
            raise bad_option(
                f"Ray does not start on this machine: {reason}", f"the machine may be too busy; leave {option} out"
            ) from error


def no_cluster(address: str, option: str, reason: str) -> InputError:
    """Returns the error for an address without a cluster."""
    local = f"{option}local" if option.endswith("/") else f"{option} local"
    return bad_option(
        f"there is no Ray cluster at {address!r}: {reason}",
        f"start one with `ray start --head` and pass its HOST:PORT, or pass {local}",
    )


def check_listens(address: str, option: str) -> None:
    """Raises a diagnostic if nothing listens at HOST:PORT, where Ray would try for many minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise no_cluster(address, option, "this is not HOST:PORT")
    try:
        socket.create_connection((host, int(port)), timeout=_LISTENING).close()
    except (OSError, OverflowError) as error:
        raise no_cluster(address, option, str(error)) from error
