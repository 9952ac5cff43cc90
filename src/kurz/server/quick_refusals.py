"""Refuses POSTs above a limit from the bytes of the request. This costs a fifth of the ASGI path,
which would take half of a worker's time at three times its maximum load."""

import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Protocol

from kurz.headers import HSTS, POLICY, SECURITY_HEADERS, STRICTEST_POLICY
from kurz.people.workspaces import Site
from kurz.request_parser import WholeRequestParser
from kurz.server.overload import HEADERS, BoundedWork
from kurz.server.request_ids import next_request_id

MAX_QUICK_BYTES = 16 * 1024
_VERSION = b" HTTP/1.1\r\n"  # for others, the connection is closed after the answer
_HOST, _ORIGIN = b"\r\nhost:", b"\r\norigin:"


class KnownHosts(Protocol):
    @property
    def known(self) -> Mapping[bytes, Site]:
        """By exact Host header."""


class QuickRefusals:
    """The lane asks this about chunks that are not for it."""

    def __init__(
        self,
        bounded: BoundedWork,
        hosts: KnownHosts,
        hsts_seconds: int = 0,
    ) -> None:
        self.answers = 0
        self._hosts = hosts
        self._hsts_seconds = hsts_seconds
        self._bounded = bounded
        self._parser = WholeRequestParser()
        self._start = b""
        self._renew_at = 0.0

    def answer(self, data: bytes) -> bytes | None:
        """None: the chunk is not one whole request that is refused."""
        end = data.find(b" ", 5)
        if (
            data[:6] != b"POST /"
            or len(data) > MAX_QUICK_BYTES
            or not data.startswith(_VERSION, end)
        ):
            return None
        target = data[5:end].partition(b"?")[0]
        work = self._bounded.work_without_slot("POST", target.decode("latin-1"))
        if work is None or not self._is_for_api(data) or not self._parser.is_whole(data):
            return None
        body = self._bounded.refuse(work)
        self.answers += 1
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + 1.0
            self._start = _start_of_answer(self._hsts_seconds)
        request_id = next_request_id().encode()
        return b"%s%d\r\nx-request-id: %s\r\n\r\n%s" % (
            self._start,
            len(body),
            request_id,
            body,
        )

    def _is_for_api(self, data: bytes) -> bool:
        """Whether the API would certainly answer, without extra headers for pages of other origins.
        A workspace's own domain has no API."""
        head = data.lower()
        start = head.find(_HOST) + len(_HOST)
        if start < len(_HOST) or _HOST in head[start:] or _ORIGIN in head:
            return False
        site = self._hosts.known.get(data[start : data.find(b"\r\n", start)].strip(b" \t"))
        return site is not None and not site.is_custom_domain


def _start_of_answer(hsts_seconds: int) -> bytes:
    """The head of the application's refusal, without its length. It is built once a second."""
    headers = [
        (b"date", formatdate(usegmt=True).encode()),
        *HEADERS,
        *SECURITY_HEADERS,
        (POLICY, STRICTEST_POLICY),
    ]
    if hsts_seconds:
        headers.append((HSTS, b"max-age=%d" % hsts_seconds))
    lines = [b"%s: %s" % header for header in headers]
    return b"\r\n".join([b"HTTP/1.1 503 Service Unavailable", *lines, b"content-length: "])
