"""What an installation creates once: the permutations' keys, and the counter of links."""

import asyncio
import secrets

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.links.codes.permutation import KEY_BYTES
from kurz.storage.engine.database import Database
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.links import counters, installation

LINK_COUNTER = "links"
CACHE_EPOCH = "cache-epoch"  # random, new with every restore of a backup
COUNTER_BLOCK = 1000  # numbers leased at a time; a stopped worker's unused ones are skipped


def find_key(connection: sa.Connection, name: str) -> bytes | None:
    query = sa.select(installation.c.value).where(installation.c.name == name)
    return connection.execute(query).scalar()


def make_key(connection: sa.Connection, name: str) -> bytes | None:
    """Creates the key of that name. If it exists already, returns that one."""
    fresh = secrets.token_bytes(KEY_BYTES)
    connection.execute(insert(installation).values(name=name, value=fresh).on_conflict_do_nothing())
    return find_key(connection, name)


async def load_or_create_key(database: Database, name: str) -> bytes:
    """The key of that name, created on first use. Only the first use writes."""
    key = await database.read(find_key, name) or await database.write(make_key, name)
    if key is None:
        raise RuntimeError(f"the installation's {name} is gone while it was read")
    return key


def lease_numbers(connection: sa.Connection, name: str, size: int) -> range:
    statement = (
        insert(counters)
        .values(name=name, next_value=size)
        .on_conflict_do_update(
            index_elements=[counters.c.name], set_={"next_value": counters.c.next_value + size}
        )
        .returning(counters.c.next_value)
    )
    end: int = connection.execute(statement).scalar_one()
    return range(end - size, end)


def start_counter(connection: sa.Connection, start: int, name: str = LINK_COUNTER) -> bool:
    """Sets the start of a counter. False: it has already leased numbers. Until then it can be set
    again: the last start is stored too, and the counter must still equal it."""
    marker = f"{name}-counter-start"
    earlier = find_key(connection, marker)
    unused = sa.false() if earlier is None else counters.c.next_value == int(earlier)
    statement = (
        insert(counters)
        .values(name=name, next_value=start)
        .on_conflict_do_update(
            index_elements=[counters.c.name], set_={"next_value": start}, where=unused
        )
        .returning(counters.c.next_value)
    )
    if connection.execute(statement).scalar() is None:
        return False
    row = {"name": marker, "value": str(start).encode()}
    connection.execute(upsert(installation, "value"), row)
    return True


class LeasedCounter:
    """The `Counter` of both engines: a block of numbers at a time, so that workers never get the
    same one."""

    def __init__(
        self, database: Database, name: str = LINK_COUNTER, block: int = COUNTER_BLOCK
    ) -> None:
        self._database = database
        self._name = name
        self._block = block
        self._numbers = iter(range(0))
        self._lease = asyncio.Lock()

    async def next(self) -> int:
        async with self._lease:
            number = next(self._numbers, None)
            if number is None:
                leased = await self._database.write(lease_numbers, self._name, self._block)
                self._numbers = iter(leased)
                number = next(self._numbers)
            return number
