"""The command line of the server: relay serve, or python -m relay.serve."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import re
import sys

from ..arguments import ArgumentParser
from ..decoding.config import CACHES
from ..decoding.narrowing import FORMS
from ..errors import CompileError
from . import Settings, serve

_UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([1-9]\d{0,12})([kMG]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes: give 1000000, 64M or 1G")
    return int(found[1]) * _UNITS[found[2]]


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds: give 0.002 or 30")
    return float(text)


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier() or not re.fullmatch(r"[1-9]\d{0,8}", number):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER, such as seq=128")
    return name, int(number)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        "relay serve",
        description="Serves models by the KServe protocol, version 2, over HTTP and gRPC, and language models by "
        "OpenAI's interface. SIGTERM ends the server after the last answer; SIGHUP loads changed models again.",
        epilog="A model is a file that relay.compile reads, best an artifact (.rart), a folder of versions: 1.rart, "
        "2.rart, or a language model: a .gguf file, or a folder with config.json. There is no encryption and no login: "
        "put a proxy in front of a server that others can reach.",
    )
    default = Settings()
    add = parser.add_argument
    add("models", nargs="+", metavar="[NAME=]PATH", help="a model; its name is that of the file if it has none")
    add("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s, this machine only)")
    add("--port", type=int, choices=range(65536), default=8000, metavar="PORT", help="0 for a free one (default: 8000)")
    add("--grpc-port", type=int, choices=range(65536), metavar="PORT", help="a port for gRPC too; 0 for a free one")
    flags = {
        "max_batch": (_count, "rows of the longest batch; 1 does not join requests"),
        "max_delay": (_seconds, "seconds that a request waits for others to join"),
        "workers": (_count, "runs at the same time"),
        "threads": (_count, "cores of a run"),
        "max_queue": (_count, "waiting requests of a model; more are refused with 503"),
        "max_body": (_bytes, "bytes of a request: 1000000, 64M, 1G"),
        "max_bytes": (_bytes, "bytes of all requests that are not answered"),
        "max_connections": (_count, "open connections"),
        "timeout": (_seconds, "seconds of a request"),
        "drain": (_seconds, "seconds after SIGTERM for the requests that are not answered"),
        "memory_limit": (_bytes, "bytes that a run may need"),
        "slots": (_count, "answers of language models at the same time"),
        "max_tokens": (_count, "tokens of an answer"),
        "max_context": (_count, "tokens of a prompt and its answer, at most those of the model"),
    }
    for name, (kind, help) in flags.items():
        value = getattr(default, name)
        shown = "none" if value is None else f"{value >> 20}M" if kind is _bytes else value
        flag = f"--{name.replace('_', '-')}"
        add(flag, type=kind, default=value, metavar=kind.__name__[1:].upper(), help=f"{help} (default: {shown})")
    choices = {
        "weights": (FORMS, "the form in which matrices of wider floats of language models are kept"),
        "kv_cache": (CACHES, "the type in which language models keep keys and values"),
        "precision": (
            (default.precision, "int8_inputs"),
            "int8_inputs rounds the inputs of products with weights of four bits",
        ),
    }
    for name, (values, help) in choices.items():
        add(f"--{name.replace('_', '-')}", choices=values, default=getattr(default, name),
            help=f"{help} (default: %(default)s)")  # fmt: skip
    add(
        "--size",
        action="append",
        type=_size,
        default=[],
        metavar="NAME=NUMBER",
        help="the size of a variable of input shapes in a model's first run, 4 by default",
    )
    add("--control", action="store_true", help="let clients load and unload models")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the server with the arguments of this process, and returns its exit status."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    given = vars(_parser().parse_args(arguments))
    given["sizes"] = dict(given.pop("size"))
    settings = Settings(**{field.name: given.pop(field.name) for field in dataclasses.fields(Settings)})
    try:
        running = serve(**given, settings=settings)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: cannot listen at {given['host']} port {given['port']}: {error}", file=sys.stderr)
        return 1
    if running:
        print(
            f"error: {running} runs did not end in {settings.drain:g} s; they are cut off", file=sys.stderr, flush=True
        )
        os._exit(1)  # Python would wait for the threads of the runs
    return 0


if __name__ == "__main__":
    sys.exit(main())
