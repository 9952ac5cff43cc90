"""Individual clicks, for as long as they are kept. On PostgreSQL each day is a partition."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import await_only

from kurz.clicks.batch import Event
from kurz.storage.schema.clicks import click_events

DAYS_AHEAD = 2  # for wrong clocks, and to create partitions in time
LOCK_MILLISECONDS = 200  # a partition that is being read is dropped later

_LOCK = 0x6B636576  # "kcev": the advisory lock for creating and dropping partitions
_NO_PARTITION = "23514"  # PostgreSQL reports it as a check violation
COLUMNS = tuple("at" if name == "at_micros" else name for name in Event._fields)
_SQLITE_INSERT = (
    f"INSERT INTO click_events ({', '.join(COLUMNS)}, id)"  # noqa: S608  our own words
    f" VALUES ({', '.join('?' * len(COLUMNS))}, ?) ON CONFLICT DO NOTHING"
)
# From the catalogue tables: the server's cache of names may be older than the lock.
_PARTITIONS = (
    "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid"
    " WHERE inhparent = 'click_events'::regclass"
)


class DayMissing(Exception):
    """One of the days has no partition yet."""

    def __init__(self, days: Collection[int]) -> None:
        super().__init__(days)
        self.days = days


def kept_events(events: Sequence[Event], today: int, kept_days: int) -> Sequence[Event]:
    """The events that are neither too old to be kept nor from the future."""
    if not kept_days:
        return []
    days = range(today - kept_days, today + DAYS_AHEAD + 1)
    if all(day in days for day in {event.day for event in events}):
        return events
    return [event for event in events if event.day in days]


def number_events(connection: sa.Connection, events: Sequence[Event]) -> Sequence[tuple[Any, ...]]:
    """The rows to write. On SQLite they get the next numbers of their days, on PostgreSQL numbers
    from a sequence."""
    if connection.dialect.name != "sqlite":
        return events
    last: dict[int, int] = defaultdict(int)
    driver: Any = connection.connection.driver_connection
    query = "SELECT max(id) FROM click_events WHERE day = ?"
    for day in {event.day for event in events}:
        last[day] = driver.execute(query, (day,)).fetchall()[0][0] or 0
    rows = []
    for event in events:
        last[event.day] = number = last[event.day] + 1
        rows.append((*event, number))
    return rows


def insert_events(connection: sa.Connection, rows: Sequence[tuple[Any, ...]]) -> bool:
    """False: their numbers have been taken meanwhile. Raises `DayMissing` on PostgreSQL."""
    if not rows:
        return True
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        written: int = driver.executemany(_SQLITE_INSERT, rows).rowcount
        return written == len(rows)
    # SQLAlchemy began the transaction with its first statement.
    copy = driver.copy_records_to_table("click_events", records=rows, columns=COLUMNS)
    try:
        await_only(copy)
    except Exception as error:
        if getattr(error, "sqlstate", None) != _NO_PARTITION:
            raise
        raise DayMissing({row[0] for row in rows}) from error
    return True


def ensure_days(connection: sa.Connection, days: Collection[int]) -> None:
    """Creates the partitions of these days on PostgreSQL, if they are missing. A table is created
    and then attached: creating a partition directly would wait for all readers of clicks."""
    if connection.dialect.name == "sqlite":
        return
    if _partitions(connection).issuperset(days):
        return
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    for day in sorted(set(days) - _partitions(connection)):
        name = f"click_events_{day}"
        connection.exec_driver_sql(f"CREATE TABLE {name} (LIKE click_events INCLUDING ALL)")
        connection.exec_driver_sql(
            f"ALTER TABLE click_events ATTACH PARTITION {name}"
            f" FOR VALUES FROM ({day}) TO ({day + 1})"
        )


def stored_days(connection: sa.Connection, days: range) -> list[int]:
    """Those of the days that may have clicks, in order."""
    if connection.dialect.name != "sqlite":
        return sorted(_partitions(connection).intersection(days))
    driver: Any = connection.connection.driver_connection
    query = "SELECT min(day) FROM click_events WHERE day >= ? AND day < ?"
    found: list[int] = []
    first = days.start
    while (day := driver.execute(query, (first, days.stop)).fetchall()[0][0]) is not None:
        found.append(day)
        first = day + 1
    return found


def trim_events(connection: sa.Connection, before: int, limit: int) -> bool:
    """Removes clicks of days before that one: some on SQLite, a whole day on PostgreSQL. False if
    there are none left."""
    if connection.dialect.name == "sqlite":
        first = sa.select(click_events.c.day, click_events.c.id).where(click_events.c.day < before)
        key = sa.tuple_(click_events.c.day, click_events.c.id)
        oldest = first.order_by(click_events.c.day, click_events.c.id).limit(limit)
        removed = connection.execute(sa.delete(click_events).where(key.in_(oldest)))
        return removed.rowcount == limit
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_MILLISECONDS}ms'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    days = [day for day in _partitions(connection) if day < before]
    if days:
        connection.exec_driver_sql(f"DROP TABLE click_events_{min(days)}")
    return len(days) > 1


def _partitions(connection: sa.Connection) -> set[int]:
    names = connection.exec_driver_sql(_PARTITIONS).scalars()
    return {int(name.rpartition("_")[2]) for name in names}
