"""What is checked before a route sees a request: the size and the type of its body."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kurz.api.problems import BodyTooLarge, MediaTypeUnsupported, respond

MAX_BODY_BYTES = 16 * 1024
# What `curl -d` and a shell's HTTP client send when nobody tells them a type.
PLAIN_TYPES = frozenset({"", "text/plain", "application/x-www-form-urlencoded"})
JSON_TYPES = frozenset({"application/json"})

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class BodyGuard:
    """Refuses bodies of another type than the path takes, and large ones while they arrive."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "PUT", "PATCH"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        accepted = PLAIN_TYPES if scope["path"] == "/" else JSON_TYPES
        media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0]
        if media_type.strip().lower() not in accepted or b"content-encoding" in headers:
            named = ", ".join(sorted(filter(None, accepted)))
            error = MediaTypeUnsupported(f"Send the body uncompressed, as {named}.")
            await respond(error)(scope, receive, send)
            return
        try:
            body = await _read(receive, headers.get(b"content-length", b""))
        except BodyTooLarge as refused:
            await respond(refused, {"connection": "close"})(scope, receive, send)
        except ConnectionAbortedError:  # half a body is no body: there is nobody to answer either
            return
        else:
            await self._app(scope, _replay(body, receive), send)


async def _read(receive: Receive, announced: bytes) -> bytes:
    """The whole body, or `BodyTooLarge` as soon as that is known."""
    too_large = BodyTooLarge(f"A body has at most {MAX_BODY_BYTES} bytes.")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        raise too_large
    chunks = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY_BYTES:
            raise too_large
        more = message.get("more_body", False)
    return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed
