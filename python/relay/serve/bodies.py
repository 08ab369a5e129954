"""Bodies of HTTP requests, which are read up to a limit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .intake import Intake
from .problems import Refused
from .settings import Settings

_REST = 1.0  # seconds for the rest of a body that is not needed


class ReadsTheRest:
    """Ends an early answer only when the rest of the request's body was read, or after a second. If bytes are unread
    when a connection is closed, the system resets it, and the client may lose the answer."""

    def __init__(self, application: ASGIApp):
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._application(scope, receive, send)
        headers = dict(scope["headers"])
        is_unread = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers

        async def received() -> Message:
            nonlocal is_unread
            message = await receive()
            is_unread = is_unread and message["type"] == "http.request" and message.get("more_body", False)
            return message

        async def sent(message: Message) -> None:
            if is_unread and message["type"] == "http.response.body" and not message.get("more_body", False):
                await send(message | {"more_body": True})
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_REST):
                        while is_unread:
                            await received()
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await self._application(scope, received, sent)


@contextlib.asynccontextmanager
async def reading(request: Request, intake: Intake, settings: Settings, deadline: float) -> AsyncIterator[bytearray]:
    """Yields the body of a request, whose bytes count until the end of the block. Raises Refused for a body that is
    too long (413), too slow (408), compressed (415), or more than the server has room for (503)."""
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise Refused(415, "the request is compressed", "send it without Content-Encoding")
    body = bytearray()
    try:
        await _read(request, body, intake, settings.max_body, deadline)
        yield body
    finally:
        intake.free(len(body))


async def _read(request: Request, body: bytearray, intake: Intake, most: int, deadline: float) -> None:
    """Appends the request's body to `body`."""
    declared = int(request.headers.get("Content-Length", 0))  # digits, as the HTTP library checked
    if declared > most:
        raise _too_long(declared, most)
    try:
        async with asyncio.timeout_at(deadline):
            async for chunk in request.stream():
                if len(body) + len(chunk) > most:
                    raise _too_long(len(body) + len(chunk), most)
                intake.take(len(chunk))
                body += chunk
    except TimeoutError:
        raise Refused(408, "the body did not arrive in time", "send it faster, or send less") from None
    except ClientDisconnect:
        raise Refused(400, "the body ends too early", "send as many bytes as Content-Length says") from None


def _too_long(size: int, most: int) -> Refused:
    return Refused(
        413,
        f"the request has {size} bytes, but at most {most} are read",
        "send less, or start the server with --max-body",
    )
