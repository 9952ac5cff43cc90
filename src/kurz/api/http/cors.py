"""Pages of other origins that use the API (CORS), with a token or a key; never with a cookie.

Not with Starlette's middleware: it answers a preflight with 200 and a refused one with its own
text, and it lets pages of any origin read the answers to requests with a cookie.
"""

from kurz.asgi import AsgiApp, Message, Receive, Scope, Send

METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
SENT_HEADERS = b"Authorization, Content-Type, Idempotency-Key, If-Match, X-Api-Key"
EXPOSED_HEADERS = (
    b"Content-Disposition, ETag, Idempotency-Replayed, Link, Location, RateLimit,"
    b" RateLimit-Policy, Retry-After, X-Request-Id"
)
MAX_AGE_SECONDS = b"7200"  # the longest that Chrome accepts
ANY = "*"

Headers = list[tuple[bytes, bytes]]


class Cors:
    """Wraps the API. `POST /` and the probes are not meant for pages."""

    def __init__(self, app: AsgiApp, origins: tuple[str, ...]) -> None:
        self._app = app
        self._allows_all = ANY in origins
        self._origins = frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith("/api"):
            await self._app(scope, receive, send)
            return
        sent = dict(scope["headers"])
        headers = self._headers(sent)
        if scope["method"] == "OPTIONS" and headers and b"access-control-request-method" in sent:
            await _answer_preflight(headers, send)
            return
        if not self._allows_all:  # the answer differs between origins
            headers.append((b"vary", b"Origin"))

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self._app(scope, receive, send_with)

    def _headers(self, sent: dict[bytes, bytes]) -> Headers:
        """The headers that allow the page to read the answer; none if it may not."""
        origin = sent.get(b"origin")
        is_allowed = origin is not None and (self._allows_all or origin in self._origins)
        has_credential = b"authorization" in sent or b"x-api-key" in sent
        if origin is None or not is_allowed or (b"cookie" in sent and not has_credential):
            return []
        return [
            (b"access-control-allow-origin", b"*" if self._allows_all else origin),
            (b"access-control-expose-headers", EXPOSED_HEADERS),
        ]


async def _answer_preflight(headers: Headers, send: Send) -> None:
    (allowed, _) = headers
    answer = [
        allowed,
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", SENT_HEADERS),
        (b"access-control-max-age", MAX_AGE_SECONDS),
        (b"vary", b"Origin"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": answer})
    await send({"type": "http.response.body", "body": b""})
