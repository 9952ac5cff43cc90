"""The queue of requests that spend the same quota. On PostgreSQL, a quota's row is locked until its
transaction ends. Requests that wait there hold connections that others need, and use up their
database deadline. So the requests of one process wait here, outside the database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from kurz.errors import StoreBusy
from kurz.people.quotas import Allowance

MAX_SECONDS = 5.0  # a commit takes some milliseconds: hundreds are ahead of this one


class QuotaTurns:
    """First come, first served, for each subject of a quota."""

    def __init__(self, max_seconds: float = MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def take(self, allowances: Sequence[Allowance]) -> AsyncIterator[None]:
        """`StoreBusy`: the wait was too long. Subjects are taken in a fixed order, so that no two
        callers wait for each other."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._max_seconds):
                    for subject in sorted({it.subject for it in allowances}):
                        await stack.enter_async_context(self._take(subject))
            except TimeoutError:
                raise StoreBusy(
                    "Too many links are being created under the same quota. Try again later."
                ) from None
            yield

    @asynccontextmanager
    async def _take(self, subject: str) -> AsyncIterator[None]:
        lock, users = self._locks.get(subject, (asyncio.Lock(), 0))
        self._locks[subject] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[subject]
            if users == 1:
                del self._locks[subject]
            else:
                self._locks[subject] = lock, users - 1
