"""How many streams of live numbers each account has, in all workers and instances."""

import asyncio
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.storage.database import Database
from kurz.storage.instants import now_in
from kurz.storage.job_schema import running_streams

# The holder of a slot renews it three times before it would end.
LIFE_SECONDS = 60
RENEWAL_SECONDS = 20
_LIFE_MICROS = LIFE_SECONDS * 1_000_000


def take_slot(
    connection: sa.Connection, account_id: int, holder: bytes, at_most: int, clock: Clock
) -> bool:
    """Of two that take the same one at once, the other takes the next."""
    now = now_in(connection, clock)
    until = running_streams.c.until
    # One that ends later than any can was written by a clock that has been set back since.
    is_over = sa.or_(until <= now, until > now + 2 * _LIFE_MICROS)
    connection.execute(
        sa.delete(running_streams).where(running_streams.c.account_id == account_id, is_over)
    )
    for slot in range(at_most):
        made = insert(running_streams).values(
            account_id=account_id, slot=slot, holder=holder, until=now + _LIFE_MICROS
        )
        statement = made.on_conflict_do_nothing().returning(running_streams.c.slot)
        if connection.execute(statement).first() is not None:
            return True
    return False


def renew_slots(connection: sa.Connection, holders: Collection[bytes], clock: Clock) -> None:
    until = now_in(connection, clock) + _LIFE_MICROS
    held = running_streams.c.holder.in_(holders)
    connection.execute(sa.update(running_streams).where(held).values(until=until))


def free_slot(connection: sa.Connection, account_id: int, holder: bytes) -> None:
    is_it = (running_streams.c.account_id == account_id) & (running_streams.c.holder == holder)
    connection.execute(sa.delete(running_streams).where(is_it))


class SqlStreamSlots:
    """The `StreamSlots` of both engines, by the clock that all instances share."""

    def __init__(self, database: Database, clock: Clock, at_most: int) -> None:
        self._database = database
        self._clock = clock
        self._at_most = at_most
        self._held: set[bytes] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def take(self, account_id: int) -> bytes | None:
        holder = secrets.token_bytes(16)
        is_taken = await self._database.write(
            take_slot, account_id, holder, self._at_most, self._clock
        )
        return holder if is_taken else None

    @contextmanager
    def hold(self, account_id: int, holder: bytes) -> Iterator[None]:
        self._held.add(holder)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            self._held.discard(holder)
            if not self._held:
                self._renewing.cancel()
                self._renewing = None
            # In a task of its own: a client that stops listening cancels this one.
            freeing = asyncio.create_task(self._free(account_id, holder))
            self._tasks.add(freeing)
            freeing.add_done_callback(self._tasks.discard)

    async def _free(self, account_id: int, holder: bytes) -> None:
        with suppress(StoreUnavailable):  # it ends by itself
            await self._database.write(free_slot, account_id, holder)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            with suppress(StoreUnavailable):
                await self._database.write(renew_slots, [*self._held], self._clock)
