"""The read path's lookups on PostgreSQL, with the driver directly and on their own connections: no
other query, however slow, delays a redirect."""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, NamedTuple

import asyncpg

from kurz.freshness.routes import Route
from kurz.storage.engine.deadlines import USUAL
from kurz.storage.engine.errors import translate, unreachable
from kurz.storage.engine.hosts import CONNECT_SECONDS, PostgresHosts
from kurz.storage.routes.sqlite import ROUTE

TRIES = 3  # both connections may be lost
MAX_BATCH = 100
MAX_WAITING = 1000
LAST_LOOK_SECONDS = 0.005  # for an answer that came while this process itself was paused
IDLE_SECONDS = 60.0
# A read-only server may have been replaced by now, and its data may be old. A new connection to its
# address finds the successor; so a connection to a read-only server is kept only this long.
READ_ONLY_SECONDS = 1.0

# A plan lives as long as its connection. A plan made while the table was small would read the whole
# table later; so only index scans are allowed.
_SESSION = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
# The snapshot is that of the whole statement: of every transaction below its `xmin` it has seen the
# end.
_STATEMENT = f"""
SELECT (SELECT pg_is_in_recovery()),
    current_setting('transaction_read_only') = 'on',
    (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint),
    {", ".join(map(str, ROUTE))}
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked(workspace, code, number)
LEFT JOIN links ON links.workspace_id = asked.workspace AND links.short_code = asked.code
ORDER BY asked.number
"""  # noqa: S608  the names are those of our schema


class LookupAnswer(NamedTuple):
    """What a server knows of a code; all transactions below `seen_xid` have ended for it."""

    route: Route | None
    seen_xid: int


class _Asked:
    __slots__ = ("answer", "short_code", "tries_left", "workspace_id")

    def __init__(self, workspace_id: int, short_code: str) -> None:
        self.workspace_id = workspace_id
        self.short_code = short_code
        self.answer: asyncio.Future[LookupAnswer] = asyncio.get_running_loop().create_future()
        self.tries_left = TRIES


class Lookups:
    """Lookups that come in one turn of the event loop, or while a query is running, share a query.
    A primary that has become a standby is not trusted, nor a promoted replica. A read-only primary
    is, for a moment at a time, unless it says that there is no such link."""

    def __init__(
        self,
        hosts: PostgresHosts,
        *,
        is_replica: bool = False,
        seconds: float = USUAL.lookup_seconds,
    ) -> None:
        self.seconds = seconds
        self._hosts = hosts
        self._is_replica = is_replica
        self._waiting: dict[_Asked, None] = {}
        self._lines = [_Line(seconds, None), _Line(seconds, IDLE_SECONDS)]
        self._is_woken = False
        self.lookups = self.queries = self.timeouts = 0

    async def find(
        self, workspace_id: int, short_code: str, seconds: float | None = None
    ) -> LookupAnswer:
        """`StoreUnavailable` at the latest after that time (default: `self.seconds`), and a last
        check for an answer."""
        if len(self._waiting) >= MAX_WAITING:
            raise unreachable()
        loop = asyncio.get_running_loop()
        asked = _Asked(workspace_id, short_code)
        self._waiting[asked] = None
        self.lookups += 1
        if not self._is_woken:
            self._is_woken = True
            loop.call_soon(self._serve)
        timer = loop.call_later(
            seconds or self.seconds, loop.call_later, LAST_LOOK_SECONDS, self._give_up, asked
        )
        try:
            return await asked.answer
        finally:
            timer.cancel()
            self._waiting.pop(asked, None)

    @property
    def connections(self) -> int:
        return sum(line.is_connected for line in self._lines)

    def close(self) -> None:
        for line in self._lines:
            line.close()

    def _give_up(self, asked: _Asked) -> None:
        if not asked.answer.done():
            self.timeouts += 1
            asked.answer.set_exception(unreachable())

    def _serve(self) -> None:
        """Gives waiting lookups to free lines. Connects one more if that is not enough."""
        self._is_woken = False
        for line in self._lines:
            if self._waiting and line.is_connected and not line.is_busy:
                batch = list(self._waiting)[:MAX_BATCH]
                for asked in batch:
                    del self._waiting[asked]
                line.start(self._work(line, batch))
        is_connecting = any(line.is_busy and not line.is_connected for line in self._lines)
        if self._waiting and not is_connecting:
            for line in self._lines:
                if not line.is_connected:
                    line.start(self._connect(line))
                    break

    async def _connect(self, line: "_Line") -> None:
        try:
            await line.connect(self._hosts)
        except Exception as error:  # noqa: BLE001  those who wait are told
            if not self.connections:
                _fail(self._waiting, error)
        line.rest()
        self._serve()

    async def _work(self, line: "_Line", batch: Sequence[_Asked]) -> None:
        await self._ask(line, batch)
        line.rest()
        self._serve()

    async def _ask(self, line: "_Line", batch: Sequence[_Asked]) -> None:
        self.queries += 1
        for asked in batch:
            asked.tries_left -= 1
        try:
            rows = await line.fetch(batch)
            if not self._believes(line, rows[0]):
                line.hang_up()
                raise unreachable()
        except Exception as error:  # noqa: BLE001  those who wait are told
            await self._ask_again(line, batch, error)
            return
        for asked, (_, is_read_only, seen_xid, *columns) in zip(batch, rows, strict=True):
            if asked.answer.done():
                continue
            if columns[0] is not None:
                asked.answer.set_result(LookupAnswer(Route(*columns), seen_xid))
            elif is_read_only and not self._is_replica:
                asked.answer.set_exception(unreachable())
            else:
                asked.answer.set_result(LookupAnswer(None, seen_xid))

    def _believes(self, line: "_Line", row: Sequence[Any]) -> bool:
        is_in_recovery, is_read_only = row[:2]
        if self._is_replica or is_in_recovery:
            return self._is_replica and is_in_recovery
        return not is_read_only or line.age_seconds < READ_ONLY_SECONDS

    async def _ask_again(self, line: "_Line", batch: Sequence[_Asked], error: Exception) -> None:
        """Uses another connection if this one is lost: its server may have been restarted. A code
        that PostgreSQL cannot parse fails alone."""
        if isinstance(error, asyncpg.InvalidCachedStatementError):  # the schema was changed
            line.hang_up()
        if not line.is_connected:
            again = [asked for asked in batch if asked.tries_left > 0]
            self._waiting = dict.fromkeys((*again, *self._waiting))
            _fail((asked for asked in batch if asked not in self._waiting), error)
        elif translate(error) is None and len(batch) > 1:
            for asked in batch:
                await self._ask(line, [asked])
        else:
            _fail(batch, error)


class _Line:
    """A connection, or a place for one, with its current work."""

    def __init__(self, query_seconds: float, idle_seconds: float | None) -> None:
        self._query_seconds = query_seconds
        self._idle_seconds = idle_seconds
        self._connection: asyncpg.Connection | None = None
        self._statement: Any = None
        self._connected_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._end: asyncio.TimerHandle | None = None

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    @property
    def age_seconds(self) -> float:
        return time.monotonic() - self._connected_at

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(work)

    async def connect(self, hosts: PostgresHosts) -> None:
        millis = str(round(self._query_seconds * 1000))
        connection = await hosts.connect({**_SESSION, "statement_timeout": millis})
        self._hang_up_after(max(CONNECT_SECONDS, self._query_seconds), connection)
        try:
            self._statement = await connection.prepare(_STATEMENT)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection
        self._connected_at = time.monotonic()

    async def fetch(self, batch: Sequence[_Asked]) -> Sequence[Sequence[Any]]:
        # By then the server itself should have cancelled it.
        self._hang_up_after(2 * self._query_seconds, self._connection)
        rows: Sequence[Sequence[Any]] = await self._statement.fetch(
            [asked.workspace_id for asked in batch], [asked.short_code for asked in batch]
        )
        return rows

    def rest(self) -> None:
        self._task = None
        self._hang_up_after(self._idle_seconds, self._connection)

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    def close(self) -> None:
        self._hang_up_after(None, None)
        if self._task is not None:
            self._task.cancel()
        self.hang_up()

    def _hang_up_after(self, seconds: float | None, connection: asyncpg.Connection | None) -> None:
        """Replaces the earlier timer."""
        if self._end is not None:
            self._end.cancel()
            self._end = None
        if seconds is not None and connection is not None:
            self._end = asyncio.get_running_loop().call_later(seconds, connection.terminate)


def _fail(batch: Iterable[_Asked], error: Exception) -> None:
    for asked in batch:
        if not asked.answer.done():
            asked.answer.set_exception(translate(error) or error)
