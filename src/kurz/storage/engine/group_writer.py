"""The only thread that writes to SQLite. Calls that wait at the same time share a transaction, and
so one disk sync. Each is answered after that sync."""

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.freshness.routes import Change
from kurz.storage.engine.changes import take_changes
from kurz.storage.engine.database import MOST_TOGETHER, A, P, Query, SharedQuery, T
from kurz.storage.engine.turnstile import Turnstile

# A write transaction blocks other processes from writing: after this time no more calls join it.
GROUP_SECONDS = 0.025
FRESH_SECONDS = 0.1  # a call that has waited less gets the full time for a lock


@dataclass(slots=True)
class _Call:
    work: Callable[[sa.Connection], Any]
    answer: asyncio.Future[Any]
    requested_at: float
    shared: SharedQuery[Any, Any] | None = None  # with this item
    item: Any = None
    result: Any = None
    error: BaseException | None = None


class GroupWriter:
    """Belongs to the event loop that first uses it. Calls collect in the loop while the thread is
    busy, and are handed over together at the end of a turn. If each call woke the thread, it would
    commit small groups and compete with the loop for the interpreter (`docs/adr/0004-storage.md`).

    `translate` turns a driver's error into the outage behind it, or None. An outage fails every
    call of the group; any other error fails only its own call, which is undone alone. `check`
    raises if nothing may be written. `tell` gets what was committed, in the loop, before the
    callers do. `busy_seconds` is how long a call may wait for a lock that another process holds.
    Writers of all processes queue for that lock at the `turnstile`."""

    def __init__(
        self,
        engine: sa.Engine,
        translate: Callable[[BaseException], StoreUnavailable | None],
        check: Callable[[], None],
        tell: Callable[[Sequence[Change]], None],
        busy_seconds: float,
        turnstile: Turnstile,
    ) -> None:
        self._engine = engine
        self._check = check
        self._tell = tell
        self._busy_seconds = busy_seconds
        self._turnstile = turnstile
        self._translate = translate
        self._gathered: list[_Call] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        self._groups: queue.SimpleQueue[list[_Call] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.writes = 0
        self.commits = 0

    async def run(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        answer = self._new_answer()
        self._gathered.append(
            _Call(lambda connection: query(connection, *args, **kwargs), answer, time.monotonic())
        )
        result: T = await answer
        return result

    async def run_together(self, query: SharedQuery[A, T], item: A) -> T:
        answer = self._new_answer()
        self._gathered.append(
            _Call(
                lambda connection: query(connection, [item])[0],
                answer,
                time.monotonic(),
                query,
                item,
            )
        )
        result: T = await answer
        return result

    def _new_answer(self) -> asyncio.Future[Any]:
        """The answer to a call that is added to the queue in the same iteration of the loop."""
        if self._is_closed:
            raise StoreUnavailable("The database is closing.")
        loop = asyncio.get_running_loop()
        if self._idle.is_set():
            self._idle.clear()
            loop.call_soon(self._hand_over, loop)
        return loop.create_future()

    async def close(self) -> None:
        """Finishes the waiting calls, then stops the thread."""
        self._is_closed = True
        await self._idle.wait()
        if self._thread is not None:
            self._groups.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._thread is None:  # started late, so that no connection exists before a fork
            self._thread = threading.Thread(
                target=self._write, args=(loop,), name="kurz-write", daemon=True
            )
            self._thread.start()
        self._groups.put(self._gathered)
        self._gathered = []

    def _deliver(
        self, loop: asyncio.AbstractEventLoop, calls: list[_Call], changes: list[Change]
    ) -> None:
        if changes:
            self._tell(changes)
        for call in calls:
            if call.answer.cancelled():  # the caller has left; the write stays
                continue
            if call.error is not None:
                call.answer.set_exception(call.error)
            else:
                call.answer.set_result(call.result)
        if self._gathered:
            self._hand_over(loop)
        else:
            self._idle.set()

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        connection: sa.Connection | None = None
        while (calls := self._groups.get()) is not None:
            waiting = deque(calls)
            changes: list[Change] = []
            while waiting:
                group: list[_Call] = []
                try:
                    self._check()
                    connection = connection or self._engine.connect()
                    changes += self._commit_group(connection, waiting, group)
                except Exception as error:  # noqa: BLE001  whatever it was, the callers are told
                    _discard(connection)
                    connection = None
                    self._fail([*group, *waiting], error)
                    break  # the rest have waited as long, and would fail the same way
            loop.call_soon_threadsafe(self._deliver, loop, calls, changes)
        if connection is not None:
            connection.close()

    def _commit_group(
        self, connection: sa.Connection, waiting: deque[_Call], group: list[_Call]
    ) -> list[Change]:
        """Runs one transaction with as many calls as its time allows; they move to `group`. Returns
        their rows of the change log."""
        driver: Any = connection.connection.driver_connection
        calls = _take_next(waiting)
        group += calls
        self._begin(driver, group[0].requested_at)
        ends_at = time.monotonic() + GROUP_SECONDS
        try:
            _perform(connection, calls)
            while waiting and time.monotonic() < ends_at:
                calls = _take_next(waiting)
                group += calls
                _perform(connection, calls)
            changes = take_changes(connection)
        except Exception as error:
            if self._translate(error) is not None:
                raise
            # One call failed by its own fault. Queries only affect the database, so all of them can
            # run again, now with a savepoint each. That is cheaper than a savepoint for every call
            # at first.
            driver.execute("ROLLBACK")
            self._begin(driver, time.monotonic())
            take_changes(connection)
            changes = []
            for call in group:
                changes += self._perform_alone(connection, driver, call)
        driver.execute("COMMIT")
        self.writes += len(group)
        self.commits += 1
        return changes

    def _begin(self, driver: Any, requested_at: float) -> None:
        """Takes the lock. A call that already waited behind others has less time left."""
        with self._turnstile.front(requested_at + self._busy_seconds):
            waited = time.monotonic() - requested_at
            if waited < FRESH_SECONDS:
                driver.execute("BEGIN IMMEDIATE")
                return
            left = max(self._busy_seconds - waited, 0.0)
            driver.execute(f"PRAGMA busy_timeout={left * 1000:.0f}")
            try:
                driver.execute("BEGIN IMMEDIATE")
            finally:
                driver.execute(f"PRAGMA busy_timeout={self._busy_seconds * 1000:.0f}")

    def _perform_alone(self, connection: sa.Connection, driver: Any, call: _Call) -> list[Change]:
        driver.execute("SAVEPOINT work")
        try:
            call.result = call.work(connection)
        except Exception as error:
            if self._translate(error) is not None:
                raise
            call.error = error
            driver.execute("ROLLBACK TO work")
        driver.execute("RELEASE work")
        changes = take_changes(connection)
        return changes if call.error is None else []

    def _fail(self, calls: Iterable[_Call], error: BaseException) -> None:
        outage = self._translate(error)
        if outage is not None:
            outage.__cause__ = error
        for call in calls:
            call.error = outage or error


def _take_next(waiting: deque[_Call]) -> list[_Call]:
    """The next call, with those directly after it that share its query."""
    calls = [waiting.popleft()]
    shared = calls[0].shared
    while (
        shared is not None
        and waiting
        and waiting[0].shared is shared
        and len(calls) < MOST_TOGETHER
    ):
        calls.append(waiting.popleft())
    return calls


def _perform(connection: sa.Connection, calls: list[_Call]) -> None:
    shared = calls[0].shared
    if shared is None:
        calls[0].result = calls[0].work(connection)
        return
    results = shared(connection, [call.item for call in calls])
    for call, result in zip(calls, results, strict=True):
        call.result = result


def _discard(connection: sa.Connection | None) -> None:
    """Gives up a connection after an outage; closing rolls back what it had begun."""
    if connection is None:
        return
    try:
        connection.close()
    except sa.exc.DBAPIError:
        connection.invalidate()
