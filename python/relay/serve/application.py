"""The HTTP interface: the KServe protocol, version 2, the repository extension, and /metrics."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Iterable

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .. import _core
from ..errors import CompileError
from . import messages
from .bodies import ReadsTheRest, reading
from .intake import Intake
from .metrics import Metrics
from .problems import Refused
from .repository import Repository, refused_load
from .settings import Settings

logger = logging.getLogger("relay.serve")

_LONG = 1 << 16  # bytes of a body that is decoded, and elements of an answer that is encoded, on another thread
EXTENSIONS = ["binary_tensor_data", "model_repository"]

Handler = Callable[[Request], Awaitable[Response]]


def _answer(error: Refused) -> JSONResponse:
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse({"error": str(error)}, error.status, headers)


def _answering(handler: Handler) -> Handler:
    """Returns the handler with its errors as answers."""

    @functools.wraps(handler)
    async def answered(self, request: Request) -> Response:
        try:
            return await handler(self, request)
        except Refused as error:
            return _answer(error)

    return answered


class Service:
    """The handlers of a server's requests."""

    def __init__(self, repository: Repository, settings: Settings, metrics: Metrics, intake: Intake):
        self._repository, self._settings, self._metrics, self._intake = repository, settings, metrics, intake

    async def live(self, _: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(self, _: Request) -> Response:
        is_ready = self._repository.is_ready
        return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)

    async def server(self, _: Request) -> Response:
        return JSONResponse({"name": "relay", "version": _core.version, "extensions": EXTENSIONS})

    async def metrics(self, _: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @_answering
    async def model_ready(self, request: Request) -> Response:
        version = self._repository.find(**_place(request))
        return JSONResponse({"name": version.name, "ready": True})

    @_answering
    async def model(self, request: Request) -> Response:
        version = self._repository.find(**_place(request))
        versions = self._repository.versions(version.name)
        described = {"name": version.name, "versions": versions, "platform": "relay"}
        return JSONResponse(described | version.signature.metadata())

    @_answering
    async def infer(self, request: Request) -> Response:
        with self._intake.request(**_place(request)) as (version, deadline):
            return await self._inferred(request, version, deadline)

    async def _inferred(self, request: Request, version, deadline: float) -> Response:
        async with reading(request, self._intake, self._settings, deadline) as body:
            header_length = request.headers.get(messages.HEADER_LENGTH)
            wanted = await computed(len(body), messages.decoded, body, header_length, version.signature)
            outcome = await version.batcher.submit(wanted.arrays, deadline)
            size = sum(result.size for result in outcome.results)
            content, head = await computed(
                size, messages.encoded, wanted, outcome.results, version.signature, version.name, version.number
            )
        headers = {
            "Server-Timing": f"queue;dur={1e3 * outcome.waited:.3f}, run;dur={1e3 * outcome.ran:.3f}",
            "Relay-Batch-Rows": str(outcome.rows),
        }
        if head is not None:
            headers[messages.HEADER_LENGTH] = str(head)
        return Response(content, 200, headers, "application/json" if head is None else "application/octet-stream")

    @_answering
    async def index(self, _: Request) -> Response:
        return JSONResponse(self._repository.index())

    @_answering
    async def load(self, request: Request) -> Response:
        name = self._repository.controlled(request.path_params["name"])
        try:
            return JSONResponse({"name": name, "versions": await self._repository.load(name)})
        except CompileError as error:
            raise refused_load(error) from error

    @_answering
    async def unload(self, request: Request) -> Response:
        name = self._repository.controlled(request.path_params["name"])
        await self._repository.unload(name)
        return JSONResponse({"name": name, "versions": []})

    def application(self, more: Iterable[Route] = ()) -> Starlette:
        """Returns the ASGI application, with more routes than the protocol's."""
        routes = [
            Route("/v2", self.server),
            Route("/v2/health/live", self.live),
            Route("/v2/health/ready", self.ready),
            Route("/metrics", self.metrics),
            Route("/v2/repository/index", self.index, methods=["POST"]),
            Route("/v2/repository/models/{name}/load", self.load, methods=["POST"]),
            Route("/v2/repository/models/{name}/unload", self.unload, methods=["POST"]),
        ]
        for place in ("/v2/models/{name}", "/v2/models/{name}/versions/{number}"):
            routes += [
                Route(place, self.model),
                Route(f"{place}/ready", self.model_ready),
                Route(f"{place}/infer", self.infer, methods=["POST"]),
            ]
        return Starlette(
            routes=[*routes, *more],
            middleware=[Middleware(ReadsTheRest)],
            exception_handlers={HTTPException: _no_route, Exception: _bug},
        )


def _place(request: Request) -> dict[str, str | None]:
    return {"name": request.path_params["name"], "number": request.path_params.get("number")}


async def computed(size: int, function, *arguments):
    """Calls a function, on another thread if its data is long, so that other requests go on."""
    return function(*arguments) if size < _LONG else await asyncio.to_thread(function, *arguments)


async def _no_route(request: Request, error: HTTPException) -> Response:
    if error.status_code == 405:
        help = f"use {error.headers.get('Allow', 'another method')}"
        message = f"{request.method} is not for {request.url.path[:200]}"
    else:
        message = f"there is nothing at {request.url.path[:200]}"
        help = "the paths are /v2, /v2/health/{live,ready}, /v2/models/NAME[/versions/NUMBER][/ready|/infer], /metrics"
    return JSONResponse({"error": f"{message}; {help}"}, error.status_code, error.headers)


async def _bug(_: Request, error: Exception) -> Response:
    logger.error("a request failed", exc_info=error)
    return JSONResponse({"error": "the server has a bug; look at its log"}, 500)
