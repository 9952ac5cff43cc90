"""Checks the size of a body before a route sees the request."""

from starlette.exceptions import HTTPException

from kurz.api.http.problems import MAX_BODY_BYTES, MAX_MANY_BYTES, TOO_LARGE, respond
from kurz.asgi import AsgiApp, Message, Receive, Scope, Send

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_MANY = ("/bulk", "/claims", "/api/urls/sync")
_STREAMED = "/links/import"  # read row by row, each of which has a limit


def _most(path: str) -> int | None:
    """Bytes that a body at this path may have; None: it is not held in memory."""
    if path.endswith(_STREAMED):
        return None
    return MAX_MANY_BYTES if path.endswith(_MANY) else MAX_BODY_BYTES


class BodyGuard:
    """Refuses a large body before it is read, or while it arrives."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            # Answered like GET; the server does not send the body.
            await self._app({**scope, "method": "GET"}, receive, send)
            return
        if scope["method"] not in _WITH_BODY:
            await self._app(scope, receive, send)
            return
        most = _most(scope["path"])
        if most is None:
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length")
        if announced is None:
            receive = _Limited(receive, most).receive
        elif int(announced) > most:
            await respond(TOO_LARGE, {"connection": "close"})(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _Limited:
    """Counts a body of unknown length while it arrives. (The server enforces announced lengths.)"""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._size = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise HTTPException(413, headers={"connection": "close"})
        return message
