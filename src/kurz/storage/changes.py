"""The change log: one row per write of a link, left by that write's own transaction."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clock import SystemClock
from kurz.links.model import Change
from kurz.storage.database import Database, HotStatement
from kurz.storage.schema import changes

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
        return await self._database.read(last_change)

    async def read(self, after: int, limit: int) -> Sequence[tuple[int, Change]]:
        return await self._database.read(read_changes, after, limit)

    async def read_some(self, numbers: Collection[int]) -> Sequence[tuple[int, Change]]:
        return await self._database.read(read_some_changes, numbers)
