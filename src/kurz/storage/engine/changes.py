"""The change log: one row per write of a link, left by that write's own transaction."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clock import SystemClock
from kurz.freshness.routes import SPACE_ENDED, Change
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.storage.engine.database import HotStatement
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.store import SqlStore, reads
from kurz.storage.schema.links import changes, count_position, links, search_position
from kurz.storage.schema.safety import destination_position

KEPT_NUMBERS = 20_000  # as many as `freshness/recent_writes` remembers

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
# An INSERT takes this lock before it takes numbers, and releases it after its commit is visible.
# The same table has the same oid in databases that were copied.
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


def update_links(
    connection: sa.Connection, *are_these: sa.ColumnElement[bool], now: int, **values: Any
) -> list[int]:
    """Gives many links the same values, as a new version of each; returns their ids."""
    statement = (
        sa.update(links)
        .where(*are_these)
        .values(updated_at=now, version=links.c.version + 1, **values)
        .returning(links.c.id, links.c.workspace_id, links.c.short_code, links.c.version)
    )
    written = connection.execute(statement).all()
    record_changes(connection, written, now)
    return [row.id for row in written]


def note_changes(connection: sa.Connection, written: Iterable[Change]) -> None:
    """For a statement that has put its rows into the log itself."""
    _gather(connection).extend(written)


def record_move(connection: sa.Connection, workspace_id: int) -> None:
    """The slugs or domains of a workspace have changed."""
    record_change(connection, 0, workspace_id, "", 0, SystemClock().micros())


def record_end(connection: sa.Connection, space: int) -> None:
    """Records that all links of a space of the root have ended."""
    record_change(connection, 0, ROOT_WORKSPACE_ID, str(space), SPACE_ENDED, SystemClock().micros())


def take_changes(connection: sa.Connection) -> list[Change]:
    """What the transaction has recorded, once; after a rollback, drop it."""
    gathered: list[Change] = connection.info.pop(_GATHERED, [])
    return gathered


def _gather(connection: sa.Connection) -> list[Change]:
    gathered: list[Change] = connection.info.setdefault(_GATHERED, [])
    return gathered


def last_change(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(changes.c.id))).scalar() or 0


def read_changes(connection: sa.Connection, after: int, limit: int) -> list[tuple[int, Change]]:
    if connection.dialect.name == "sqlite":
        # With the driver directly: every worker reads every create, and this takes a sixth of the
        # time.
        driver: Any = connection.connection.driver_connection
        return [_row(row) for row in driver.execute(_SQLITE_NEXT, (after, limit)).fetchall()]
    return _rows(connection, _NEXT.params(after=after, rows=limit))


def read_some_changes(
    connection: sa.Connection, numbers: Collection[int]
) -> list[tuple[int, Change]]:
    return _rows(connection, sa.select(*_COLUMNS).where(changes.c.id.in_(numbers)))


def find_writers(connection: sa.Connection) -> frozenset[str]:
    if connection.dialect.name == "sqlite":  # one writer at a time: no gaps
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
    """Removes the first rows if they were written before an instant; returns how many. The last
    `KEPT_NUMBERS` stay, and rows that are not yet counted, not yet in SQLite's search index, or (if
    `are_followed`) not yet known to the destination checks."""
    counted = connection.execute(sa.select(count_position.c.change_id)).scalar_one()
    ends_at = min(last_change(connection) - KEPT_NUMBERS, counted)
    if are_followed:
        followed = connection.execute(sa.select(destination_position.c.change_id)).scalar_one()
        ends_at = min(ends_at, followed)
    if connection.dialect.name == "sqlite":
        indexed = connection.execute(sa.select(search_position.c.change_id)).scalar_one()
        ends_at = min(ends_at, indexed)
    # By number first: otherwise it would search all younger rows for an older one.
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


class SqlChangeLog(SqlStore):
    """The `ChangeLog` of both engines."""

    last = reads(last_change, LIST_SECONDS)
    read = reads(read_changes, LIST_SECONDS)
    read_some = reads(read_some_changes, LIST_SECONDS)
    writers = reads(find_writers, LIST_SECONDS)
