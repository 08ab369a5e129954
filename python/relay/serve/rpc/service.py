"""The gRPC interface: the KServe protocol, version 2, and the repository extension."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc
from google.protobuf.message import DecodeError, Message

from ... import _core
from ...errors import CompileError
from ..application import EXTENSIONS, computed
from ..batching import Outcome
from ..intake import Intake
from ..problems import Refused, bad_request
from ..repository import Repository, refused_load
from ..settings import Settings
from . import messages
from .protocol import MESSAGES, SERVICE

logger = logging.getLogger("relay.serve")

# Codes of gRPC by the HTTP statuses of Refused.
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_MOST_AT_ONCE = 32  # requests of a stream that are read and not answered
_MOST_METADATA = 16 << 10  # bytes of a request's head

Handler = Callable[..., Awaitable[object]]


async def _read(kind: type[Message], body: bytes) -> Message:
    """Returns the message of the request's bytes. Raises Refused."""
    try:
        return await computed(len(body), kind.FromString, body)
    except DecodeError:
        raise bad_request(f"the request is not a {kind.__name__}", "send the protocol's message") from None


def _answering(handler: Handler) -> Handler:
    """Returns the handler of raw bytes: it reads the request, and gives errors their status."""
    kind = MESSAGES[f"{handler.__name__}Request"]

    @functools.wraps(handler)
    async def answered(self, body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            with self._intake.held(len(body)):
                request = await _read(kind, body)
                made = await handler(self, request, context)
            return made if isinstance(made, bytes) else made.SerializeToString()
        except Refused as error:
            if error.retry_after is not None:
                context.set_trailing_metadata((("retry-after", str(error.retry_after)),))
            await context.abort(_CODES.get(error.status, grpc.StatusCode.INTERNAL), str(error))
        except (grpc.aio.AbortError, asyncio.CancelledError):
            raise
        except Exception as error:
            logger.error("a request failed", exc_info=error)
            await context.abort(grpc.StatusCode.INTERNAL, "the server has a bug; look at its log")

    return answered


class _Service:
    """The handlers of a server's requests, by their names in the protocol."""

    def __init__(self, repository: Repository, intake: Intake, ending: asyncio.Event):
        self._repository, self._intake, self._ending = repository, intake, ending

    @_answering
    async def ServerLive(self, request, context):
        return MESSAGES["ServerLiveResponse"](live=True)

    @_answering
    async def ServerReady(self, request, context):
        return MESSAGES["ServerReadyResponse"](ready=self._repository.is_ready)

    @_answering
    async def ServerMetadata(self, request, context):
        return MESSAGES["ServerMetadataResponse"](name="relay", version=_core.version, extensions=EXTENSIONS)

    @_answering
    async def ModelReady(self, request, context):
        self._repository.find(request.name, request.version or None)
        return MESSAGES["ModelReadyResponse"](ready=True)

    @_answering
    async def ModelMetadata(self, request, context):
        version = self._repository.find(request.name, request.version or None)
        versions = self._repository.versions(version.name)
        described = version.signature.metadata()
        return MESSAGES["ModelMetadataResponse"](name=version.name, versions=versions, platform="relay", **described)

    @_answering
    async def ModelInfer(self, request, context):
        made, outcome = await self._inferred(request, context)
        timing = f"queue;dur={1e3 * outcome.waited:.3f}, run;dur={1e3 * outcome.ran:.3f}"
        context.set_trailing_metadata((("server-timing", timing), ("relay-batch-rows", str(outcome.rows))))
        return made

    async def _inferred(self, request, context) -> tuple[bytes, Outcome]:
        """Returns the bytes of a ModelInferResponse, and the outcome of its run. Raises Refused."""
        with self._intake.request(request.model_name, request.model_version or None) as (version, deadline):
            if (left := context.time_remaining()) is not None:
                deadline = min(deadline, asyncio.get_running_loop().time() + left)
            size = request.ByteSize()
            wanted = await computed(size, messages.decoded, request, version.signature)
            outcome = await version.batcher.submit(wanted.arrays, deadline)
            size = sum(result.size for result in outcome.results)
            names = version.name, version.number
            made = await computed(size, messages.encoded, wanted, outcome.results, version.signature, *names)
            return made, outcome

    async def ModelStreamInfer(self, _, context: grpc.aio.ServicerContext) -> None:
        """Answers the requests of a stream in their order. Up to `_MOST_AT_ONCE` run or wait at a time, so that they
        can be joined. At the end of the server, those that were read are answered."""
        started: asyncio.Queue[asyncio.Task | None] = asyncio.Queue(_MOST_AT_ONCE)
        async with asyncio.TaskGroup() as group:

            async def read():
                async for body in self._bodies(context):
                    await started.put(group.create_task(self._streamed(body, context)))
                await started.put(None)

            group.create_task(read())
            while (task := await started.get()) is not None:
                await context.write(await task)

    async def _bodies(self, context: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
        """Yields the messages of a stream until its client or the server ends it."""
        ending = asyncio.create_task(self._ending.wait())
        try:
            while True:
                reading = asyncio.ensure_future(context.read())
                try:
                    await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    is_read = reading.done() or not reading.cancel()
                if not is_read or (body := reading.result()) is grpc.aio.EOF:
                    return
                yield body
        finally:
            ending.cancel()

    async def _streamed(self, body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        """Returns the bytes of the answer to a request of a stream. An error is a text in it; the stream goes on."""
        kind, made = MESSAGES["ModelInferRequest"], MESSAGES["ModelStreamInferResponse"]()
        try:
            with self._intake.held(len(body)):
                request = await _read(kind, body)
                made.infer_response.id = request.id
                answer, _ = await self._inferred(request, context)
                await computed(len(answer), made.infer_response.ParseFromString, answer)
        except Refused as error:
            made.error_message = str(error)
        except Exception as error:
            logger.error("a request failed", exc_info=error)
            made.error_message = "the server has a bug; look at its log"
        return made.SerializeToString()

    @_answering
    async def RepositoryIndex(self, request, context):
        listed = [one for one in self._repository.index() if one["state"] == "READY" or not request.ready]
        return MESSAGES["RepositoryIndexResponse"](models=listed)

    @_answering
    async def RepositoryModelLoad(self, request, context):
        try:
            await self._repository.load(self._repository.controlled(request.model_name))
        except CompileError as error:
            raise refused_load(error) from error
        return MESSAGES["RepositoryModelLoadResponse"]()

    @_answering
    async def RepositoryModelUnload(self, request, context):
        await self._repository.unload(self._repository.controlled(request.model_name))
        return MESSAGES["RepositoryModelUnloadResponse"]()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns the handlers for grpc, which pass bytes."""
        names = [name for name in vars(type(self)) if f"{name}Request" in MESSAGES]
        found = {name: grpc.unary_unary_rpc_method_handler(getattr(self, name)) for name in names}
        found["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(self.ModelStreamInfer)
        return grpc.method_handlers_generic_handler(SERVICE, found)


async def started(
    address: str, port: int, repository: Repository, settings: Settings, intake: Intake, ending: asyncio.Event
) -> tuple[grpc.aio.Server, int]:
    """Returns a server of gRPC that answers at this address, and its port. Streams end at the event `ending`. Raises
    OSError."""
    server = grpc.aio.server(
        maximum_concurrent_rpcs=settings.max_connections,
        options=[
            ("grpc.max_receive_message_length", settings.max_body),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", _MOST_METADATA),
            ("grpc.compression_enabled_algorithms_bitset", 1),  # none, so that no short message becomes a long one
            ("grpc.so_reuseport", 0),
        ],
    )
    server.add_generic_rpc_handlers((_Service(repository, intake, ending).handlers(),))
    try:
        bound = server.add_insecure_port(f"{address}:{port}")
    except RuntimeError as error:
        raise OSError(f"gRPC: {error}") from error
    await server.start()
    return server, bound
