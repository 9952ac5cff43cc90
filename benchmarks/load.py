"""A load generator on one core: keep-alive connections that each wait for their answer."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast


@dataclass
class Result:
    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    latencies_ms: list[float] = field(default_factory=list)
    failed: int = 0

    @property
    def answers(self) -> int:
        return sum(self.statuses.values())


CountFailed = Callable[[int, bytes], int]  # by the status and the body of an answer


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the answer to the last one is whole."""

    def __init__(
        self,
        request: Callable[[], bytes],
        result: Result,
        ends_at: float,
        count_failed: CountFailed,
    ) -> None:
        self._request = request
        self._result = result
        self._ends_at = ends_at
        self._count_failed = count_failed
        self._waiting = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        head_end = self._waiting.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self._waiting[:head_end].lower()
        start = head.find(b"content-length:")
        length = int(head[start + 15 :].partition(b"\r\n")[0]) if start >= 0 else 0
        if len(self._waiting) < head_end + 4 + length:
            return
        now = time.perf_counter()
        status = int(self._waiting[9:12])
        self._result.statuses[status] = self._result.statuses.get(status, 0) + 1
        self._result.latencies_ms.append((now - self._sent_at) * 1000)
        self._result.failed += self._count_failed(status, self._waiting[head_end + 4 :])
        self._waiting = b""
        if now < self._ends_at:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self.done.set_exception(error)
        elif not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._request())


async def drive(
    port: int,
    request: bytes | Callable[[], bytes],
    connections: int,
    seconds: float,
    count_failed: CountFailed = lambda _status, _body: 0,
) -> Result:
    """`connections` clients for `seconds`. `request` is sent each time, or returns the next one.
    `count_failed` says how much of what a request asked for has failed."""
    loop = asyncio.get_running_loop()
    make = (lambda: request) if isinstance(request, bytes) else request
    result = Result()
    started = time.perf_counter()
    ends_at = started + seconds

    async def one() -> None:
        _, protocol = await loop.create_connection(
            lambda: _Connection(make, result, ends_at, count_failed), "127.0.0.1", port
        )
        await protocol.done

    await asyncio.gather(*(one() for _ in range(connections)))
    result.seconds = time.perf_counter() - started
    return result
