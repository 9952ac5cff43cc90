"""Many rows in transactions that nobody waits long for."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from kurz.links.reaping import IsStopping, never
from kurz.storage.patience import LONG_SECONDS, patience
from kurz.storage.rounds import rest_after

REST_SECONDS = 1.0  # at most: whoever is told to stop waits for it
SQLITE_LINKS = 100  # ended in a transaction, some 20 ms: who else writes waits for it


async def in_batches(
    write: Callable[[int], Awaitable[int]], limit: int, is_stopping: IsStopping = never
) -> int:
    """Writes until there are `limit` rows, or none is left, or it is to stop; tells how many.
    `write` is told how many are wanted, and tells how many it has done. Rests after each as long as
    it took: half of the writer's time is for others."""
    total = 0
    while total < limit:
        started = time.monotonic()
        with patience(LONG_SECONDS):
            done = await write(limit - total)
        total += done
        if not done or total >= limit or is_stopping():
            break
        await asyncio.sleep(rest_after(started, most=REST_SECONDS))
    return total


def at_once(connection: sa.Connection, limit: int) -> int:
    """How many of so many links may end in one transaction."""
    return min(limit, SQLITE_LINKS) if connection.dialect.name == "sqlite" else limit


def among(
    connection: sa.Connection, column: sa.Column[Any], values: Sequence[Any]
) -> sa.ColumnElement[bool]:
    """Whether a column has one of the values. All of them are one parameter: a thousand would be a
    long text for the engine to read, and another one for every number of values."""
    if connection.dialect.name == "sqlite":
        each = sa.func.json_each(json.dumps([*values])).table_valued("value")
        return column.in_(sa.select(each.c.value))
    return column == sa.any_(sa.literal([*values], ARRAY(column.type)))
