"""The read path's view of links is that of the store itself, on both engines."""

import asyncio
import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.errors import StoreUnavailable
from kurz.freshness.ports import NotNow
from kurz.freshness.routes import Route
from kurz.links import lifecycle
from kurz.links.lifecycle import Outcome
from kurz.links.model import Link, Status
from kurz.redirect.entry import Entry, key_of
from kurz.storage.engine.sqlite import SqliteDatabase
from kurz.storage.routes.lookups import Lookups
from kurz.storage.routes.postgres import PostgresRouteStore
from kurz.storage.routes.sqlite import SqliteRouteStore
from support.links import NOW, link, route_of
from support.patience import PATIENT

HOUR = timedelta(hours=1)

on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


@pytest.fixture
def routes(kurz):
    """As the read path takes it for the engine."""
    store = kurz.engine.open_routes(kurz.database, kurz.replicas)
    yield store
    store.close()


async def look_up(
    routes: SqliteRouteStore | PostgresRouteStore, workspace_id: int, code: str
) -> Route | None:
    """By `find`, and by `peek` where the engine has it: they must agree."""
    found = await routes.find(workspace_id, code)
    if isinstance(routes, SqliteRouteStore):
        assert routes.peek(workspace_id, code) == found
    else:
        with pytest.raises(NotNow):
            routes.peek(workspace_id, code)
    return found


def all_kinds() -> list[Link]:
    """Every status with every combination of what decides about a redirect."""
    instants = (None, NOW - HOUR, NOW + HOUR)
    limits = ((None, 0), (3, 0), (3, 3))
    numbers = itertools.count()
    return [
        link(
            f"c{next(numbers)}",
            status=status,
            starts_at=starts_at,
            expires_at=expires_at,
            max_clicks=max_clicks,
            clicks_used=clicks_used,
            redirect_status=(301, 302, 307, 308)[index % 4],
            forward_query=index % 2 == 0,
        )
        for index, (status, starts_at, expires_at, (max_clicks, clicks_used)) in enumerate(
            itertools.product(Status, instants, instants, limits)
        )
    ]


async def test_links_of_all_kinds_are_as_the_store_has_them(kurz, routes):
    for new in all_kinds():
        assert await kurz.store.insert(new) is not None
    for new in all_kinds():
        stored = await kurz.store.find_by_code(0, new.short_code)
        found = await look_up(routes, 0, new.short_code)
        assert found == route_of(stored)
        entry = Entry.of(key_of(0, new.short_code), 0, found, to_micros(NOW))
        assert entry.outcome(to_micros(NOW)) is lifecycle.outcome(stored, NOW)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(Status.DELETED, Outcome.EXPIRED), (Status.BANNED, Outcome.BANNED)],
)
async def test_what_the_reaper_swept_has_expired_unless_it_was_banned(
    kurz, routes, status, outcome
):
    ended = {"expires_at": NOW - HOUR, "deleted_at": NOW, "swept_at": NOW}
    assert await kurz.store.insert(link("abc", status=status, **ended)) is not None
    stored = await kurz.store.find_by_code(0, "abc")
    found = await look_up(routes, 0, "abc")
    assert found is not None
    entry = Entry.of(key_of(0, "abc"), 0, found, to_micros(NOW))
    assert entry.outcome(to_micros(NOW)) is lifecycle.outcome(stored, NOW) is outcome


LOCATIONS = {
    "same": {},
    "fragment": {"location": "https://example.com/x#top"},
    "encoded": {"original_url": "https://example.com/ü", "location": "https://example.com/%C3%BC"},
    "long": {"location": "https://example.com/" + "x" * 4000},
}


@pytest.mark.parametrize("kind", LOCATIONS)
async def test_the_location_is_the_stored_one_or_the_original_url(kurz, routes, kind):
    new = link("abc", **LOCATIONS[kind])
    assert await kurz.store.insert(new) is not None
    found = await look_up(routes, 0, "abc")
    assert found is not None
    assert found.location == new.location
    stored = await kurz.store.find_by_code(0, "abc")
    edited = await kurz.store.update(
        stored, {"original_url": "https://b.example/", "location": "https://b.example/"}, NOW
    )
    assert edited is not None
    found = await look_up(routes, 0, "abc")
    assert found is not None
    assert (found.location, found.version) == ("https://b.example/", 2)


async def test_codes_are_told_apart_by_letter_case_and_workspace(kurz, routes):
    for new in (link("abc"), link("ABC"), link("abc", workspace_id=7)):
        assert await kurz.store.insert(new) is not None
    for workspace_id, code in [(0, "abc"), (0, "ABC"), (7, "abc")]:
        stored = await kurz.store.find_by_code(workspace_id, code)
        assert await look_up(routes, workspace_id, code) == route_of(stored)
    for workspace_id, code in [(7, "ABC"), (1, "abc"), (0, "ab"), (0, "abc "), (0, "' OR 1=1 --")]:
        assert await look_up(routes, workspace_id, code) is None


async def test_every_write_is_seen_by_the_next_lookup(kurz, routes):
    assert await look_up(routes, 0, "abc") is None
    assert await kurz.store.insert(link("abc", max_clicks=2)) is not None
    stored = await kurz.store.find_by_code(0, "abc")
    assert await look_up(routes, 0, "abc") == route_of(stored)
    assert await kurz.store.spend_click(stored.id)
    assert await look_up(routes, 0, "abc") == route_of(replace(stored, clicks_used=1))
    trashed = await kurz.store.update(stored, {"status": Status.DELETED, "deleted_at": NOW}, NOW)
    assert await look_up(routes, 0, "abc") == route_of(trashed)
    moved = await kurz.store.update(trashed, {"short_code": "other"}, NOW)
    assert await look_up(routes, 0, "abc") is None
    assert await look_up(routes, 0, "other") == route_of(moved)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_direct_lookup_keeps_no_read_open(kurz, routes, settings):
    """One that stayed open would keep the write-ahead log from being emptied."""
    assert isinstance(kurz.database, SqliteDatabase)
    for number in range(20):
        assert await kurz.store.insert(link(f"code{number}")) is not None
        assert await look_up(routes, 0, f"code{number}") is not None

    with kurz.database._engine.connect() as connection:
        (is_busy, *_) = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    assert not is_busy


@on_postgres
async def test_codes_asked_for_together_are_looked_up_together(kurz):
    for number in range(120):
        assert await kurz.store.insert(link(f"code{number}", workspace_id=number % 3)) is not None
    lookups = Lookups(kurz.database.hosts, seconds=PATIENT.lookup_seconds)
    codes = [(number % 4, f"code{number}") for number in range(150)]
    answers = await asyncio.gather(*(lookups.find(*code) for code in (*codes, *codes)))
    for (workspace_id, code), (route, _) in zip((*codes, *codes), answers, strict=True):
        stored = await kurz.store.find_by_code(workspace_id, code)
        assert route == (None if stored is None else route_of(stored))
    assert (lookups.lookups, lookups.queries) == (300, 3)
    assert lookups.connections == 2
    lookups.close()


# What PostgreSQL or its driver cannot even read.
MISTAKES = [(0, "nul\0"), (2**63, "abc"), (0, "\ud800")]


@on_postgres
@pytest.mark.parametrize("mistake", MISTAKES, ids=["nul", "too large", "surrogate"])
async def test_a_code_that_cannot_be_asked_for_fails_alone(kurz, routes, mistake):
    assert await kurz.store.insert(link("abc")) is not None
    asked = [routes.find(0, "abc"), routes.find(*mistake), routes.find(0, "x")]
    good, bad, unknown = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(good, Route)
    assert isinstance(bad, Exception)
    assert not isinstance(bad, StoreUnavailable)
    assert unknown is None


@on_postgres
async def test_the_index_is_used_however_small_the_table_was_at_first(kurz):
    assert await kurz.store.insert(link("abc")) is not None
    await kurz.database.write(lambda connection: connection.execute(sa.text("ANALYZE links")))
    lookups = Lookups(kurz.database.hosts, seconds=PATIENT.lookup_seconds)
    await lookups.find(0, "x")
    statement = lookups._lines[0]._statement
    plan = str(await statement.explain([0] * 100, [f"code{number}" for number in range(100)]))
    assert "uq_links_workspace_id_short_code" in plan
    assert "Seq Scan" not in plan
    lookups.close()


@on_postgres
async def test_a_migration_beside_it_is_noticed_by_no_lookup(kurz, routes):
    assert await kurz.store.insert(link("abc")) is not None
    before = await look_up(routes, 0, "abc")
    other_type = "ALTER TABLE links ALTER COLUMN redirect_status TYPE integer"
    await kurz.database.write(lambda connection: connection.execute(sa.text(other_type)))
    for _ in range(3):
        assert await look_up(routes, 0, "abc") == before
