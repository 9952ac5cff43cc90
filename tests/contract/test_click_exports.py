"""Each click of a link, a tag, a workspace or the installation, in the order of loading."""

import asyncio
import math
import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import Event, JournalPosition, tag_subject
from kurz.clicks.exports import StatsFormat, write_events
from kurz.clicks.periods import Period
from kurz.clicks.stats import EVERYTHING, About, about_link, about_space
from kurz.links.model import Draft, Link
from kurz.storage.clicks import event_reader
from kurz.storage.clicks.event_reader import (
    KEYS_AT_ONCE,
    ROWS_AT_ONCE,
    DayKeys,
    find_keys,
    find_rows,
    in_parts,
    read_events,
)
from kurz.storage.clicks.events import ensure_days, stored_days, trim_events
from kurz.storage.clicks.stats import SqlStatsStore
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.schema.clicks import click_events
from kurz.storage.schema.links import link_tags
from kurz.wiring.core import Kurz
from support import batches
from support.batches import MICROS_OF_DAY, stored_events
from support.counted import Clicks
from support.engines import without_redis
from support.plans import plans_of

engine = without_redis  # which has no part in it
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
SPACE, OTHER_SPACE = 7, 8
FIRST_DAY = 20_500
GONE = 4711  # a link that was purged


async def make(kurz: Kurz, code: str, *tags: str, workspace_id: int = SPACE) -> Link:
    draft = Draft(
        original_url="https://example.com/",
        custom_code=code,
        workspace_id=workspace_id,
        tags=tags,
    )
    return (await kurz.links.create(draft)).link


async def exported(store: SqlStatsStore, about: About, days: range) -> list[Event]:
    return [event async for events in store.events(about, days) for event in events]


def when(day: int, micros: int = 0) -> datetime:
    return datetime.fromtimestamp(day * 86_400 + micros / 1_000_000, UTC)


@pytest.mark.parametrize(("keys", "rows"), [(1, 1), (3, 2), (10, 7), (60, 100), (5000, 250)])
async def test_an_export_has_the_clicks_that_a_plain_search_finds_in_the_same_order(
    kurz, keys, rows
):
    chance = random.Random(keys)
    links = [
        await make(kurz, "plain"),
        await make(kurz, "red", "red"),
        await make(kurz, "both", "red", "blue"),
        await make(kurz, "away", "red", workspace_id=OTHER_SPACE),
    ]
    ids = [link.id for link in links] + [GONE]
    clicks = Clicks(kurz.database)
    for number in range(300):
        # Clicks stay in the workspace where they were counted: a tag has only those of its own.
        space = chance.choice((SPACE, SPACE, OTHER_SPACE))
        day = FIRST_DAY + chance.choice((0, 1, 2, 3, 9, 17, 18))
        clicks.add_of(chance.choice(ids), space, when(day), referrer=f"site{number}")
    await clicks.save()
    everything = await kurz.database.read(stored_events)
    store = SqlStatsStore(kurz.database, keys_at_once=keys, rows_at_once=rows)
    red, blue = {links[1].id, links[2].id}, {links[2].id}
    subjects: list[tuple[About, Callable[[Event], bool]]] = [
        (about_link(links[0], SPACE), lambda event: event.link_id == links[0].id),
        (about_space(SPACE), lambda event: event.space == SPACE),
        (
            await kurz.stats.about_tag(SPACE, "red"),
            lambda event: event.space == SPACE and event.link_id in red,
        ),
        (
            await kurz.stats.about_tag(SPACE, "blue"),
            lambda event: event.space == SPACE and event.link_id in blue,
        ),
        (EVERYTHING, lambda _: True),
        (about_space(99), lambda _: False),
    ]
    for about, is_wanted in subjects:
        for _ in range(4):
            first = FIRST_DAY + chance.randrange(-3, 20)
            days = range(first, first + chance.randrange(1, 30))
            wanted = [event for event in everything if event.day in days and is_wanted(event)]
            assert await exported(store, about, days) == wanted


async def test_a_period_within_days_has_only_the_clicks_of_its_time(kurz):
    link = await make(kurz, "plain")
    clicks = Clicks(kurz.database)
    instants = [when(FIRST_DAY + day, second * 1_000_000) for day in range(3) for second in (0, 50)]
    for number, instant in enumerate(instants):
        clicks.add(link, instant, referrer=f"site{number}")
    await clicks.save()
    period = Period(instants[1], instants[4], UTC)
    pieces = [
        piece
        async for piece in write_events(
            kurz.stats, about_link(link, SPACE), period, StatsFormat.JSON
        )
    ]
    assert re.findall(r"site\d", b"".join(pieces).decode()) == ["site1", "site2", "site3"]


async def test_clicks_that_arrive_meanwhile_make_none_missing_and_none_double(kurz, clock):
    today = clock.micros() // MICROS_OF_DAY
    made = batches.Clicks(today)
    loader = SqlClickStore(kurz.database, kurz.clock)
    offset = 0

    async def load(number: int) -> None:
        nonlocal offset
        start = JournalPosition(bytes(16), offset)
        assert await loader.apply(made.batch(start, offset + 1, number=number))
        offset += 1

    await load(150)
    before = await kurz.database.read(stored_events)
    store = SqlStatsStore(kurz.database, keys_at_once=20, rows_at_once=6)
    found: list[Event] = []
    async for events in store.events(EVERYTHING, range(today - 5, today + 1)):
        found += events
        if len(made.made) < 400:
            await load(10)
    assert len(made.made) >= 400
    assert len(set(found)) == len(found)
    assert set(before) <= set(found) <= set(made.made)
    assert [event for event in found if event in set(before)] == before


async def test_clicks_that_are_trimmed_meanwhile_do_not_end_the_export(kurz, clock):
    today = clock.micros() // MICROS_OF_DAY
    made = batches.Clicks(today)
    loader = SqlClickStore(kurz.database, kurz.clock)
    batch = made.batch(JournalPosition(bytes(16), 0), 1, number=90)
    assert await loader.apply(batch)
    before = await kurz.database.read(stored_events)
    store = SqlStatsStore(kurz.database, keys_at_once=1000, rows_at_once=10)
    found: list[Event] = []
    async for events in store.events(EVERYTHING, range(today - 5, today + 1)):
        if not found:  # two days go, in the order of their age
            for _ in range(2):
                await kurz.database.write(trim_events, today, 1000)
        found += events
    assert found == before[:10] + [event for event in before[10:] if event.day == today]


async def test_an_export_comes_in_small_parts_between_which_others_have_their_turn(kurz):
    link = await make(kurz, "busy")
    clicks = Clicks(kurz.database)
    for day in range(3):
        clicks.add(link, when(FIRST_DAY + day), 700, referrer="site")
    await clicks.save()
    others_turns = 0

    async def take_turns() -> None:
        nonlocal others_turns
        while True:
            await asyncio.sleep(0)
            others_turns += 1

    other = asyncio.create_task(take_turns())
    period = Period(when(FIRST_DAY), when(FIRST_DAY + 3), UTC)
    sizes = []
    turns = set()
    async for piece in write_events(kurz.stats, about_link(link, SPACE), period, StatsFormat.CSV):
        sizes.append(piece.count(b"site"))
        turns.add(others_turns)
    other.cancel()
    assert sum(sizes) == 2100
    assert max(sizes) <= ROWS_AT_ONCE <= 250
    assert KEYS_AT_ONCE <= 5000
    assert len(turns) >= 2100 // ROWS_AT_ONCE


def test_parts_have_every_number_once_and_are_full_but_for_the_last():
    found = [DayKeys(1, [5, 6, 9]), DayKeys(3, [1]), DayKeys(4, [2, 3, 4, 8, 10])]
    assert [*in_parts(found, 4)] == [
        [DayKeys(1, [5, 6, 9]), DayKeys(3, [1])],
        [DayKeys(4, [2, 3, 4, 8])],
        [DayKeys(4, [10])],
    ]
    for size in range(1, 11):
        parts = [*in_parts(found, size)]
        assert [sum(len(keys.ids) for keys in part) for part in parts[:-1]] == [size] * (
            len(parts) - 1
        )
        flat = [(keys.day, id_) for part in parts for keys in part for id_ in keys.ids]
        assert flat == [(keys.day, id_) for keys in found for id_ in keys.ids]
    assert [*in_parts([], 4)] == []


CLICKS_A_DAY, LINKS, DAYS = 4_000, 500, 12


def fill(connection: sa.Connection) -> None:
    """Many clicks of many links, the same every day."""
    days = range(FIRST_DAY, FIRST_DAY + DAYS)
    ensure_days(connection, days)
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < CLICKS_A_DAY))
    texts = ("sort", "country", "referrer", "browser", "system", "device", "language")
    for day in days:
        columns: dict[str, Any] = {
            "day": sa.literal(day),
            "id": numbers.c.n,
            "at": sa.literal(day * MICROS_OF_DAY),
            "link_id": numbers.c.n % LINKS + 1,
            "space": sa.literal(SPACE),
            "latency_micros": sa.literal(1.0),
            **{name: sa.literal("text") for name in texts},
            "visitor": sa.literal(bytes(8)),
        }
        rows = sa.select(*columns.values())
        connection.execute(sa.insert(click_events).from_select([*columns], rows))
    connection.execute(sa.text("ANALYZE"))


@pytest.fixture
async def filled(kurz: Kurz) -> Kurz:
    with deadline(LONG_SECONDS):
        await kurz.database.write(fill)
    return kurz


def partitions_in(plans: Sequence[str]) -> set[int]:
    return {int(day) for plan in plans for day in re.findall(r"\bclick_events_(\d{5})\b", plan)}


def held_partitions(connection: sa.Connection) -> set[int]:
    """Those that this transaction has opened, on PostgreSQL."""
    names = connection.execute(
        sa.text(
            "SELECT relation::regclass::text FROM pg_locks"
            " WHERE pid = pg_backend_pid() AND relation IS NOT NULL"
        )
    ).scalars()
    return partitions_in([*names])


@pytest.mark.parametrize("kind", ["link", "tag"])
@pytest.mark.parametrize("length", [1, 4])
async def test_an_export_goes_by_the_index_of_links_and_by_the_days_of_the_period(
    filled, kind, length
):
    link = await make(filled, "first", "red")  # the first of the installation
    assert link.id <= LINKS
    about = about_link(link, SPACE)
    if kind == "tag":
        about = await filled.stats.about_tag(SPACE, "red")
    days = [*range(FIRST_DAY + 3, FIRST_DAY + 3 + length)]

    def read(connection: sa.Connection) -> tuple[list[str], list[Event], set[int]]:
        plans: list[str] = []
        with plans_of(connection, plans, "click_events"):
            found = find_keys(connection, about, days, -1, KEYS_AT_ONCE)
            [part] = in_parts(found, ROWS_AT_ONCE)
            events = find_rows(connection, about, part)
        is_postgres = connection.dialect.name == "postgresql"
        return plans, events, held_partitions(connection) if is_postgres else set()

    plans, events, held = await filled.database.read(read)
    assert [event.day for event in events] == sorted(days * (CLICKS_A_DAY // LINKS))
    keys_plan, rows_plan = plans
    if filled.settings.is_embedded:
        assert re.search(
            r"SEARCH click_events USING COVERING INDEX ix_click_events_link", keys_plan
        )
        assert "SEARCH click_events USING PRIMARY KEY (day=? AND id=?)" in rows_plan
        assert "SCAN click_events" not in keys_plan + rows_plan
    else:
        assert f"click_events_{days[0]}_day_link_id_id_idx" in keys_plan
        assert f"click_events_{days[0]}_pkey" in rows_plan
        assert "Seq Scan on click_events" not in keys_plan + rows_plan
        assert partitions_in(plans) == held == set(days)


@on_postgres
@pytest.mark.parametrize(("many_links", "is_joined"), [(10_000, False), (10, True)])
async def test_the_links_of_a_tag_are_looked_up_one_by_one_unless_there_are_too_many(
    filled, monkeypatch, many_links, is_joined
):
    monkeypatch.setattr(event_reader, "MANY_LINKS", many_links)
    about = About(tag_subject(SPACE, "red"), SPACE, "red")
    tagged = range(1, LINKS, 3)

    def read(connection: sa.Connection) -> tuple[str, list[DayKeys]]:
        row = {"space": SPACE, "tag": "red", "in_trash": False}
        connection.execute(sa.insert(link_tags), [{**row, "link_id": it} for it in tagged])
        connection.execute(sa.text("ANALYZE link_tags"))
        plans: list[str] = []
        with plans_of(connection, plans, "click_events"):
            found = find_keys(connection, about, [FIRST_DAY, FIRST_DAY + 1], -1, KEYS_AT_ONCE)
        return plans[0], found

    plan, found = await filled.database.write(read)
    assert ("Join" in plan) is is_joined
    assert [len(keys.ids) for keys in found] == [len(tagged) * CLICKS_A_DAY // LINKS] * 2


@on_postgres
@pytest.mark.parametrize("what", ["space", "everything"])
async def test_an_export_of_many_links_opens_no_partition_outside_its_period(filled, what):
    about = about_space(SPACE) if what == "space" else EVERYTHING
    period = range(FIRST_DAY + 3, FIRST_DAY + 6)

    def read(connection: sa.Connection) -> set[int]:
        days = stored_days(connection, period)
        found = find_keys(connection, about, days, -1, KEYS_AT_ONCE)
        find_rows(connection, about, next(in_parts(found, ROWS_AT_ONCE)))
        find_keys(connection, about, days[1:2], 100, KEYS_AT_ONCE)
        return held_partitions(connection)

    assert await filled.database.read(read) == set(period)


@pytest.mark.parametrize(("quick_seconds", "reads"), [(math.inf, 3), (0.0, DAYS)])
async def test_keys_of_few_clicks_are_read_for_more_and_more_days_unless_that_is_slow(
    filled, monkeypatch, quick_seconds, reads
):
    monkeypatch.setattr(event_reader, "QUICK_SECONDS", quick_seconds)
    link = await make(filled, "first")
    statements: list[str] = []

    class Watched:
        async def read(self, query: Any, *arguments: Any) -> Any:
            statements.append(query.__name__)
            return await filled.database.read(query, *arguments)

    days = range(FIRST_DAY - 400, FIRST_DAY + 400)
    events = read_events(Watched(), about_link(link, SPACE), days, 5000, 250)  # type: ignore[arg-type]
    assert len([event async for part in events for event in part]) == 12 * CLICKS_A_DAY // LINKS
    assert statements[0] == "stored_days"
    assert statements.count("find_keys") == reads  # of one day, of four, of the others
    assert statements.count("find_rows") == reads
