"""From a code to its entry: memory first, one lookup for all, and nothing old is kept."""

import asyncio
import contextlib
import gc
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.freshness.ports import NotNow
from kurz.freshness.routes import Change, Route
from kurz.links.lifecycle import Outcome
from kurz.links.model import Status
from kurz.redirect.hot import HotSet
from kurz.redirect.resolve import Resolver
from kurz.settings.model import Settings
from kurz.storage.engine.sqlite import BUSY_TIMEOUT_SECONDS, SqliteDatabase
from kurz.storage.routes.sqlite import SqliteRouteStore
from kurz.storage.schema.base import metadata
from kurz.wiring.engine import prepare
from support.clock import FrozenClock
from support.links import route

CLOCK = FrozenClock()


class SlowStore:
    """Answers a lookup when the test says so, with what it has at that moment or was told to."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str], Route] = {}
        self.waiting: list[asyncio.Future[Any]] = []
        self.finds = 0
        self.peeks = 0
        self.can_peek = False
        self.trouble: Exception | None = None

    def peek(self, workspace_id: int, short_code: str) -> Route | None:
        self.peeks += 1
        if self.trouble is not None:
            raise self.trouble
        if not self.can_peek:
            raise NotNow
        return self.rows.get((workspace_id, short_code))

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        self.finds += 1
        found = self.rows.get((workspace_id, short_code))  # read now, answered later
        self.waiting.append(asyncio.get_running_loop().create_future())
        await self.waiting[-1]
        return found

    def answer(self, number: int = -1) -> None:
        self.waiting[number].set_result(None)

    def fail(self, error: Exception) -> None:
        self.waiting[-1].set_exception(error)


@pytest.fixture
def store() -> SlowStore:
    return SlowStore()


@pytest.fixture
def resolver(store: SlowStore) -> Resolver:
    return Resolver(HotSet(100, 10**9), store, CLOCK)


async def ask(resolver: Resolver, count: int = 1, code: str = "abc") -> list[asyncio.Task[Any]]:
    """So many who ask at once and by now wait for the store."""
    asked = [asyncio.create_task(resolver.get(0, code)) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)
    return asked


def is_idle(resolver: Resolver) -> bool:
    return not resolver._flights and not resolver.hot._loads


async def test_ten_at_once_make_one_lookup(resolver, store):
    store.rows[0, "abc"] = route()
    asked = await ask(resolver, 10)
    store.answer()
    entries = await asyncio.gather(*asked)
    assert (store.finds, len(set(map(id, entries)))) == (1, 1)
    assert resolver.peek(0, "abc") == entries[0]
    assert is_idle(resolver)


async def test_other_codes_and_workspaces_have_lookups_of_their_own(resolver, store):
    store.rows = {(0, "abc"): route(link_id=1), (7, "abc"): route(link_id=2)}
    others = [asyncio.create_task(resolver.get(*key)) for key in [(0, "abc"), (7, "abc"), (0, "x")]]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for number in range(3):
        store.answer(number)
    first, second, third = await asyncio.gather(*others)
    assert (first.link_id, second.link_id) == (1, 2)
    assert third.outcome(CLOCK.micros()) is Outcome.MISSING


async def test_what_memory_knows_is_not_asked_for(resolver, store):
    store.rows[0, "abc"] = route()
    store.can_peek = True
    first = await resolver.get(0, "abc")
    assert await resolver.get(0, "abc") == first
    assert await resolver.get(0, "none") == await resolver.get(0, "none")
    assert (store.peeks, store.finds, resolver.lookups) == (2, 0, 2)
    assert is_idle(resolver)


async def test_a_store_that_cannot_answer_at_once_is_waited_for(resolver, store):
    store.rows[0, "abc"] = route()
    (asked,) = await ask(resolver)
    assert (store.peeks, store.finds) == (1, 1)
    store.answer()
    assert (await asked).link_id == 1


async def test_a_waiter_who_leaves_cancels_nothing(resolver, store):
    store.rows[0, "abc"] = route()
    leaving, *others = await ask(resolver, 3)
    leaving.cancel()
    await asyncio.sleep(0)
    store.answer()
    assert [entry.link_id for entry in await asyncio.gather(*others)] == [1, 1]
    assert leaving.cancelled()
    assert (store.finds, is_idle(resolver)) == (1, True)


@pytest.mark.parametrize("stay", [0, 1])
async def test_an_outage_after_somebody_has_left_is_no_unhandled_error(resolver, store, stay):
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
    asked = await ask(resolver, 3 + stay)
    for task in asked[stay:]:
        task.cancel()
    await asyncio.sleep(0)
    store.fail(StoreUnavailable("out"))
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(result) for result in results[:stay]] == [StoreUnavailable] * stay
    for _ in range(3):
        await asyncio.sleep(0)
    del asked, results, task
    store.waiting.clear()
    gc.collect()
    assert reports == []
    assert is_idle(resolver)


async def test_a_lookup_that_everybody_left_still_fills_the_memory(resolver, store):
    store.rows[0, "abc"] = route()
    for task in await ask(resolver, 3):
        task.cancel()
    await asyncio.sleep(0)
    store.answer()
    for _ in range(3):
        await asyncio.sleep(0)
    assert resolver.peek(0, "abc") is not None


async def test_an_outage_is_told_to_all_who_wait_and_not_remembered(resolver, store):
    asked = await ask(resolver, 5)
    store.fail(StoreUnavailable("out"))
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(result) for result in results] == [StoreUnavailable] * 5
    assert is_idle(resolver)
    assert resolver.peek(0, "abc") is None
    store.rows[0, "abc"] = route()
    (asked_again,) = await ask(resolver)
    store.answer()
    assert (await asked_again).link_id == 1


async def test_a_mistake_is_told_and_leaves_nothing_behind(resolver, store):
    asked = await ask(resolver, 2)
    store.fail(RuntimeError("a mistake"))
    for task in asked:
        with pytest.raises(RuntimeError, match="a mistake"):
            await task
    assert is_idle(resolver)
    store.trouble = RuntimeError("another one")
    with pytest.raises(RuntimeError, match="another one"):
        await resolver.get(0, "abc")
    assert is_idle(resolver)
    assert resolver.peek(0, "abc") is None


async def test_a_write_during_a_lookup_makes_those_who_come_later_look_again(resolver, store):
    store.rows[0, "abc"] = route(location="https://old.example/")
    before = await ask(resolver, 2)
    store.rows[0, "abc"] = route(version=2, location="https://new.example/")
    resolver.forget([Change(1, 0, "abc", 2)])
    after = await ask(resolver, 2)
    assert store.finds == 2
    store.answer(1)
    assert {entry.location for entry in await asyncio.gather(*after)} == {"https://new.example/"}
    store.answer(0)  # the older one comes last
    assert {entry.location for entry in await asyncio.gather(*before)} == {"https://old.example/"}
    kept = resolver.peek(0, "abc")
    assert kept is not None
    assert (kept.version, is_idle(resolver)) == (2, True)


async def test_what_was_found_before_a_write_is_not_kept(resolver, store):
    (asked,) = await ask(resolver)
    store.rows[0, "abc"] = route()
    resolver.forget([Change(1, 0, "abc", 1)])
    store.answer()
    assert (await asked).outcome(CLOCK.micros()) is Outcome.MISSING
    assert resolver.peek(0, "abc") is None


async def test_a_write_under_another_key_voids_nothing(resolver, store):
    store.rows[0, "abc"] = route()
    asked = await ask(resolver, 1)
    resolver.forget([Change(1, 7, "abc", 9), Change(1, 0, "abd", 9), Change(0, 0, "", 0)])
    asked += await ask(resolver, 1)
    store.answer()
    await asyncio.gather(*asked)
    assert store.finds == 1
    assert resolver.peek(0, "abc") is not None


@pytest.fixture
async def embedded(tmp_path: Path):
    """A real store in journal mode DELETE, as Python's own older SQLite has it."""
    settings = Settings(data_dir=tmp_path)
    await prepare(settings, upgrades_postgres=False)
    with contextlib.closing(sqlite3.connect(settings.database_path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    database = SqliteDatabase(settings.database_path, _OldSqlite)  # type: ignore[arg-type]
    await database.write(_insert_link)
    routes = SqliteRouteStore(database)
    yield settings.database_path, routes
    routes.close()
    await database.close()


class _OldSqliteMeta(type):
    def __getattr__(cls, name: str) -> Any:
        return getattr(sqlite3, name)


class _OldSqlite(metaclass=_OldSqliteMeta):
    """Python's `sqlite3`, whatever its version, without WAL."""

    sqlite_version_info = (3, 40, 1)


def _insert_link(connection: sa.Connection) -> None:
    links = metadata.tables["links"]
    values: dict[str, Any] = {
        column.name: 1
        for column in links.c
        if not column.nullable and column.default is None and column.server_default is None
    }
    values |= {"id": 5, "short_code": "abc", "workspace_id": 0, "status": Status.ACTIVE}
    values |= {"original_url": "https://e.example/", "redirect_status": 302}
    connection.execute(sa.insert(links).values(values))


async def test_a_locked_database_is_waited_for_by_find_and_never_by_peek(embedded):
    path, routes = embedded
    assert routes.peek(0, "abc").link_id == 5
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as locker:
        locker.execute("BEGIN EXCLUSIVE")
        locker.execute("UPDATE links SET version = 2")
        began = time.monotonic()
        for _ in range(5):  # on the connection that is open, and on new ones
            with pytest.raises(NotNow):
                routes.peek(0, "abc")
        assert time.monotonic() - began < BUSY_TIMEOUT_SECONDS / 2
        found = asyncio.create_task(routes.find(0, "abc"))
        await asyncio.sleep(0.1)
        assert not found.done()
        locker.execute("COMMIT")
        assert (await found).version == 2
    assert routes.peek(0, "abc").version == 2


async def test_a_resolver_answers_from_a_locked_database_once_it_is_free(embedded):
    path, routes = embedded
    resolver = Resolver(HotSet(100, 10**9), routes, CLOCK)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as locker:
        locker.execute("BEGIN EXCLUSIVE")
        asked = await ask(resolver, 3)
        assert not any(task.done() for task in asked)
        locker.execute("COMMIT")
        assert [entry.link_id for entry in await asyncio.gather(*asked)] == [5, 5, 5]
    assert is_idle(resolver)
