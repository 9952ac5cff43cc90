"""The change log: one row per write of a link, left by that write's own transaction."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clock import SystemClock
from kurz.links.model import Change
from kurz.storage.database import Database, HotStatement
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.safety_schema import destination_position
from kurz.storage.schema import changes, count_position, search_position

KEPT_NUMBERS = 20_000  # as many as `links/floors` judges by

_GATHERED = "kurz.changes"  # in a connection's info: what its transaction has written so far
_RECORD = HotStatement(
    sa.insert(changes), ["link_id", "workspace_id", "short_code", "version", "changed_at"]
)
_COLUMNS = (
    changes.c.id,
    changes.c.link_id,
    changes.c.workspace_id,
    changes.c.short_code,
    changes.c.version,
)
_NEXT = (
    sa.select(*_COLUMNS)
    .where(changes.c.id > sa.bindparam("after"))
    .order_by(changes.c.id)
    .limit(sa.bindparam("rows"))
)
_SQLITE_NEXT = (
    "SELECT id, link_id, workspace_id, short_code, version FROM changes"
    " WHERE id > ? ORDER BY id LIMIT ?"
)
# An INSERT takes this lock before it takes numbers, and a commit can be seen before it is given
# back. The same table has the same oid in databases that were copied.
_POSTGRES_WRITERS = sa.text(
    "SELECT virtualtransaction FROM pg_locks"
    " WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted"
    " AND relation = 'changes'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def record_change(
    connection: sa.Connection,
    link_id: int,
    workspace_id: int,
    short_code: str,
    version: int,
    changed_at: int,
) -> None:
    _RECORD.scalar(connection, (link_id, workspace_id, short_code, version, changed_at))
    _gather(connection).append(Change(link_id, workspace_id, short_code, version))


def record_changes(
    connection: sa.Connection, written: Iterable[Sequence[Any]], changed_at: int
) -> None:
    """For a statement that wrote many: rows of id, workspace, code and version."""
    new = [Change(*row) for row in written]
    if new:
        rows = [{**change._asdict(), "changed_at": changed_at} for change in new]
        connection.execute(sa.insert(changes), rows)
        note_changes(connection, new)


def note_changes(connection: sa.Connection, written: Iterable[Change]) -> None:
    """For a statement that has put its rows into the log itself."""
    _gather(connection).extend(written)


def record_move(connection: sa.Connection, workspace_id: int) -> None:
    """A workspace's slugs or domains are others now."""
    record_change(connection, 0, workspace_id, "", 0, SystemClock().micros())


def take_changes(connection: sa.Connection) -> list[Change]:
    """What the transaction has recorded, once; after a rollback, to be thrown away."""
    gathered: list[Change] = connection.info.pop(_GATHERED, [])
    return gathered


def _gather(connection: sa.Connection) -> list[Change]:
    gathered: list[Change] = connection.info.setdefault(_GATHERED, [])
    return gathered


def last_change(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(changes.c.id))).scalar() or 0


def read_changes(connection: sa.Connection, after: int, limit: int) -> list[tuple[int, Change]]:
    if connection.dialect.name == "sqlite":
        # By the driver itself: every worker reads every create, at a sixth of the time this way.
        driver: Any = connection.connection.driver_connection
        return [_row(row) for row in driver.execute(_SQLITE_NEXT, (after, limit)).fetchall()]
    return _rows(connection, _NEXT.params(after=after, rows=limit))


def read_some_changes(
    connection: sa.Connection, numbers: Collection[int]
) -> list[tuple[int, Change]]:
    return _rows(connection, sa.select(*_COLUMNS).where(changes.c.id.in_(numbers)))


def find_writers(connection: sa.Connection) -> frozenset[str]:
    if connection.dialect.name == "sqlite":  # one writes at a time, and takes numbers as it commits
        return frozenset()
    return frozenset(connection.execute(_POSTGRES_WRITERS).scalars())


def wake_listeners(connection: sa.Connection, channel: str) -> None:
    """On PostgreSQL."""
    connection.execute(sa.select(sa.func.pg_notify(channel, "")))


def first_change(connection: sa.Connection) -> int:
    """0: there is none."""
    return connection.execute(sa.select(sa.func.min(changes.c.id))).scalar() or 0


def trim_changes(
    connection: sa.Connection, before: int, limit: int, *, are_followed: bool = True
) -> int:
    """Removes the first rows if they were written before an instant, and tells how many. The last
    `KEPT_NUMBERS` stay, and what is not counted yet, not yet in SQLite's search index, or (if
    `are_followed`) not yet known to the destination checks."""
    counted = connection.execute(sa.select(count_position.c.change_id)).scalar_one()
    ends_at = min(last_change(connection) - KEPT_NUMBERS, counted)
    if are_followed:
        followed = connection.execute(sa.select(destination_position.c.change_id)).scalar_one()
        ends_at = min(ends_at, followed)
    if connection.dialect.name == "sqlite":
        indexed = connection.execute(sa.select(search_position.c.change_id)).scalar_one()
        ends_at = min(ends_at, indexed)
    # By number first: else it would look through all that is younger for something older.
    first = sa.select(changes.c.id).where(changes.c.id <= ends_at).order_by(changes.c.id)
    old = changes.c.id.in_(first.limit(limit)) & (changes.c.changed_at < before)
    return connection.execute(sa.delete(changes).where(old)).rowcount


def _rows(
    connection: sa.Connection, query: sa.Select[*tuple[Any, ...]]
) -> list[tuple[int, Change]]:
    return [_row(row) for row in connection.execute(query)]


def _row(row: Sequence[Any]) -> tuple[int, Change]:
    number, *change = row
    return number, Change._make(change)


class SqlChangeLog:
    """The `ChangeLog` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self) -> int:
        with patience(LIST_SECONDS):
            return await self._database.read(last_change)

    async def read(self, after: int, limit: int) -> Sequence[tuple[int, Change]]:
        with patience(LIST_SECONDS):
            return await self._database.read(read_changes, after, limit)

    async def read_some(self, numbers: Collection[int]) -> Sequence[tuple[int, Change]]:
        with patience(LIST_SECONDS):
            return await self._database.read(read_some_changes, numbers)

    async def writers(self) -> frozenset[str]:
        with patience(LIST_SECONDS):
            return await self._database.read(find_writers)
