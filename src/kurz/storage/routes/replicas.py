"""Replicas of PostgreSQL: what they are asked, and when their answers may be used."""

from collections import deque
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from kurz.breaker import Breaker
from kurz.errors import StoreUnavailable
from kurz.freshness.recent_writes import RecentWrites
from kurz.freshness.routes import Route
from kurz.rounds import Rounds
from kurz.storage.engine.database import Database, P, Query, T
from kurz.storage.engine.deadlines import USUAL, Deadlines, deadline
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.routes.lookups import Lookups

RECORD_SECONDS = 1.0
MAX_POSITIONS = 60  # a replica that is further behind is not used
LOOKUP_SHARE = 0.4  # of the time that a lookup has, before the primary is asked
LIST_SECONDS = 1.0  # likewise


class Replica:
    """One server, and whether it answers. A list that is too slow does not stop lookups there."""

    def __init__(self, url: str, deadlines: Deadlines = USUAL) -> None:
        self.database = PostgresDatabase(url, is_replica=True)
        self.lookups = Lookups(
            self.database.hosts,
            is_replica=True,
            seconds=LOOKUP_SHARE * deadlines.lookup_seconds,
        )
        self.lists_breaker = Breaker("replica lists")
        self.lookups_breaker = Breaker("replica lookups")

    async def close(self) -> None:
        self.lookups.close()
        await self.database.close()


class Replicas:
    """Replicas are asked in turn; one that is down is not asked for a while. The answer None sends
    the caller to the primary: the replicas are down, or behind the changes that this process has
    read."""

    def __init__(
        self, members: Sequence[Replica], primary: Database, recent_writes: RecentWrites
    ) -> None:
        self._members = deque(members)
        self._primary = primary
        self._recent_writes = recent_writes
        self._positions = XidPositions()
        self._recording = Rounds("recording positions", self.record_position, RECORD_SECONDS)
        self._answers = self._behind = self._errors = 0

    def counts(self) -> dict[str, int]:
        return {
            "replica_answers": self._answers,
            "replica_behind": self._behind,
            "replica_errors": self._errors,
        }

    def start(self) -> None:
        """To be called when the feed has started. Before that, no replica is used, because missing
        changes would not be noticed."""
        self._recording.start()

    async def close(self) -> None:
        await self._recording.stop()
        for replica in self._members:
            await replica.close()

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        """None also for a code that the replica does not know: it may be new."""
        replica = self._next(lambda it: it.lookups_breaker)
        if replica is None:
            return None
        try:
            route, seen_xid = await replica.lookups.find(workspace_id, short_code)
        except Exception as error:  # noqa: BLE001  whatever it is, the primary can tell
            replica.lookups_breaker.note_failure(error)
            self._errors += 1
            return None
        replica.lookups_breaker.note_success()
        position = self._positions.position_at(seen_xid)
        if route is None or not self._recent_writes.is_current(
            workspace_id, short_code, route, position
        ):
            self._behind += 1
            return None
        self._answers += 1
        return route

    async def read(
        self,
        workspace_id: int,
        query: Query[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | None:
        """A query about links of a workspace: its answer contains every change of them that was
        read."""
        needed = self._recent_writes.required_position(workspace_id)
        replica = None if needed is None else self._next(lambda it: it.lists_breaker)
        if needed is None or replica is None:
            return None

        def read_if_whole(connection: sa.Connection) -> T | None:
            if not is_following(connection):
                raise StoreUnavailable("The server is no longer a replica.")
            if self._positions.position_at(_seen_xid(connection)) < needed:
                return None
            return query(connection, *args, **kwargs)

        try:
            with deadline(LIST_SECONDS):
                answer = await replica.database.read(read_if_whole)
        except Exception as error:  # noqa: BLE001  whatever it is, the primary can tell
            replica.lists_breaker.note_failure(error)
            self._errors += 1
            return None
        replica.lists_breaker.note_success()
        if answer is None:
            self._behind += 1
        else:
            self._answers += 1
        return answer

    async def record_position(self) -> None:
        position = self._recent_writes.position
        self._positions.add(await self._primary.read(_next_xid), position)

    def _next(self, breaker: Callable[[Replica], Breaker]) -> Replica | None:
        self._members.rotate(-1)
        return next((it for it in self._members if breaker(it).may_try()), None)


class XidPositions:
    """The primary's next transaction when the change log had been read up to a number. A snapshot
    that has seen the end of all transactions before it contains all those changes. Row numbers
    alone do not prove that, because rows may become visible in another order."""

    def __init__(self) -> None:
        self._positions: deque[tuple[int, int]] = deque(maxlen=MAX_POSITIONS)

    def add(self, next_xid: int, position: int) -> None:
        if not self._positions or self._positions[-1] != (next_xid, position):
            self._positions.append((next_xid, position))

    def position_at(self, seen_xid: int) -> int:
        """-1: not known."""
        return max((position for xid, position in self._positions if xid <= seen_xid), default=-1)


def is_following(connection: sa.Connection) -> bool:
    """False on a primary, which a replica becomes when it is promoted."""
    return bool(connection.execute(sa.text("SELECT pg_is_in_recovery()")).scalar_one())


def _next_xid(connection: sa.Connection) -> int:
    query = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    return int(connection.execute(sa.text(query)).scalar_one())


def _seen_xid(connection: sa.Connection) -> int:
    query = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    return int(connection.execute(sa.text(query)).scalar_one())
