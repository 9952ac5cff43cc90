"""Which accounts have an import under way."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.links.imports import ImportRunning
from kurz.storage.database import Database
from kurz.storage.instants import now_in
from kurz.storage.job_schema import running_imports

# A slot is renewed three times before it would expire.
LIFE_SECONDS = 60
RENEWAL_SECONDS = 20
_LIFE_MICROS = LIFE_SECONDS * 1_000_000


def take_slot(connection: sa.Connection, account_id: int, holder: bytes, clock: Clock) -> bool:
    now = now_in(connection, clock)
    connection.execute(sa.delete(running_imports).where(running_imports.c.until <= now))
    made = insert(running_imports).values(
        account_id=account_id, holder=holder, until=now + _LIFE_MICROS
    )
    statement = made.on_conflict_do_nothing().returning(running_imports.c.account_id)
    return connection.execute(statement).first() is not None


def renew_slot(connection: sa.Connection, account_id: int, holder: bytes, clock: Clock) -> None:
    until = now_in(connection, clock) + _LIFE_MICROS
    connection.execute(
        sa.update(running_imports).where(_is(account_id, holder)).values(until=until)
    )


def free_slot(connection: sa.Connection, account_id: int, holder: bytes) -> None:
    connection.execute(sa.delete(running_imports).where(_is(account_id, holder)))


def _is(account_id: int, holder: bytes) -> sa.ColumnElement[bool]:
    return (running_imports.c.account_id == account_id) & (running_imports.c.holder == holder)


class SqlImportSlots:
    """The `ImportSlots` of both engines, by the clock that all instances share."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @asynccontextmanager
    async def hold(self, account_id: int) -> AsyncIterator[None]:
        holder = secrets.token_bytes(16)
        if not await self._database.write(take_slot, account_id, holder, self._clock):
            raise ImportRunning(
                "Another import of this account is running. Try again when it is done."
            )
        renewing = asyncio.create_task(self._renew(account_id, holder))
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
            with suppress(StoreUnavailable):  # it ends by itself
                await self._database.write(free_slot, account_id, holder)

    async def _renew(self, account_id: int, holder: bytes) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            with suppress(StoreUnavailable):
                await self._database.write(renew_slot, account_id, holder, self._clock)
