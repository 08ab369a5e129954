"""The handlers of OpenAI's interface: /v1/models, /v1/completions and /v1/chat/completions."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ... import _core
from ...decoding import Stream
from ...errors import CompileError
from ..bodies import reading
from ..intake import Intake
from ..metrics import Metrics
from ..problems import Refused, of_run
from ..settings import Settings
from . import answers, requests
from .models import TextModel
from .requests import TextRequest
from .slots import PATIENCE, Job, Slots

logger = logging.getLogger("relay.serve")

_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_CANCELLED = 499  # the status of requests whose clients left

Handler = Callable[[Request], Awaitable[Response]]


def _answering(handler: Handler) -> Handler:
    """Returns the handler with its errors as answers of OpenAI's form."""

    @functools.wraps(handler)
    async def answered(self, request: Request) -> Response:
        try:
            return await handler(self, request)
        except Refused as error:
            headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            return JSONResponse(answers.error_of(error), error.status, headers)

    return answered


@dataclasses.dataclass
class _Count:
    status: int = 200
    is_due: bool = True


class TextService:
    """The language models of a server."""

    def __init__(self, models: list[TextModel], settings: Settings, metrics: Metrics, intake: Intake):
        self._models = {model.name: model for model in models}
        self._settings, self._metrics, self._intake = settings, metrics, intake
        self._slots = Slots(settings)

    async def close(self) -> int:
        """Cuts off all answers. Returns the number of those that are still generated."""
        running = await self._slots.close()
        for model in self._models.values():
            await asyncio.to_thread(model.close, PATIENCE)
        return running

    def routes(self) -> list[Route]:
        return [
            Route("/v1/models", self.models),
            Route("/v1/models/{name}", self.model),
            Route("/v1/completions", self.completions, methods=["POST"]),
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
        ]

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [answers.described(one) for one in self._models.values()]})

    @_answering
    async def model(self, request: Request) -> Response:
        return JSONResponse(answers.described(self._known(request.path_params["name"])))

    @_answering
    async def completions(self, request: Request) -> Response:
        return await self._answer(request, is_chat=False)

    @_answering
    async def chat(self, request: Request) -> Response:
        return await self._answer(request, is_chat=True)

    def _known(self, name: str) -> TextModel:
        if name not in self._models:
            near = _core.suggestions(name[:200], list(self._models), 1)
            raise Refused(
                404,
                f"there is no language model `{name[:200]}`",
                f"did you mean `{near[0]}`?" if near else f"the models are {', '.join(self._models)}",
            )
        return self._models[name]

    async def _answer(self, request: Request, is_chat: bool) -> Response:
        loop = asyncio.get_running_loop()
        begin, deadline = loop.time(), loop.time() + self._settings.timeout
        async with reading(request, self._intake, self._settings, deadline) as body:
            wanted = requests.decoded(body, is_chat)
        model = self._known(wanted.model)
        requests.check_length(wanted, model.context)
        if (most := wanted.max_tokens or 0) > self._settings.max_tokens:
            raise Refused(
                400,
                f"max_tokens is {most}, but this server generates at most {self._settings.max_tokens}",
                "ask for fewer, or start the server with --max-tokens",
            )
        with self._counted(model.name, begin) as count:
            job, stream = await self._begun(model, wanted, deadline)
            form = answers.Form(wanted, int(time.time()))
            if wanted.stream:
                count.is_due = False  # but at the end of the stream
                events = self._events(job, stream, form, wanted, begin)
                return StreamingResponse(events, media_type="text/event-stream", headers=_STREAM_HEADERS)
            async with self._attended(request, job):
                text = "".join([piece async for piece in self._checked(job)])
            self._count_tokens(model.name, stream)
            if not stream.answer.ended:
                raise Refused(_CANCELLED, "the client left", "wait for the answer")
            return JSONResponse(form.whole(text, stream.answer))

    async def _begun(self, model: TextModel, wanted: TextRequest, deadline: float) -> tuple[Job, Stream]:
        """Takes a slot, and begins the answer. Returns its job and its stream."""
        await self._slots.take(deadline)
        job = Job(self._slots, lambda: model.stream(wanted))
        try:
            return job, await job.opened()
        except CompileError as error:
            raise of_run(error) from error
        except BaseException:
            job.leave()
            raise

    async def _checked(self, job: Job) -> AsyncIterator[str]:
        """Yields the pieces of a job, with an error of a run as Refused."""
        try:
            async for piece in job.pieces():
                yield piece
        except Exception as error:
            logger.error("an answer failed", exc_info=error)
            raise of_run(error) from error

    @contextlib.asynccontextmanager
    async def _attended(self, request: Request, job: Job) -> AsyncIterator[None]:
        """Ends the job when the client leaves, and at the end of the block."""
        watch = asyncio.create_task(_left(request))
        watch.add_done_callback(lambda done: done.cancelled() or job.leave())
        try:
            yield
        finally:
            watch.cancel()
            job.leave()

    async def _events(
        self, job: Job, stream: Stream, form: answers.Form, wanted: TextRequest, begin: float
    ) -> AsyncIterator[bytes]:
        """Yields the events of an answer."""
        with self._counted(wanted.model, begin) as count:
            try:
                for message in form.first():
                    yield answers.event(message)
                async for piece in self._checked(job):
                    yield answers.event(form.piece(piece))
                for message in form.last(stream.answer, wanted.with_usage):
                    yield answers.event(message)
            except Refused as error:  # the status is sent already
                count.status = error.status
                yield answers.event(answers.error_of(error))
            finally:
                job.leave()
                self._count_tokens(wanted.model, stream)
            yield answers.DONE

    def _count_tokens(self, name: str, stream: Stream) -> None:
        self._metrics.tokens.labels(name, "prompt").inc(stream.answer.prompt_tokens)
        self._metrics.tokens.labels(name, "answer").inc(len(stream.answer.tokens))

    @contextlib.contextmanager
    def _counted(self, name: str, begin: float) -> Iterator[_Count]:
        """Counts a request with its status and its time at the end of the block, unless it is not due."""
        count = _Count()
        try:
            yield count
        except Refused as error:
            count.status = error.status
            raise
        except (asyncio.CancelledError, GeneratorExit):
            count.status = _CANCELLED
            raise
        except BaseException:
            count.status = 500
            raise
        finally:
            if count.is_due:
                self._metrics.requests.labels(name, str(count.status)).inc()
                self._metrics.seconds.labels(name).observe(asyncio.get_running_loop().time() - begin)


async def _left(request: Request) -> None:
    """Returns when the client closes its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
