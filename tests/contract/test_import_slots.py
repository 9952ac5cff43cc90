"""One import an account, in all workers and instances: in both engines."""

from typing import Any

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.links.imports import ImportRunning
from kurz.storage.people.held_slots import SqlImportSlots
from kurz.storage.schema.jobs import running_imports
from support.engines import without_redis
from support.feed import until, until_told

engine = without_redis  # which has no part in it
SOON = 0.01


class Failing:
    """A database whose writes fail from when it is told to."""

    def __init__(self, database) -> None:
        self._database = database
        self.errors: list[Exception] = []

    async def write(self, query, *args):
        if self.errors:
            raise self.errors.pop()
        return await self._database.write(query, *args)


async def rows(kurz) -> list[Any]:
    return [*await kurz.database.read(lambda it: it.execute(sa.select(running_imports)).all())]


async def change(kurz, statement) -> None:
    await kurz.database.write(lambda it: it.execute(statement).rowcount)


@pytest.fixture
def slots(kurz) -> SqlImportSlots:
    return SqlImportSlots(kurz.database, kurz.clock)


async def test_a_slot_is_held_once_and_free_again(kurz, slots):
    other_instance = SqlImportSlots(kurz.database, kurz.clock)
    async with slots.hold(7):
        with pytest.raises(ImportRunning):
            async with other_instance.hold(7):
                pass
        async with other_instance.hold(8):
            pass
    async with other_instance.hold(7):
        pass
    with pytest.raises(ZeroDivisionError):
        async with slots.hold(7):
            raise ZeroDivisionError
    assert await rows(kurz) == []


@pytest.mark.parametrize("ends_at", [0, 2**62])
async def test_whoever_dies_with_a_slot_loses_it(kurz, slots, ends_at):
    """And does not take the next one's away. `ends_at` may be by a clock that was wrong."""
    async with slots.hold(7):
        await change(kurz, sa.update(running_imports).values(until=ends_at))
        async with slots.hold(7):
            pass
        next_one = slots.hold(7)
        await next_one.__aenter__()
    with pytest.raises(ImportRunning):
        async with slots.hold(7):
            pass
    await next_one.__aexit__(None, None, None)


async def test_a_slot_that_was_lost_is_taken_again_while_nobody_has_it(kurz):
    slots = SqlImportSlots(kurz.database, kurz.clock, SOON)
    async with slots.hold(7) as slot:
        await change(kurz, sa.delete(running_imports))
        await until_told(lambda: has_rows(kurz, 1))
        slot.check()
    assert await rows(kurz) == []


async def test_an_import_ends_whose_slot_another_one_has(kurz):
    slots = SqlImportSlots(kurz.database, kurz.clock, SOON)
    async with slots.hold(7) as slot:
        await change(kurz, sa.update(running_imports).values(holder=b"another"))
        await until(lambda: slot.is_lost)
        with pytest.raises(ImportRunning, match="another import of this account has started"):
            slot.check()
    assert [row.holder for row in await rows(kurz)] == [b"another"]


async def test_an_error_does_not_end_the_renewal(kurz):
    database: Any = Failing(kurz.database)
    slots = SqlImportSlots(database, kurz.clock, SOON)
    async with slots.hold(7):
        database.errors = [ZeroDivisionError(), StoreUnavailable("It is down.")]
        await until(lambda: not database.errors)
        await change(kurz, sa.update(running_imports).values(until=1))
        await until_told(lambda: is_renewed(kurz))


@pytest.mark.parametrize("error", [ZeroDivisionError(), StoreUnavailable("It is down.")])
async def test_an_import_is_done_although_its_slot_cannot_be_freed(kurz, error):
    database: Any = Failing(kurz.database)
    async with SqlImportSlots(database, kurz.clock).hold(7):
        database.errors = [error]
    assert not database.errors
    assert await has_rows(kurz, 1)


async def has_rows(kurz, count: int) -> bool:
    return len(await rows(kurz)) == count


async def is_renewed(kurz) -> bool:
    return [row.until > 1 for row in await rows(kurz)] == [True]
