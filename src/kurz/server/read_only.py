"""Refuses what would change something, while a server is read-only."""

import json

from kurz.asgi import AsgiApp, Receive, Scope, Send
from kurz.errors import ServerReadOnly, StoreUnavailable, problem

STATUS = 503
READING = frozenset({"GET", "HEAD", "OPTIONS"})
_SENTENCE = "This server runs from a backup, so nothing can be changed. Try again later."


class ReadOnly:
    """Passes on only requests that read."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in READING:
            await self._app(scope, receive, send)
            return
        body = json.dumps(problem(ServerReadOnly(_SENTENCE), STATUS)).encode()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"retry-after", b"%d" % ServerReadOnly.retry_after_seconds),
        ]
        await send({"type": "http.response.start", "status": STATUS, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class NoClicksLeft:
    """Instead of the store of a click limit, which cannot be counted down."""

    async def spend_click(self, link_id: int) -> bool:  # noqa: ARG002
        raise StoreUnavailable(
            "Links with a click limit do not work while this server is read-only."
        )
