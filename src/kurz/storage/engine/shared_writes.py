"""Writes of several callers in one transaction, for PostgreSQL: the callers that wait while other
transactions are in progress share the next one."""

import asyncio
import contextvars
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kurz.errors import StoreUnavailable
from kurz.storage.engine.database import MOST_TOGETHER, A, SharedQuery, T

# Transactions in progress for one query. A second one starts while the first waits for the disk.
# With more, each would be smaller.
AT_ONCE = 2

_Write = Callable[[SharedQuery[Any, Any], Sequence[Any]], Awaitable[Sequence[Any]]]
_Item = tuple[Any, asyncio.Future[Any]]


class SharedWrites:
    """`write` runs a query for several items in a transaction. If it fails for any reason but an
    outage, it runs again for each item alone. After an outage, the result may be unknown."""

    def __init__(self, write: _Write) -> None:
        self._write = write
        self._waiting: dict[SharedQuery[Any, Any], deque[_Item]] = {}
        self._running: Counter[SharedQuery[Any, Any]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many wait for a transaction."""
        return sum(map(len, self._waiting.values()))

    async def run(self, query: SharedQuery[A, T], item: A, seconds: float) -> T:
        """Raises `TimeoutError` if it takes longer than `seconds`."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(query, deque()).append((item, answer))
        if self._running[query] < AT_ONCE:
            self._running[query] += 1
            # It starts in the next turn of the loop, so it has everything from this turn. Nothing
            # that only one of the callers has set applies to it.
            task = asyncio.create_task(self._drain(query), context=contextvars.Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        async with asyncio.timeout(seconds):
            return await answer

    async def close(self) -> None:
        """Returns when no write is waiting or in progress."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _drain(self, query: SharedQuery[Any, Any]) -> None:
        try:
            while items := self._take(query):
                await self._write_all(query, items)
        finally:
            # In the same turn of the loop as the last `_take`: who comes later starts a new task.
            self._running[query] -= 1

    async def _write_all(self, query: SharedQuery[Any, Any], items: list[_Item]) -> None:
        answers = [answer for _, answer in items]
        try:
            results = await self._write(query, [item for item, _ in items])
        except StoreUnavailable as outage:
            for answer in answers:
                _fail(answer, outage)
        except Exception as error:  # noqa: BLE001  every error is passed to the caller
            await self._write_alone(query, items, error)
        else:
            for answer, result in zip(answers, results, strict=True):
                if not answer.done():  # otherwise its caller has left; the write is kept
                    answer.set_result(result)

    async def _write_alone(
        self, query: SharedQuery[Any, Any], items: list[_Item], error: Exception
    ) -> None:
        """Writes each item alone, after an error that rolled back all of them."""
        for item, answer in items:
            if len(items) == 1:
                _fail(answer, error)
                continue
            try:
                (result,) = await self._write(query, [item])
            except Exception as own:  # noqa: BLE001
                _fail(answer, own)
            else:
                if not answer.done():
                    answer.set_result(result)

    def _take(self, query: SharedQuery[Any, Any]) -> list[_Item]:
        """The next items that somebody still waits for."""
        waiting, taken = self._waiting[query], list[_Item]()
        while waiting and len(taken) < MOST_TOGETHER:
            item = waiting.popleft()
            if not item[1].done():
                taken.append(item)
        return taken


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
