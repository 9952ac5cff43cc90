"""Clicks are counted once and exactly, on both engines, whoever counts beside."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Batch, JournalPosition, LinkOwner
from kurz.errors import StoreUnavailable
from kurz.links.model import Draft, space_of
from kurz.storage.clicks.days import Stale
from kurz.storage.clicks.positions import CountedSlices
from kurz.storage.clicks.slices import Slices
from kurz.storage.clicks.store import KEPT_DAYS, SqlClickStore, prepare_slice, write_slice
from kurz.storage.clicks.totals import MOST_CLICKS
from kurz.storage.engine.database import Database
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.wiring.core import Kurz, open_kurz
from servers.fault_proxy import FaultProxy
from support.batches import (
    MICROS_OF_DAY,
    Clicks,
    everything,
    expected_totals,
    holds,
    stored_days,
    stored_events,
    stored_totals,
)
from support.engines import without_redis
from support.patience import PATIENT
from support.transfer import outcomes, run

# Redis has no part in counting.
engine = without_redis
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)

SEGMENT = bytes(16)
OTHER_SEGMENT = bytes([1]) * 16
START = JournalPosition(SEGMENT, 0)


@pytest.fixture
def store(kurz) -> SqlClickStore:
    return SqlClickStore(kurz.database, kurz.clock)


@pytest.fixture
def clicks(clock) -> Clicks:
    return Clicks(clock.micros() // MICROS_OF_DAY)


@pytest.fixture
async def others(settings, clock, kurz) -> AsyncIterator[list[SqlClickStore]]:
    """Stores of other processes."""
    async with open_kurz(settings, clock) as second, open_kurz(settings, clock) as third:
        yield [SqlClickStore(parts.database, clock) for parts in (second, third)]


async def load(store: SqlClickStore, clicks: Clicks, segment: bytes, batches: int) -> None:
    """A whole segment, batch after batch."""
    for number in range(batches):
        assert await store.apply(clicks.batch(JournalPosition(segment, number), number + 1))


async def check(database: Database, clicks: Clicks) -> None:
    """All is stored that the clicks add up to."""
    assert holds(await database.read(stored_days), clicks.made)
    events = await database.read(stored_events)
    assert sorted(events) == sorted(clicks.made)
    assert holds(await database.read(stored_days), events)
    totals = await database.read(stored_totals)
    expected = expected_totals(clicks.made)
    assert {key: number for key, (number, _) in totals.items()} == {
        key: moments.number for key, moments in expected.items()
    }
    for key, (_, moments) in totals.items():
        assert moments == pytest.approx(expected[key], rel=1e-9)


async def test_all_of_many_batches_is_counted(store, clicks, kurz):
    await load(store, clicks, SEGMENT, 20)
    await check(kurz.database, clicks)
    assert await store.positions([SEGMENT, OTHER_SEGMENT]) == {SEGMENT: (20, None)}


async def test_loaders_that_count_for_the_same_subjects_lose_nothing(store, others, clicks, kurz):
    loads = [
        load(loader, clicks, bytes([number]) * 16, 8)
        for number, loader in enumerate([store, *others, store, *others])
    ]
    await asyncio.gather(*loads)
    await check(kurz.database, clicks)


async def test_loaders_that_keep_no_clicks_notice_each_other_too(kurz, settings, clock, clicks):
    async with open_kurz(settings, clock) as other:
        stores = [SqlClickStore(it.database, clock, kept_days=0) for it in (kurz, other)]
        loads = [load(it, clicks, bytes([number]) * 16, 12) for number, it in enumerate(stores)]
        await asyncio.gather(*loads)
    assert holds(await kurz.database.read(stored_days), clicks.made)


@on_sqlite
@pytest.mark.parametrize("left_out", ["days", "events"])
async def test_what_was_prepared_before_another_counted_is_not_written(
    store, clicks, kurz, left_out
):
    assert await store.apply(clicks.batch(JournalPosition(bytes([9]) * 16, 0), 1, number=2000))
    first, second = (clicks.batch(JournalPosition(bytes([n]) * 16, 0), 1) for n in range(2))
    for batch in first, second:
        getattr(batch, left_out).clear()
    whole = Slices(second, CountedSlices(0)).cut(None)
    prepared = await kurz.database.read(prepare_slice, whole, clock_day(kurz), KEPT_DAYS)
    assert await store.apply(first)
    before = await kurz.database.read(everything)
    with pytest.raises(Stale):
        await kurz.database.write(write_slice, prepared, kurz.clock.micros())
    assert await kurz.database.read(everything) == before


@on_postgres
async def test_loaders_and_imports_never_deadlock(store, others, clicks, kurz, postgres):
    loads = [
        load(loader, clicks, bytes([number]) * 16, 15)
        for number, loader in enumerate([store, *others])
    ]
    rows = "\n".join(f"https://example.com/{n},{n}" for n in range(300))
    imports = [run(kurz, f"original_url,redirect_count\n{rows}") for _ in range(3)]
    await asyncio.gather(*loads, *imports)
    query = sa.text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    await asyncio.sleep(1.1)  # sessions report what happened to them once a second
    assert await kurz.database.read(lambda it: it.execute(query).scalar_one()) == 0
    assert holds(await kurz.database.read(stored_days), clicks.made)


async def test_imported_numbers_stop_no_counting(store, clicks, kurz):
    rows = "\n".join(f"https://example.com/{n},{MOST_CLICKS}" for n in range(1025))
    results = await run(kurz, f"original_url,redirect_count\n{rows}")
    assert outcomes(results) == ["created"] * 1025
    await load(store, clicks, SEGMENT, 2)
    assert holds(await kurz.database.read(stored_days), clicks.made)
    totals = await kurz.database.read(stored_totals)
    total, _ = totals[INSTALLATION.kind, INSTALLATION.id]
    assert (type(total), total) == (int, MOST_CLICKS)


async def test_what_does_not_start_where_counting_stands_is_refused_whole(store, clicks, kurz):
    first = clicks.batch(START, 100)
    assert await store.apply(first)
    before = await kurz.database.read(everything)
    for start in (
        START,
        JournalPosition(SEGMENT, 99),
        JournalPosition(SEGMENT, 101),
        JournalPosition(OTHER_SEGMENT, 100),
    ):
        assert not await store.apply(clicks.batch(start, 200, days=range(-4, 3)))
    assert await kurz.database.read(everything) == before
    assert await store.apply(clicks.batch(JournalPosition(SEGMENT, 100), 200))


async def test_of_loaders_of_the_same_segment_one_counts(store, others, clicks, kurz):
    for number in range(10):
        batch = clicks.batch(JournalPosition(SEGMENT, number), number + 1)
        taken = await asyncio.gather(*(loader.apply(batch) for loader in (store, *others)))
        assert sorted(taken) == [False, False, True]
    await check(kurz.database, clicks)


async def test_a_refusal_undoes_nothing_of_the_writes_beside_it(store, clicks, kurz):
    assert await store.apply(clicks.batch(START, 1))
    refused = Clicks(0).batch(START, 1)
    created, is_counted, is_taken = await asyncio.gather(
        kurz.links.create(Draft(original_url="https://example.com/", custom_code="beside")),
        store.apply(refused),
        store.apply(clicks.batch(JournalPosition(SEGMENT, 1), 2)),
    )
    assert (is_counted, is_taken) == (False, True)
    found = await kurz.store.find_by_code(0, "beside")
    assert found is not None
    assert found.id == created.link.id
    await check(kurz.database, clicks)


@on_sqlite
async def test_a_disk_that_fills_up_in_the_middle_leaves_nothing(store, clicks, kurz):
    def stop_growing(connection: sa.Connection, pages: int) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    assert await store.apply(clicks.batch(START, 1))
    before = await kurz.database.read(everything)
    await kurz.database.write(stop_growing, 1)  # that is: where it is now
    large = Clicks(clock_day(kurz)).batch(JournalPosition(SEGMENT, 1), 2, number=3000)
    with pytest.raises(StoreUnavailable):
        await store.apply(large)
    assert await kurz.database.read(everything) == before
    await kurz.database.write(stop_growing, 1_000_000)
    assert await store.apply(clicks.batch(JournalPosition(SEGMENT, 1), 2))
    await check(kurz.database, clicks)


def clock_day(kurz: Kurz) -> int:
    return kurz.clock.micros() // MICROS_OF_DAY


@pytest.fixture
def proxy(postgres) -> Iterator[FaultProxy]:
    with FaultProxy(postgres.port) as proxy:
        yield proxy


@on_postgres
@pytest.mark.parametrize("table", ["click_days", "click_totals"])
async def test_a_connection_that_breaks_in_the_middle_leaves_nothing(
    store, clicks, kurz, settings, proxy, table
):
    """The batch waits for a table that somebody holds, with the rest of it already written."""
    assert await store.apply(clicks.batch(START, 1))
    before = await kurz.database.read(everything)
    name = settings.database_url.rpartition("/")[2]
    url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"
    database = PostgresDatabase(url, deadlines=PATIENT)
    batch = clicks.batch(JournalPosition(SEGMENT, 1), 2)
    holder = await asyncpg.connect(settings.database_url)
    async with holder.transaction():
        await holder.execute(f"LOCK TABLE {table} IN SHARE MODE")
        broken = asyncio.create_task(SqlClickStore(database, kurz.clock).apply(batch))
        while not await holder.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert not broken.done()
            await asyncio.sleep(0.01)
        proxy.cut()
        with pytest.raises(StoreUnavailable):
            await broken
    await holder.close()
    assert await kurz.database.read(everything) == before
    proxy.pass_on()
    await database.close()
    assert await store.apply(batch)
    await check(kurz.database, clicks)


async def test_clicks_too_old_or_from_the_future_are_counted_but_not_kept(store, clicks, kurz):
    assert await store.apply(clicks.batch(START, 1, number=400, days=range(-95, 10)))
    assert holds(await kurz.database.read(stored_days), clicks.made)
    days = range(clock_day(kurz) - 90, clock_day(kurz) + 3)
    kept = await kurz.database.read(stored_events)
    assert sorted(kept) == sorted(event for event in clicks.made if event.day in days)
    assert len(kept) < len(clicks.made)


async def test_no_click_is_kept_if_none_is_to_be(clicks, kurz):
    store = SqlClickStore(kurz.database, kurz.clock, kept_days=0)
    assert await store.apply(clicks.batch(START, 1))
    assert await kurz.database.read(stored_events) == []
    assert holds(await kurz.database.read(stored_days), clicks.made)


async def test_clicks_are_numbered_as_they_are_loaded(store, clicks, kurz):
    for number in range(3):
        await store.apply(clicks.batch(JournalPosition(SEGMENT, number), number + 1, days=range(1)))
    assert await kurz.database.read(stored_events) == clicks.made


async def test_an_empty_batch_moves_the_position(store, kurz):
    assert await store.apply(Batch(START, JournalPosition(SEGMENT, 8)))
    assert await store.positions([SEGMENT]) == {SEGMENT: (8, None)}
    assert await kurz.database.read(stored_days) == {}


async def test_a_position_that_is_forgotten_is_gone(store):
    for segment in SEGMENT, OTHER_SEGMENT:
        assert await store.apply(Batch(JournalPosition(segment, 0), JournalPosition(segment, 8)))
    await store.forget([SEGMENT, bytes([9]) * 16])
    assert await store.positions([SEGMENT, OTHER_SEGMENT]) == {OTHER_SEGMENT: (8, None)}
    await store.forget([])
    assert await store.positions([]) == {}


async def test_homes_are_the_space_and_tags_that_a_link_has_now(store, kurz, people):
    owner = await people.add()
    team = await people.workspace(owner)
    drafts = [
        Draft(original_url="https://example.com/", tags=("b", "a"), workspace_id=team.id),
        Draft(original_url="https://example.com/", owner_id=owner.id),
        Draft(original_url="https://example.com/"),
    ]
    ids = [(await kurz.links.create(draft)).link.id for draft in drafts]
    assert await store.owners([*ids, 10**9]) == {
        ids[0]: LinkOwner(team.id, ("b", "a")),
        ids[1]: LinkOwner(space_of(0, owner.id), ()),
        ids[2]: LinkOwner(0, ()),
    }
    assert await store.owners([]) == {}
