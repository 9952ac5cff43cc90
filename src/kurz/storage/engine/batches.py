"""Writes many rows in short transactions."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from kurz.links.ending.ports import IsStopping, never
from kurz.rounds import rest_after
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline

REST_SECONDS = 1.0  # at most: a stop waits for it
SQLITE_LINKS = 100  # ended in a transaction, some 20 ms: other writers wait for it


async def in_batches(
    write: Callable[[int], Awaitable[int]], limit: int, is_stopping: IsStopping = never
) -> int:
    """Writes until `limit` rows are done, none is left, or it must stop; returns how many. `write`
    gets how many are wanted, and returns how many it did. After each call there is a pause as long
    as the call, so that half of the writer's time is for others."""
    total = 0
    while total < limit:
        started = time.monotonic()
        with deadline(LONG_SECONDS):
            done = await write(limit - total)
        total += done
        if not done or total >= limit or is_stopping():
            break
        await asyncio.sleep(rest_after(started, most=REST_SECONDS))
    return total


def at_once(connection: sa.Connection, limit: int) -> int:
    """How many of `limit` links may end in one transaction."""
    return min(limit, SQLITE_LINKS) if connection.dialect.name == "sqlite" else limit


def delete_some(
    connection: sa.Connection,
    table: sa.Table,
    is_old: sa.ColumnElement[bool],
    limit: int,
    *order: sa.Column[Any],
) -> int:
    """Deletes the first of such rows; returns how many. Locked ones are skipped: their holder may
    wait for other rows of this batch. So two at once take different ones, and wait for nobody."""
    key = [*table.primary_key]
    old = sa.select(*key).where(is_old).order_by(*order).limit(limit)
    chosen = sa.select(old.with_for_update(skip_locked=True).cte())
    row = key[0] if len(key) == 1 else sa.tuple_(*key)
    return connection.execute(sa.delete(table).where(row.in_(chosen))).rowcount


def among(
    connection: sa.Connection, column: sa.Column[Any], values: Sequence[Any]
) -> sa.ColumnElement[bool]:
    """Whether a column has one of the values. They are passed as one parameter: a thousand
    parameters would be a long statement to parse, and a different one for every number of
    values."""
    if connection.dialect.name == "sqlite":
        each = sa.func.json_each(json.dumps([*values])).table_valued("value")
        return column.in_(sa.select(each.c.value))
    return column == sa.any_(sa.literal([*values], ARRAY(column.type)))
