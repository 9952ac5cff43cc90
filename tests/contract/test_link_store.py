"""The store of links keeps its promises on both engines: inserts, scopes and lists."""

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kurz.clock import to_micros
from kurz.links import lifecycle
from kurz.links.model import Filter, FoundLinks, Link, PageEnd, Scope, Status, Strategy
from kurz.storage.schema import links as link_tables
from support.links import NOW, link
from support.stored_links import ALL, ANY, FULL, ODD_INSTANT, changes, execute, insert, rows


async def listed(kurz, wanted=ALL, scope=ANY, limit=1000) -> list[str]:
    found = await kurz.store.list(scope, wanted, NOW, limit=limit)
    return [each.short_code for each in found.links]


async def test_a_stored_link_is_found_as_it_was_given(kurz):
    stored = await insert(kurz, "Full", **FULL)
    assert await kurz.store.find(stored.id, ANY) == stored
    assert await kurz.store.find_by_code(7, "Full") == stored


async def test_a_plain_link_is_found_as_it_was_given(kurz):
    stored = await insert(kurz)
    assert await kurz.store.find(stored.id, ANY) == stored


async def test_an_unknown_link_is_none(kurz):
    assert await kurz.store.find(1, ANY) is None
    assert await kurz.store.find_by_code(0, "abc") is None
    assert await kurz.store.find_deterministic(1, "https://example.com/") is None


async def test_a_taken_code_gives_none_and_changes_nothing(kurz):
    first = await insert(kurz, title="first")
    assert await kurz.store.insert(link(title="second")) is None
    assert await kurz.store.find_by_code(0, "abc") == first
    assert await changes(kurz) == [(first.id, 0, "abc", 1)]


async def test_workspaces_have_codes_of_their_own(kurz):
    one, other = await insert(kurz, workspace_id=1), await insert(kurz, workspace_id=2)
    assert await kurz.store.find_by_code(1, "abc") == one
    assert await kurz.store.find_by_code(2, "abc") == other
    assert await kurz.store.find_by_code(0, "abc") is None


async def test_case_matters(kurz):
    lower, upper = await insert(kurz, "abc"), await insert(kurz, "ABC")
    assert (await kurz.store.find_by_code(0, "abc")).id == lower.id
    assert (await kurz.store.find_by_code(0, "ABC")).id == upper.id
    assert await kurz.store.find_by_code(0, "Abc") is None


async def test_parallel_inserts_of_one_code_store_one_link(kurz):
    ids = await asyncio.gather(*(kurz.store.insert(link()) for _ in range(30)))
    assert len([link_id for link_id in ids if link_id is not None]) == 1
    assert len(await rows(kurz, link_tables.links)) == 1
    assert len(await changes(kurz)) == 1


async def test_ids_are_never_given_twice(kurz):
    ids = [(await insert(kurz, f"code-{number}")).id for number in range(3)]
    await execute(kurz, "DELETE FROM links WHERE id = :id", id=ids[-1])
    await execute(kurz, "DELETE FROM changes")
    after_the_last = (await insert(kurz, "next")).id
    await execute(kurz, "DELETE FROM links")
    after_all = (await insert(kurz, "again")).id
    assert sorted({*ids, after_the_last, after_all}) == [*ids, after_the_last, after_all]


async def test_a_scope_hides_what_is_outside(kurz):
    stored = await insert(kurz, workspace_id=1, owner_id=5)
    inside = [Scope(), Scope(workspace_id=1), Scope(owner_id=5), Scope(1, 5)]
    outside = [Scope(2), Scope(0), Scope(owner_id=6), Scope(1, 6), Scope(2, 5)]
    for scope in inside:
        assert await kurz.store.find(stored.id, scope) == stored
        found = await kurz.store.list(scope, ALL, NOW, limit=9)
        assert found == FoundLinks([stored], [to_micros(stored.created_at)], 1)
    for scope in outside:
        assert await kurz.store.find(stored.id, scope) is None
        assert await kurz.store.list(scope, ALL, NOW, limit=9) == FoundLinks([], [], 0)


async def test_an_anonymous_link_has_no_owner_to_be_seen_by(kurz):
    stored = await insert(kurz, owner_id=None)
    assert await kurz.store.find(stored.id, Scope(0, 0)) is None
    assert await kurz.store.find(stored.id, Scope(0)) == stored


async def test_one_deterministic_link_for_a_canonical_url(kurz):
    url = "https://example.com/same"
    first = await insert(kurz, "one", workspace_id=1, strategy=Strategy.DETERMINISTIC, url=url)
    again = link("two", workspace_id=1, strategy=Strategy.DETERMINISTIC, url=url)
    assert await kurz.store.insert(again) is None
    assert await kurz.store.insert(replace(again, workspace_id=2)) is not None
    assert await kurz.store.insert(replace(again, strategy=Strategy.CUSTOM)) is not None
    assert await kurz.store.find_deterministic(1, url) == first
    assert await kurz.store.find_deterministic(3, url) is None


async def test_a_url_too_long_for_an_index_is_deterministic_too(kurz):
    noise = "".join(random.Random(1).choices("abcdefghij0123456789", k=2000))
    url = f"https://example.com/{noise}"
    stored = await insert(kurz, workspace_id=1, strategy=Strategy.DETERMINISTIC, url=url)
    assert await kurz.store.find_deterministic(1, url) == stored


async def test_lists_are_newest_first_with_a_total(kurz):
    ids = [(await insert(kurz, f"code-{number}")).id for number in range(5)]
    found = await kurz.store.list(ANY, ALL, NOW, limit=2)
    assert ([each.id for each in found.links], found.total) == ([ids[4], ids[3]], 5)
    found = await kurz.store.list(ANY, ALL, NOW, after=PageEnd(to_micros(NOW), ids[3]), limit=2)
    assert ([each.id for each in found.links], found.total) == ([ids[2], ids[1]], 5)
    found = await kurz.store.list(ANY, ALL, NOW, after=PageEnd(to_micros(NOW), ids[0]), limit=2)
    assert found == FoundLinks([], [], 5)


SEARCHABLE: dict[str, dict[str, str | None]] = {
    "slash-title": {"url": "http:", "title": "a/b"},
    "unicode": {"url": "https://plain.example", "title": "Grüße \U0001f600"},
    "percent": {"url": "http:", "title": "100% off"},
    "a_b": {"url": "http:", "title": None},
    "axb": {"url": "http:", "title": "1000 off"},
    "title-1": {"url": "http:", "title": "Spring Sale"},
    "backslash": {"url": "http:", "title": "c:\\x"},
    "Sale-code": {"url": "http:", "title": None},
    "in-url": {"url": "https:sale.example", "title": None},
    "in-notes": {"url": "http:", "title": "", "notes": "a sale in the notes only"},
}
FOUND: dict[str, set[str]] = {
    "sale": {"title-1", "Sale-code", "in-url"},
    "SALE": {"title-1", "Sale-code", "in-url"},
    "100%": {"percent"},
    "%": {"percent"},
    "a_b": {"a_b"},
    "_": {"a_b"},
    "c:\\x": {"backslash"},
    "\\": {"backslash"},
    "/": {"slash-title", "unicode"},
    "Grüße": {"unicode"},
    "\U0001f600": {"unicode"},
    "'; DROP TABLE links; --": set(),
    "nothing like it": set(),
    "": set(SEARCHABLE),
}


async def test_a_search_takes_every_character_as_it_is(kurz):
    for code, fields in SEARCHABLE.items():
        await insert(kurz, code, **fields)
    for search, codes in FOUND.items():
        wanted = Filter(search=search)
        found = await kurz.store.list(ANY, wanted, NOW, limit=1000)
        codes_found = {each.short_code for each in found.links}
        assert (codes_found, found.total) == (codes, len(codes)), search


async def test_a_search_does_not_look_outside_the_scope(kurz):
    await insert(kurz, "mine", owner_id=1, title="same words")
    await insert(kurz, "theirs", owner_id=2, title="same words")
    assert await listed(kurz, Filter(search="same"), Scope(0, 1)) == ["mine"]


def any_link(chance: random.Random, number: int) -> Link:
    instants = [None, *(NOW + timedelta(microseconds=distance) for distance in (-1, 0, 1))]
    return link(
        f"code-{number}",
        status=chance.choice(list(Status)),
        expires_at=chance.choice(instants),
        starts_at=chance.choice(instants),
        max_clicks=chance.choice([None, 1, 3]),
        clicks_used=chance.choice([0, 1, 2, 3, 4]),
    )


async def test_the_status_filter_is_the_status_of_the_lifecycle(kurz):
    chance = random.Random(7)
    everything = [any_link(chance, number) for number in range(300)]
    for start in range(0, 300, 100):  # more at once than may wait for a database are refused
        some = everything[start : start + 100]
        assert None not in await asyncio.gather(*map(kurz.store.insert, some))
    for status in Status:
        expected = {each.short_code for each in everything if lifecycle.status(each, NOW) is status}
        assert expected
        assert set(await listed(kurz, Filter(status=status))) == expected
        found = await kurz.store.list(ANY, Filter(status=status), NOW, limit=1)
        assert found.total == len(expected)


@pytest.mark.parametrize(
    "instant",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
        ODD_INSTANT,
        datetime.max.replace(tzinfo=UTC),
    ],
    ids=str,
)
async def test_instants_survive_to_the_microsecond(kurz, instant):
    fields = ("created_at", "updated_at", "starts_at", "expires_at")
    stored = await insert(kurz, **dict.fromkeys(fields, instant))
    found = await kurz.store.find(stored.id, ANY)
    assert [getattr(found, name) for name in fields] == [instant] * 4
    (row,) = await rows(kurz, link_tables.links)
    micros = (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert [row[name] for name in fields] == [micros] * 4


async def test_an_instant_of_deletion_survives_too(kurz):
    stored = await insert(kurz)
    deleted = await kurz.store.update(
        stored, {"status": Status.DELETED, "deleted_at": ODD_INSTANT}, NOW
    )
    assert deleted is not None
    assert (deleted.status, deleted.deleted_at) == (Status.DELETED, ODD_INSTANT)
    assert await kurz.store.find(stored.id, ANY) == deleted


async def test_a_claim_hash_is_kept_with_its_link(kurz):
    await kurz.store.insert(link("with"), bytes(range(32)))
    await kurz.store.insert(link("without"))
    kept = {row["short_code"]: row["claim_hash"] for row in await rows(kurz, link_tables.links)}
    assert kept == {"with": bytes(range(32)), "without": None}
