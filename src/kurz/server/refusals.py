"""Answers to bytes that never become a request: invalid HTTP, endless heads."""

import json
from http import HTTPStatus
from typing import NamedTuple

from kurz.errors import Invalid, Kind, KurzError, problem
from kurz.headers import POLICY, SECURITY_HEADERS, STRICTEST_POLICY
from kurz.server.body_rate import MIN_BYTES_PER_SECOND

MAX_HEAD_BYTES = 16 * 1024


class RequestUnreadable(Invalid):
    title = "Invalid HTTP request"


class RequestTooSlow(Invalid):
    title = "Request too slow"


class HeadTooLong(Invalid):
    title = "Request headers too large"


class TooManyConnections(KurzError):
    kind = Kind.UNAVAILABLE
    title = "Too many connections"


class Refusal(NamedTuple):
    status: int
    error: KurzError
    retry_seconds: int | None = None

    def to_bytes(self, default_headers: list[tuple[bytes, bytes]]) -> bytes:
        """The whole answer, after which the connection is closed."""
        body = json.dumps(problem(self.error, self.status)).encode()
        headers = [
            *default_headers,
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            *SECURITY_HEADERS,
            (POLICY, STRICTEST_POLICY),
            (b"connection", b"close"),
        ]
        if self.retry_seconds is not None:
            headers.append((b"retry-after", b"%d" % self.retry_seconds))
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()]
        lines += [b": ".join(pair) for pair in headers]
        return b"\r\n".join([*lines, b"", body])


UNREADABLE = Refusal(400, RequestUnreadable("The request is not valid HTTP/1.1."))
HEAD_TOO_SLOW = Refusal(408, RequestTooSlow("The request's headers did not arrive in time."))
BODY_TOO_SLOW = Refusal(
    408,
    RequestTooSlow(
        f"The request's body must arrive at {MIN_BYTES_PER_SECOND} bytes a second or more."
    ),
)
HEAD_TOO_LONG = Refusal(
    431,
    HeadTooLong(
        f"Headers and trailers can have at most {MAX_HEAD_BYTES} bytes in total. Send fewer"
        " cookies or a shorter URL."
    ),
)
NO_ROOM = Refusal(
    503,
    TooManyConnections("All connections of the server are in use. Try again in a few seconds."),
    retry_seconds=5,
)
