"""Slots that accounts hold in all workers and instances: one for a running import, and one for each
stream of live numbers. The process that holds a slot renews it; if killed, the slot expires."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import sqlalchemy as sa
import structlog
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.links.imports import ImportRunning
from kurz.storage.engine.database import Database
from kurz.storage.engine.instants import now_in
from kurz.storage.schema.jobs import running_imports, running_streams

# A slot is renewed three times before it would expire.
LIFE_SECONDS = 60
RENEWAL_SECONDS = 20
_LIFE_MICROS = LIFE_SECONDS * 1_000_000

_log = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class Held:
    """`number` is one of the account's slots. A process that was paused for longer than a slot
    lives may have lost it to another one."""

    account_id: int
    number: int = 0
    holder: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    is_lost: bool = False

    def check(self) -> None:
        if self.is_lost:
            raise ImportRunning(
                "The server was paused for too long, and another import of this account has"
                " started. Import this file again when that one has finished: it creates no"
                " duplicates."
            )


def take_slot(
    connection: sa.Connection, table: sa.Table, held: Held, at_most: int, clock: Clock
) -> int | None:
    """The number of a free slot; None: the account has `at_most`. If two take the same slot at
    once, the second takes the next."""
    now = now_in(connection, clock)
    # A slot that expires later than possible was written before the clock was set back.
    is_over = sa.or_(table.c.until <= now, table.c.until > now + 2 * _LIFE_MICROS)
    connection.execute(sa.delete(table).where(is_over))
    taken = _taken(connection, table, held.account_id)
    for number in range(at_most):
        if number in taken:
            continue
        made = insert(table).values(
            **_key(table, held.account_id, number), holder=held.holder, until=now + _LIFE_MICROS
        )
        statement = made.on_conflict_do_nothing().returning(table.c.account_id)
        if connection.execute(statement).first() is not None:
            return number
    return None


def renew_slot(
    connection: sa.Connection, table: sa.Table, held: Held, at_most: int, clock: Clock
) -> int | None:
    """The number of the slot that is now held: a new one if it was lost. None: the account has
    `at_most` others."""
    until = now_in(connection, clock) + _LIFE_MICROS
    renewed = sa.update(table).where(*_is(table, held)).values(until=until)
    if connection.execute(renewed).rowcount:
        return held.number
    return take_slot(connection, table, held, at_most, clock)


def free_slot(connection: sa.Connection, table: sa.Table, held: Held) -> None:
    connection.execute(sa.delete(table).where(*_is(table, held)))


def _taken(connection: sa.Connection, table: sa.Table, account_id: int) -> set[int]:
    if "slot" not in table.c:
        return set()
    statement = sa.select(table.c.slot).where(table.c.account_id == account_id)
    return set(connection.execute(statement).scalars())


def _key(table: sa.Table, account_id: int, number: int) -> dict[str, int]:
    """If an account has at most one slot, slots have no numbers."""
    numbered = {"slot": number} if "slot" in table.c else {}
    return {"account_id": account_id, **numbered}


def _is(table: sa.Table, held: Held) -> list[sa.ColumnElement[bool]]:
    key = _key(table, held.account_id, held.number)
    return [table.c[name] == value for name, value in (key | {"holder": held.holder}).items()]


class HeldSlots:
    """For both engines, by the clock that all instances share."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        table: sa.Table,
        at_most: int,
        renewal_seconds: float = RENEWAL_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._table = table
        self._at_most = at_most
        self._renewal_seconds = renewal_seconds
        self._held: set[Held] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def _take(self, account_id: int) -> Held | None:
        held = Held(account_id)
        number = await self._database.write(
            take_slot, self._table, held, self._at_most, self._clock
        )
        if number is None:
            return None
        held.number = number
        return held

    def _keep(self, held: Held) -> None:
        self._held.add(held)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_all())

    def _release(self, held: Held) -> asyncio.Task[None]:
        self._held.discard(held)
        if not self._held and self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        # In its own task: a client that disconnects cancels this one.
        freeing = asyncio.create_task(self._free(held))
        self._tasks.add(freeing)
        freeing.add_done_callback(self._tasks.discard)
        return freeing

    async def _free(self, held: Held) -> None:
        """Never fails: a slot that is not renewed expires."""
        try:
            await self._database.write(free_slot, self._table, held)
        except StoreUnavailable:
            pass
        except Exception:  # noqa: BLE001  see above
            _log.exception("slot not released")

    async def _renew_all(self) -> None:
        """Whatever happens, the next round may succeed."""
        while True:
            await asyncio.sleep(self._renewal_seconds)
            for held in [*self._held]:
                try:
                    await self._renew(held)
                except StoreUnavailable:
                    pass
                except Exception:  # noqa: BLE001  see above
                    _log.exception("slot not renewed")

    async def _renew(self, held: Held) -> None:
        """Each in its own transaction: transactions with several rows could deadlock."""
        number = await self._database.write(
            renew_slot, self._table, held, self._at_most, self._clock
        )
        held.is_lost = number is None
        if number is not None:
            held.number = number


class SqlImportSlots(HeldSlots):
    """The `ImportSlots` of both engines."""

    def __init__(
        self, database: Database, clock: Clock, renewal_seconds: float = RENEWAL_SECONDS
    ) -> None:
        super().__init__(database, clock, running_imports, 1, renewal_seconds)

    @asynccontextmanager
    async def hold(self, account_id: int) -> AsyncIterator[Held]:
        held = await self._take(account_id)
        if held is None:
            raise ImportRunning(
                "Another import of this account is running. Try again when it has finished."
            )
        self._keep(held)
        try:
            yield held
        finally:
            await asyncio.shield(self._release(held))


class SqlStreamSlots(HeldSlots):
    """The `StreamSlots` of both engines."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        at_most: int,
        renewal_seconds: float = RENEWAL_SECONDS,
    ) -> None:
        super().__init__(database, clock, running_streams, at_most, renewal_seconds)

    async def take(self, account_id: int) -> AbstractContextManager[None] | None:
        held = await self._take(account_id)
        return None if held is None else self._hold(held)

    @contextmanager
    def _hold(self, held: Held) -> Iterator[None]:
        self._keep(held)
        try:
            yield
        finally:
            self._release(held)
