"""Version, a compiled model that answers requests, and its first run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Iterator

import numpy as np

from ..errors import CompileError, wrong_input
from ..run.compiled import Compiled, compile
from ..run.ports import Port
from . import tensors
from .batching import Arrays, Batcher, Lanes
from .messages import Signature
from .metrics import Metrics
from .settings import Settings

logger = logging.getLogger("relay.serve")

_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_DEFAULT_SIZE = 4  # of variables of shapes in the first run
_ROWS = 3  # of the first run of a model whose requests are joined


def signature_of(name: str, model: Compiled) -> Signature:
    """Returns the tensors of a model. Raises InputError (R0601) if the protocol cannot describe them."""
    strings_in, strings_out = model.string_ports

    def described(ports: list[Port], strings: frozenset[str], kind: str):
        found: dict[str, tuple[Port, str]] = {}
        for port in ports:
            datatype = tensors.datatype_of(port, port.name in strings)
            if datatype is None or port.name in found:
                problem = "there twice" if datatype else "not of a type of the protocol"
                raise wrong_input(
                    f"model `{name}`: {kind} `{port}` is {problem}",
                    "serve a model whose inputs and outputs have names of their own and types of up to 64 bits",
                )
            found[port.name] = port, datatype
        return found

    if not model.has_plain_ports:
        raise wrong_input(
            f"model `{name}` has inputs or outputs that are not tensors: {model!r}",
            "serve a model of tensors: no lists, no complex numbers, no donated inputs",
        )
    return Signature(described(model.inputs, strings_in, "input"), described(model.outputs, strings_out, "output"))


def _run(model: Compiled, arrays: Arrays, threads: int) -> Arrays:
    results = model(*arrays, threads=threads)
    return list(results) if isinstance(results, tuple) else [results]


def _batch_variable(signature: Signature) -> str | None:
    """Returns the variable that is the first size of every input and output, or None."""
    ports = [port for port, _ in (*signature.inputs.values(), *signature.outputs.values())]
    first = {port.shape[0] if port.shape else None for port in ports}
    name = first.pop() if len(first) == 1 and signature.inputs else None
    return name if isinstance(name, str) and _VARIABLE.fullmatch(name) else None


def _example(signature: Signature, sizes: dict[str, int]) -> Arrays:
    """Returns inputs of these sizes, other variables being 4: uniform floats, and integers of 0 and 1."""
    generator, arrays = np.random.default_rng(0), []
    for port, datatype in signature.inputs.values():
        unknown = [size for size in port.shape if isinstance(size, str) and not _VARIABLE.fullmatch(size)]
        if unknown:
            raise wrong_input(f"the size {unknown[0]} of input `{port.name}` is not one variable", "serve it unbatched")
        shape = [sizes.get(size, _DEFAULT_SIZE) if isinstance(size, str) else size for size in port.shape]
        if datatype == tensors.BYTES:
            arrays.append(np.full(shape, "text", object))
            continue
        is_float = datatype.startswith(("FP", "BF"))
        values = generator.uniform(-1, 1, shape) if is_float else generator.integers(0, 2, shape)
        arrays.append(np.asarray(values).astype(tensors.numpy_type(port.dtype)))
    return arrays


def _same_alone(joined: Arrays, alone: list[Arrays]) -> bool:
    """True if results of rows that ran together are those of rows that ran alone, but for the order of sums."""
    for whole, *parts in zip(joined, *alone, strict=True):
        apart = np.concatenate(parts)
        if whole.shape != apart.shape:
            return False
        if whole.dtype.kind in "biuO":
            if not np.array_equal(whole, apart):
                return False
            continue
        whole, apart = whole.astype(np.float64), apart.astype(np.float64)
        # 16-bit floats have 8 or 11 bits; the order of sums changes the last of them.
        bits = 1e-4 if parts[0].dtype.itemsize > 2 else 3e-2
        largest = np.max(np.abs(apart), initial=0, where=np.isfinite(apart))
        if not np.allclose(whole, apart, rtol=bits, atol=bits * largest, equal_nan=True):
            return False
    return True


def _warm_up(name: str, model: Compiled, signature: Signature, settings: Settings) -> None:
    """Runs the model once, so that memory is planned before the first request. Failures are logged."""
    try:
        _run(model, _example(signature, settings.sizes), settings.threads)
    except CompileError as error:
        logger.warning("model `%s` could not run on made-up inputs (--size sets sizes): %s", name, error)


def _check_rows(name: str, model: Compiled, signature: Signature, settings: Settings) -> None:
    """Raises InputError (R0601) if requests of the model cannot be joined."""
    variable = _batch_variable(signature)
    if variable is None:
        raise wrong_input(
            f"requests of model `{name}` cannot be joined: its inputs and outputs have no open first size in common",
            "import it with an open batch size, or start the server with --max-batch 1",
        )
    joined = _example(signature, {**settings.sizes, variable: _ROWS})
    try:
        together = _run(model, joined, settings.threads)
        alone = [
            _run(model, [np.ascontiguousarray(a[i : i + 1]) for a in joined], settings.threads) for i in range(_ROWS)
        ]
    except CompileError as error:
        raise wrong_input(
            f"model `{name}` refuses the inputs that check whether its rows are independent: {error}",
            "give sizes that it takes, --size NAME=NUMBER, or start the server with --max-batch 1",
        ) from error
    if not _same_alone(together, alone):
        raise wrong_input(
            f"requests of model `{name}` cannot be joined: the results of a row depend on the other rows",
            "start the server with --max-batch 1",
        )


def load(name: str, path: str, settings: Settings) -> tuple[Compiled, Signature]:
    """Returns the model of a file, compiled and run once, and its tensors. Raises CompileError."""
    options = {} if settings.memory_limit is None else {"memory_limit": settings.memory_limit}
    model = compile(path, threads=settings.threads, **options)
    signature = signature_of(name, model)
    if settings.max_batch > 1:
        _check_rows(name, model, signature, settings)
    else:
        _warm_up(name, model, signature, settings)
    return model, signature


class Version:
    """A version of a model that answers requests until it is retired and its last user left."""

    def __init__(
        self,
        name: str,
        number: str,
        path: str,
        loaded: tuple[Compiled, Signature],
        settings: Settings,
        lanes: Lanes,
        metrics: Metrics,
    ):
        self.name, self.number, self.path = name, number, path
        model, self.signature = loaded
        threads, joins = settings.threads, settings.max_batch > 1
        self.batcher = Batcher(name, lambda arrays: _run(model, arrays, threads), joins, settings, lanes, metrics)
        self._users, self._is_retired = 0, False
        self._closing = None

    @contextlib.contextmanager
    def used(self) -> Iterator[Version]:
        """Keeps the version until the end of the block."""
        self._users += 1
        try:
            yield self
        finally:
            self._users -= 1
            self._close_if_unused()

    def retire(self) -> None:
        """Frees the version as soon as its users have left."""
        self._is_retired = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_retired and self._users == 0 and self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self.batcher.close())


def fingerprint(path: str) -> tuple:
    """Returns the identity of a file's contents: other contents have another one."""
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_size, found.st_ino
