"""The one thread that writes to SQLite: calls that wait at the same time share a transaction, and
so one sync of the disk. Each is answered after that sync."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate

import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage.database import P, T

# A write transaction keeps other processes from writing: no more calls join one after this long.
GROUP_SECONDS = 0.025


@dataclass(slots=True)
class _Call:
    work: Callable[[sa.Connection], Any]
    answer: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class GroupWriter:
    """`translate` turns a driver's error into the outage behind it, or None. An outage fails every
    call of the group; any other error only the call that made it, which is undone alone."""

    def __init__(
        self, engine: sa.Engine, translate: Callable[[BaseException], StoreUnavailable | None]
    ) -> None:
        self._engine = engine
        self._translate = translate
        self._calls: deque[_Call] = deque()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self.writes = 0
        self.commits = 0

    async def run(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        answer = asyncio.get_running_loop().create_future()
        call = _Call(lambda connection: query(connection, *args, **kwargs), answer)
        with self._wake:
            if self._is_closing:
                raise StoreUnavailable("The database is closing.")
            if self._thread is None:  # started late, so that no connection exists before a fork
                self._thread = threading.Thread(target=self._write, name="kurz-write", daemon=True)
                self._thread.start()
            self._calls.append(call)
            self._wake.notify()
        result: T = await answer
        return result

    def close(self) -> None:
        """Finishes the calls that wait, then stops the thread."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()

    def _write(self) -> None:
        connection: sa.Connection | None = None
        while True:
            with self._wake:
                while not self._calls and not self._is_closing:
                    self._wake.wait()
                if not self._calls:
                    break
            group: list[_Call] = []
            try:
                if connection is None:
                    connection = self._engine.connect()
                self._commit_group(connection, group)
            except Exception as error:  # noqa: BLE001  whatever it was, the callers are told
                if connection is not None:
                    _discard(connection)
                    connection = None
                self._fail(group, self._translate(error) or error)
            _deliver(group)
        if connection is not None:
            connection.close()

    def _commit_group(self, connection: sa.Connection, group: list[_Call]) -> None:
        """One transaction for the calls that wait. `group` receives them as they are taken."""
        driver: Any = connection.connection.driver_connection
        self._take(group)
        driver.execute("BEGIN IMMEDIATE")
        ends_at = time.monotonic() + GROUP_SECONDS
        self._perform(connection, driver, group[0])
        while self._calls and time.monotonic() < ends_at:
            self._take(group)
            self._perform(connection, driver, group[-1])
        driver.execute("COMMIT")
        self.writes += len(group)
        self.commits += 1

    def _perform(self, connection: sa.Connection, driver: Any, call: _Call) -> None:
        driver.execute("SAVEPOINT work")
        try:
            call.result = call.work(connection)
        except Exception as error:
            if self._translate(error) is not None:
                raise
            call.error = error
            driver.execute("ROLLBACK TO work")
        driver.execute("RELEASE work")

    def _take(self, group: list[_Call]) -> None:
        group.append(self._calls.popleft())  # a deque: safe beside `append` in another thread

    def _fail(self, group: list[_Call], error: BaseException) -> None:
        if not group:  # no connection could be made: whoever waits is told
            while self._calls:
                self._take(group)
        for call in group:
            call.error = error


def _discard(connection: sa.Connection) -> None:
    """Closes the connection after an outage; closing rolls back what it had begun."""
    try:
        connection.close()
    except Exception:  # noqa: BLE001  the connection is being given up in any case
        connection.invalidate()


def _deliver(group: list[_Call]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Call]] = {}
    for call in group:
        by_loop.setdefault(call.answer.get_loop(), []).append(call)
    for loop, calls in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_answer, calls)


def _answer(calls: list[_Call]) -> None:
    for call in calls:
        if call.answer.cancelled():  # whoever asked has left; the write stands
            continue
        if call.error is not None:
            call.answer.set_exception(call.error)
        else:
            call.answer.set_result(call.result)
