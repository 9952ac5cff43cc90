"""Searches in lists of links, and the index behind them."""

import asyncio
from typing import cast

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.links.errors import FieldRefused
from kurz.links.model import Filter, Status
from kurz.storage.engine.database import Database
from kurz.storage.followers.search_indexer import SearchIndexer
from kurz.storage.links import search
from kurz.storage.links.search import merge_index
from kurz.storage.schema import links as link_tables
from kurz.wiring.core import Kurz
from support.links import NOW
from support.listing import (
    HERE,
    TEAM,
    fill,
    index,
    insert,
    insert_many,
    listed,
    on_sqlite,
    team_link,
)


async def test_a_search_has_three_characters(kurz):
    for text in "", "a", "ab", "   ", "ü%":
        with pytest.raises(FieldRefused, match="characters"):
            await kurz.links.list(HERE, Filter(search=text))
    assert (await kurz.links.list(HERE, Filter(search="abc"))).total == 0


TITLES = (
    *("100% off", "100 off", "a_b", "axb", 'say "hi"', "it's", "c:\\x", "[x]", "what?*", "ÄÖÜ"),
    *("äöü", "Straße", "ÇŁŠ éèñ", "x AND y", "(a)", "日本語のタイトル", "\U0001f600 smile"),
)
FOUND = {
    "00% o": {"100% off"},
    "a_b": {"a_b"},
    'y "h': {'say "hi"'},
    "T'S": {"it's"},
    "c:\\x": {"c:\\x"},
    "[x]": {"[x]"},
    "t?*": {"what?*"},
    "äÖü": {"ÄÖÜ", "äöü"},
    "RAßE": {"Straße"},
    "çłš ÉÈÑ": {"ÇŁŠ éèñ"},
    "x and Y": {"x AND y"},
    "(a)": {"(a)"},
    "本語の": {"日本語のタイトル"},
    "\U0001f600 s": {"\U0001f600 smile"},
    "'; DROP TABLE links; --": set(),
    "%%%": set(),
    "___": set(),
    "***": set(),
    '"""': set(),
}


@pytest.mark.parametrize("is_big", [False, True], ids=["few links", "many links"])
async def test_a_search_takes_every_character_as_it_is(kurz, is_big):
    filler = [team_link(number, id=10**6 + number, title="filler") for number in range(2500)]
    if is_big:
        await insert_many(kurz, filler)
    for number, title in enumerate(TITLES):
        await insert(kurz, team_link(10_000 + number, title=title))
    for _ in "behind", "up to date":
        for text, titles in FOUND.items():
            found = {each.title for each in await listed(kurz, Filter(search=text))}
            assert found == titles, text
        await index(kurz)


@pytest.fixture
async def many(kurz: Kurz) -> Kurz:
    """A space with so many links that the index of texts is asked, all of them indexed."""
    made = [team_link(number, id=10**6 + number, title="filler") for number in range(2500)]
    await insert_many(kurz, made)
    await index(kurz)
    return kurz


async def found_by(kurz, text: str) -> list[str]:
    return [each.short_code for each in await listed(kurz, Filter(search=text))]


async def test_a_search_sees_every_write_at_once(many):
    new = await insert(many, team_link(5000, title="needle one"))
    assert await found_by(many, "needle") == [new.short_code]
    await index(many)
    assert await found_by(many, "needle") == [new.short_code]
    again = await many.store.update(new, {"title": "needle two"}, NOW)
    assert await found_by(many, "needle") == [new.short_code]  # once, though changed and indexed
    edited = await many.store.update(again, {"title": "haystack"}, NOW)
    assert await found_by(many, "needle") == []
    assert await found_by(many, "haystack") == [new.short_code]
    await index(many)
    assert await found_by(many, "needle") == []
    assert await found_by(many, "haystack") == [new.short_code]
    await many.store.update(edited, {"status": Status.DELETED}, NOW)
    assert await found_by(many, "haystack") == []


@on_sqlite
async def test_the_index_forgets_links_that_are_gone(many):
    new = await insert(many, team_link(5000, title="needle"))
    await index(many)

    def entries(connection: sa.Connection) -> list[int]:
        match = "SELECT rowid FROM link_search WHERE link_search MATCH 'needle'"
        return list(connection.execute(sa.text(match)).scalars())

    assert await many.database.read(entries) == [new.id]

    def purge(connection: sa.Connection) -> None:
        connection.execute(sa.delete(link_tables.links).where(link_tables.links.c.id == new.id))
        search_it_again = sa.insert(link_tables.changes).values(
            link_id=new.id, workspace_id=TEAM, short_code=new.short_code, version=2, changed_at=0
        )
        connection.execute(search_it_again)

    await many.database.write(purge)
    assert await found_by(many, "needle") == []
    await index(many)
    assert await many.database.read(entries) == []


@on_sqlite
async def test_the_index_takes_changes_in_batches(kurz):
    await fill(kurz, 25, seed=1)
    assert [await index(kurz, 10) for _ in range(4)] == [10, 10, 5, 0]
    assert not await kurz.database.read(search.is_backlogged)


class Failing:
    """A database that is not there for the first writes."""

    def __init__(self, database: Database, failures: int) -> None:
        self.read = database.read
        self._database = database
        self._failures = failures

    async def write(self, *call):
        if self._failures:
            self._failures -= 1
            raise StoreUnavailable("not now")
        return await self._database.write(*call)


@on_sqlite
async def test_the_indexer_catches_up_and_goes_on_after_an_outage(kurz):
    await fill(kurz, 500, seed=1)
    failing = cast("Database", Failing(kurz.database, failures=2))
    indexer = SearchIndexer(failing, wake_seconds=0.01)
    indexer.start()
    await caught_up(kurz)
    await insert(kurz, team_link(9000))
    await caught_up(kurz)
    await indexer.stop()
    await insert(kurz, team_link(9001))
    assert await kurz.database.read(search.is_backlogged)


async def caught_up(kurz) -> None:
    async with asyncio.timeout(30):
        while await kurz.database.read(search.is_backlogged):  # noqa: ASYNC110  no event says so
            await asyncio.sleep(0.01)


@on_sqlite
async def test_merging_the_index_changes_no_search(many):
    await many.database.write(search.leave_merging_to_us)
    for number in range(40):
        await insert(many, team_link(5000 + number, title=f"needle {number % 4}"))
        await index(many)
    before = await found_by(many, "needle 3")
    while await many.database.write(merge_index):
        pass
    assert await found_by(many, "needle 3") == before
    assert len(before) == 10
