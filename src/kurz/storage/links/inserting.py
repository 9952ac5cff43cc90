"""Inserts many links with a few statements.

A create is inserted together with others that wait at the same time. Alone, each would take three
calls of the driver on SQLite, and four round trips on PostgreSQL."""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGDialect

from kurz.freshness.routes import Change
from kurz.people.quotas import Allowance
from kurz.storage.engine.changes import note_changes
from kurz.storage.links.checksums import with_checksums
from kurz.storage.links.quarantine import RESERVED_FOR_OTHERS
from kurz.storage.links.quota_usage import spend
from kurz.storage.links.tags import add_tags_of
from kurz.storage.schema.link_rows import INSERTED, STORED
from kurz.storage.schema.links import links

AT_ONCE = 16  # new links that one statement stores on SQLite
MANY_AT_ONCE = 64  # of one request
# How long a transaction with many links waits for one that holds a code or a quota, while others
# wait for its own codes. PostgreSQL would look for deadlocks only after a second.
_WAIT_BRIEFLY = "SET LOCAL lock_timeout = '100ms'"
_HELD_UP = ("55P03", "40P01")  # SQLSTATE of a lock that was not available, and of a deadlock

_WORKSPACE, _CODE, _VERSION, _TAGS = map(
    INSERTED.index, ("workspace_id", "short_code", "version", "tags")
)
_FLAG = "forward_query"

_Row = tuple[Any, ...]

# Like `quarantine.record_new`, for many.
_RECORD = (
    "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"  # noqa: S608  our own words
    " SELECT id, workspace_id, short_code, version, created_at FROM links"
    f" WHERE {{these}} AND (workspace_id <> 0 OR NOT {RESERVED_FOR_OTHERS}) ORDER BY id"
)
_RECORD_ON_SQLITE = _RECORD.format(these="id >= ?")
_REFUSED_ON_SQLITE = (
    f"SELECT id FROM links WHERE id >= ? AND workspace_id = 0 AND {RESERVED_FOR_OTHERS}"  # noqa: S608  our own words
)
_RECORD_ON_POSTGRES = _RECORD.format(these="id = ANY($1::bigint[])") + " RETURNING link_id"


class HeldUp(Exception):
    """Another transaction holds what this one needs; this one is undone."""


def insert_links(connection: sa.Connection, rows: Sequence[_Row]) -> list[int | None]:
    """Inserts new links without tags, as `to_row` gives them, and their rows of the change log.
    Returns their ids; None: the code is taken or reserved for somebody else."""
    return _insert_links(connection, rows, AT_ONCE)


def insert_many(
    connection: sa.Connection, rows: Sequence[_Row], allowances: tuple[Allowance, ...], now: int
) -> list[int | None]:
    """Like `insert_links`, for many links of one caller, and with tags. Spends the allowances:
    `QuotaExceeded` undoes everything, and so does `HeldUp`."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(_WAIT_BRIEFLY)
    try:
        ids = _insert_links(connection, rows, MANY_AT_ONCE)
        inserted = [link_id for link_id in ids if link_id is not None]
        if inserted and any(row[_TAGS] for row in rows):
            add_tags_of(connection, inserted)
        if inserted:
            spend(connection, allowances, now, len(inserted))
    except sa.exc.DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) in _HELD_UP:
            raise HeldUp from error
        raise
    return ids


def _insert_links(connection: sa.Connection, rows: Sequence[_Row], most: int) -> list[int | None]:
    ids = insert_together(connection, rows, most)
    inserted = [link_id for link_id in ids if link_id is not None]
    refused = _record(connection, inserted) if inserted else set()
    if refused:
        connection.execute(sa.delete(links).where(links.c.id.in_(refused)))
    found = [None if link_id in refused else link_id for link_id in ids]
    note_changes(
        connection,
        (
            Change(link_id, row[_WORKSPACE], row[_CODE], row[_VERSION])
            for link_id, row in zip(found, rows, strict=True)
            if link_id is not None
        ),
    )
    return found


def insert_together(connection: sa.Connection, rows: Sequence[_Row], most: int) -> list[int | None]:
    """Inserts only the rows in `links`. None: the code is taken, or the URL of a deterministic
    link. On SQLite, a statement stores up to `most` links; after each, other threads can run."""
    stored = with_checksums(connection, rows)
    if connection.dialect.name == "sqlite":
        return _insert_on_sqlite(connection, stored, most)
    return _insert_on_postgres(connection, stored)


def _record(connection: sa.Connection, inserted: Sequence[int]) -> set[int]:
    """Adds them to the change log, and returns those whose code is reserved for somebody else."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        first = (inserted[0],)  # nobody else has higher ids now
        if driver.execute(_RECORD_ON_SQLITE, first).rowcount == len(inserted):
            return set()
        return {link_id for (link_id,) in driver.execute(_REFUSED_ON_SQLITE, first).fetchall()}
    recorded = connection.exec_driver_sql(_RECORD_ON_POSTGRES, (list(inserted),))
    return {*inserted} - {link_id for (link_id,) in recorded}


def _insert_on_sqlite(
    connection: sa.Connection, rows: Sequence[_Row], most: int
) -> list[int | None]:
    """With ids that we choose, which is cheaper than returning them. Nobody else can take them
    now."""
    driver: Any = connection.connection.driver_connection
    found = driver.execute("SELECT seq FROM sqlite_sequence WHERE name = 'links'").fetchall()
    first = (found[0][0] if found else 0) + 1
    ids = range(first, first + len(rows))
    names, plain = _without_nulls(ids, rows)
    inserted = 0
    for part in _parts(len(rows), most):
        os.sched_yield()
        values = [*chain.from_iterable(plain[part])]
        statement = _sqlite_insert(names, part.stop - part.start)
        inserted += driver.execute(statement, values).rowcount
    if inserted == len(rows):
        return [*ids]
    query = "SELECT id FROM links WHERE id >= ?"
    present = {link_id for (link_id,) in driver.execute(query, (first,)).fetchall()}
    return [link_id if link_id in present else None for link_id in ids]


def _parts(count: int, most: int) -> Iterator[slice]:
    """In powers of two, so that there are few statements: the driver caches them, and they are
    large."""
    start = 0
    while start < count:
        stop = start + (1 << min(count - start, most).bit_length() - 1)
        yield slice(start, stop)
        start = stop


def _without_nulls(ids: Sequence[int], rows: Sequence[_Row]) -> tuple[tuple[str, ...], list[_Row]]:
    """The columns that any of the rows needs, with values that the driver binds fast. For None and
    bool, it looks for an adapter every time, which takes 1 µs. Most links have a dozen of them."""
    columns = {"id": ids}
    for name, column in zip(STORED, zip(*rows, strict=True), strict=True):
        if column.count(None) < len(column):
            columns[name] = [*map(int, column)] if name == _FLAG else column
    return tuple(columns), [*zip(*columns.values(), strict=True)]


@lru_cache(maxsize=128)  # as many statements as the driver keeps
def _sqlite_insert(names: tuple[str, ...], count: int) -> str:
    place = f"({','.join('?' * len(names))})"
    return (
        f"INSERT INTO links ({', '.join(names)})"  # noqa: S608  our own words
        f" VALUES {','.join([place] * count)} ON CONFLICT DO NOTHING"
    )


def _insert_on_postgres(connection: sa.Connection, rows: Sequence[_Row]) -> list[int | None]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    inserted = connection.exec_driver_sql(_POSTGRES_INSERT, tuple(columns))
    ids = {(workspace_id, code): link_id for link_id, workspace_id, code in inserted}
    return [ids.pop((row[_WORKSPACE], row[_CODE]), None) for row in rows]


def _postgres_insert() -> str:
    dialect = PGDialect()  # type: ignore[no-untyped-call]
    types = [links.c[name].type.compile(dialect=dialect) for name in STORED]
    arrays = ", ".join(f"${number}::{name}[]" for number, name in enumerate(types, 1))
    return (
        f"INSERT INTO links ({', '.join(STORED)})"  # noqa: S608  our own words
        f" SELECT * FROM unnest({arrays})"
        " ON CONFLICT DO NOTHING RETURNING id, workspace_id, short_code"
    )


_POSTGRES_INSERT = _postgres_insert()
