"""serve(), the process of a server: its socket, its signals and its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator

import uvicorn

from ..errors import CompileError
from .application import Service
from .intake import Intake
from .metrics import Metrics
from .repository import Repository, Source, sources_of
from .settings import Settings

logger = logging.getLogger("relay.serve")

_KEEP_ALIVE = 75  # seconds that an idle connection stays open, longer than the 60 of usual proxies
_BACKLOG = 1024  # connections that wait to be accepted


class _Server(uvicorn.Server):
    """uvicorn's server, which SIGTERM and SIGINT end with status 0, and SIGHUP tells to load its models again."""

    def __init__(self, config: uvicorn.Config, repository: Repository, names: list[str]):
        super().__init__(config)
        self._repository, self._names = repository, names
        self._reloads: set[asyncio.Task] = set()
        self.ending = asyncio.Event()  # set when no request is accepted any more

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        yield

    def _end(self, number: int) -> None:
        self._repository.is_ready = False
        self.ending.set()
        self.handle_exit(number, None)

    def _reload(self) -> None:
        task = asyncio.get_running_loop().create_task(self._load_all())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def _load_all(self) -> None:
        for name in self._names:
            try:
                await self._repository.load(name)
            except CompileError as error:
                logger.error("model `%s` was not loaded, the old one still answers: %s", name, error)


def bound_socket(host: str, port: int) -> socket.socket:
    """Returns a socket with an address, which does not listen yet. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only if the protocol is given. It delays answers by up to 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    return made


def _shown_host(host: str) -> str:
    """Returns the host as a part of a URL."""
    return f"[{host}]" if ":" in host else host


def _config(application, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        lifespan="off",
        log_config=None,
        access_log=False,
        ws="none",
        http="h11",  # limits the head of a request, unlike httptools
        loop="asyncio",
        server_header=False,
        backlog=_BACKLOG,
        limit_concurrency=settings.max_connections,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=settings.drain,
    )


async def _serve(models: list[str], settings: Settings, host: str, port: int, grpc_port: int | None) -> int:
    if grpc_port is not None:
        from . import rpc  # optional packages
    sources, shown = sources_of(models), _shown_host(host)
    tensor_models = [source for source in sources if not source.is_language_model]
    metrics = Metrics()
    repository = Repository(tensor_models, settings, metrics)
    intake = Intake(repository, settings, metrics)
    with bound_socket(host, port) as bound:
        texts = await _text_service([one for one in sources if one.is_language_model], settings, metrics, intake)
        await repository.load_all()
        application = Service(repository, settings, metrics, intake).application(texts.routes() if texts else ())
        server = _Server(_config(application, settings), repository, [one.name for one in tensor_models])
        places, stopped = [f"http://{shown}:{bound.getsockname()[1]}"], None
        if grpc_port is not None:
            second, number = await rpc.started(shown, grpc_port, repository, settings, intake, server.ending)
            places.append(f"grpc://{shown}:{number}")
            stopped = asyncio.create_task(_stopped(second, server.ending, settings.drain))
        bound.listen(_BACKLOG)
        print(f"serving {', '.join(one.name for one in sources)} at {' and '.join(places)}", flush=True)
        try:
            await server.serve(sockets=[bound])
        finally:
            server.ending.set()
            if stopped:
                await stopped
        return repository.running + (await texts.close() if texts else 0)


async def _text_service(sources: list[Source], settings: Settings, metrics: Metrics, intake: Intake):
    """Returns the service of language models, or None if there are none. Raises InputError (R0601)."""
    if not sources:
        return None
    from .text import TextModel, TextService  # optional packages

    loaded = [await asyncio.to_thread(TextModel, one.name, one.path, settings, metrics) for one in sources]
    return TextService(loaded, settings, metrics, intake)


async def _stopped(server, ending: asyncio.Event, drain: float) -> None:
    """Stops the server of gRPC after the event: it accepts no call any more, and answers those that it has read."""
    await ending.wait()
    await server.stop(drain)


def serve(
    models: list[str], settings: Settings, *, host: str = "127.0.0.1", port: int = 8000, grpc_port: int | None = None
) -> int:
    """Serves models until SIGTERM or SIGINT. Then no connection is accepted any more, and the requests that were read
    are answered, for at most `settings.drain` seconds. Returns the number of runs that have not ended then.

    models: NAME=PATH or PATH, of a file or a folder of versions. port: 0 for a free one, which is printed. grpc_port:
    the same for gRPC, or None for HTTP alone.
    Raises CompileError if a model cannot be served, and OSError if the address cannot be used.
    """
    return asyncio.run(_serve(models, settings, host, port, grpc_port))
