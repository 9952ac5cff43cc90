"""Who keeps the time of a process: PostgreSQL's clock, which all share, else the machine's."""

import time

import pytest
from structlog.testing import capture_logs

from kurz.clock import SteadyClock
from kurz.errors import StoreUnavailable
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.followers.timekeeper import TimeKeeper, ask_clock
from kurz.wiring.core import open_kurz
from support.engines import without_redis
from support.machine import HOUR, SECOND, Machine

engine = without_redis  # a clock is in a database
NEAR = 60 * SECOND  # however slow the machine is
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


def differs(clock: SteadyClock) -> int:
    """From the clock of the machine that PostgreSQL runs on too."""
    return abs(clock.micros() * 1000 - time.time_ns())


@on_postgres
@pytest.mark.parametrize("skew", [-8 * HOUR, 8 * HOUR])
async def test_an_instance_with_a_wrong_clock_starts_with_the_databases(kurz, skew):
    clock = SteadyClock(wall_ns=lambda: time.time_ns() + skew)
    assert differs(clock) > NEAR
    keeper = TimeKeeper(clock, kurz.database)
    with capture_logs() as lines:
        await keeper.start()
        await keeper.stop()
    assert differs(clock) < NEAR
    assert [line["log_level"] for line in lines] == ["warning"]
    assert lines[0]["ahead_seconds"] == pytest.approx(skew / SECOND, abs=NEAR / SECOND)


@on_postgres
async def test_a_right_clock_is_left_alone(kurz):
    clock = SteadyClock()
    keeper = TimeKeeper(clock, kurz.database, ask_seconds=0)
    with capture_logs() as lines:
        await keeper.start()
        await keeper.look()
        await keeper.stop()
    assert lines == []


@on_postgres
async def test_the_machines_clock_does_not_matter_any_more_then(kurz):
    machine = Machine(time.time_ns())
    clock = machine.clock()
    keeper = TimeKeeper(clock, kurz.database)
    await keeper.start()
    before = clock.micros()
    machine.wall_ns += 8 * HOUR
    await keeper.look()
    assert clock.micros() == before
    await keeper.stop()


@on_postgres
async def test_the_database_is_asked_again_and_its_clock_followed_once(kurz):
    # As if the database's had been set forward since the start.
    clock = SteadyClock(wall_ns=lambda: time.time_ns() - 8 * HOUR)
    keeper = TimeKeeper(clock, kurz.database, ask_seconds=0)
    with capture_logs() as lines:
        await keeper.look()
        await keeper.look()
    assert differs(clock) < NEAR
    assert [line["event"] for line in lines] == ["clock was set; using the new time"]


async def test_the_clock_goes_on_while_the_database_is_out():
    machine = Machine()
    clock = machine.clock()
    start = clock.micros()
    database = PostgresDatabase("postgresql://nobody@127.0.0.1:1/none")
    keeper = TimeKeeper(clock, database, ask_seconds=0)
    machine.sleep(HOUR)
    with pytest.raises(StoreUnavailable):
        await keeper.look()
    assert clock.micros() == start + HOUR // 1000
    await database.close()


async def test_without_another_the_machines_clock_is_followed_but_not_back():
    machine = Machine()
    clock = machine.clock()
    start = clock.micros()
    keeper = TimeKeeper(clock, None)
    machine.wall_ns += HOUR
    with capture_logs() as lines:
        await keeper.look()
        assert clock.micros() == start + HOUR // 1000
        machine.wall_ns -= 9 * HOUR
        for _ in range(3):
            await keeper.look()
        assert clock.micros() == start
    assert [line.get("by_seconds", line.get("ahead_seconds")) for line in lines] == [
        3600.0,
        -3600.0,
        28800.0,
    ]


@on_postgres
async def test_half_of_what_the_answer_took_has_passed_and_a_slow_one_tells_nothing(kurz):
    quick = await ask_clock(kurz.database, iter((0, 0)).__next__)
    slower = await ask_clock(kurz.database, iter((0, SECOND)).__next__)
    assert quick is not None
    assert slower is not None
    assert quick + SECOND // 2 <= slower < quick + NEAR
    assert await ask_clock(kurz.database, iter((0, SECOND + 1)).__next__) is None


async def test_a_kurz_has_a_clock_that_is_kept(kurz):
    async with open_kurz(kurz.settings) as other:
        assert isinstance(other.clock, SteadyClock)
        assert differs(other.clock) < NEAR
