"""One import an account, in all workers and instances: in both engines."""

import pytest
import sqlalchemy as sa

from kurz.links.imports import ImportRunning
from kurz.storage.import_slots import SqlImportSlots
from kurz.storage.job_schema import running_imports
from support.engines import without_redis

engine = without_redis  # which has no part in it


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
    assert await kurz.database.read(lambda it: it.execute(sa.select(running_imports)).all()) == []


async def test_whoever_dies_with_a_slot_loses_it(kurz, slots):
    """And does not take the next one's away."""
    async with slots.hold(7):
        age = sa.update(running_imports).values(until=0)
        await kurz.database.write(lambda it: it.execute(age).rowcount)
        async with slots.hold(7):
            pass
        next_one = slots.hold(7)
        await next_one.__aenter__()
    with pytest.raises(ImportRunning):
        async with slots.hold(7):
            pass
    await next_one.__aexit__(None, None, None)
