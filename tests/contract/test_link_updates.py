"""Updates of stored links, their change log and their clicks, on both engines."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kurz.storage.schema import links as link_tables
from support.links import NOW, link
from support.stored_links import ANY, FULL, changes, execute, insert, rows


async def test_an_update_writes_its_changes_and_the_next_version(kurz):
    stored = await insert(kurz)
    later = NOW + timedelta(seconds=5)
    updated = await kurz.store.update(stored, {"title": "new", "tags": ("x",)}, later)
    assert updated == replace(stored, version=2, title="new", tags=("x",), updated_at=later)
    assert await kurz.store.find(stored.id, ANY) == updated


async def test_an_update_clears_what_is_none(kurz):
    stored = await insert(kurz, **FULL)
    cleared: dict[str, Any] = {
        "title": None,
        "tags": (),
        "notes": None,
        "expires_at": None,
        "starts_at": None,
    }
    updated = await kurz.store.update(stored, cleared, NOW)
    assert updated == replace(stored, version=2, **cleared)
    assert await kurz.store.find(stored.id, ANY) == updated


async def test_an_update_of_the_url_moves_the_location(kurz):
    stored = await insert(kurz, **FULL)
    plain = "https://example.com/plain"
    new: dict[str, Any] = {"original_url": plain, "canonical_url": plain, "location": plain}
    updated = await kurz.store.update(stored, new, NOW)
    assert updated == replace(stored, version=2, **new)
    back: dict[str, Any] = {
        "original_url": "https://e.example/ä",
        "location": "https://e.example/%C3%A4",
    }
    again = await kurz.store.update(updated, back, NOW)
    assert again == replace(updated, version=3, **back)
    assert await kurz.store.find(stored.id, ANY) == again


async def test_an_update_of_an_old_version_writes_nothing(kurz):
    stored = await insert(kurz)
    first = await kurz.store.update(stored, {"title": "first"}, NOW)
    assert await kurz.store.update(stored, {"title": "second"}, NOW) is None
    assert await kurz.store.find(stored.id, ANY) == first
    assert await changes(kurz) == [(stored.id, 0, "abc", 1), (stored.id, 0, "abc", 2)]


async def test_an_update_of_a_link_that_is_gone_writes_nothing(kurz):
    stored = await insert(kurz)
    await execute(kurz, "DELETE FROM links")
    assert await kurz.store.update(stored, {"title": "ghost"}, NOW) is None
    assert await changes(kurz) == [(stored.id, 0, "abc", 1)]


async def test_of_parallel_updates_of_one_version_one_is_written(kurz):
    stored = await insert(kurz)
    answers = await asyncio.gather(
        *(kurz.store.update(stored, {"title": str(number)}, NOW) for number in range(20))
    )
    written = [answer for answer in answers if answer is not None]
    assert len(written) == 1
    assert await kurz.store.find(stored.id, ANY) == written[0]
    assert written[0].version == 2
    assert len(await changes(kurz)) == 2


async def test_a_rename_to_a_taken_code_writes_nothing(kurz):
    stored, other = await insert(kurz, "mine"), await insert(kurz, "taken")
    assert await kurz.store.update(stored, {"short_code": "taken", "title": "x"}, NOW) is None
    assert await kurz.store.find(stored.id, ANY) == stored
    assert await kurz.store.find_by_code(0, "taken") == other
    assert await changes(kurz) == [(stored.id, 0, "mine", 1), (other.id, 0, "taken", 1)]


async def test_a_rename_leaves_a_change_for_each_code(kurz):
    stored = await insert(kurz, "old", workspace_id=4)
    assert await kurz.store.update(stored, {"short_code": "new"}, NOW) is not None
    assert (await changes(kurz))[0] == (stored.id, 4, "old", 1)
    assert sorted((await changes(kurz))[1:]) == [
        (stored.id, 4, "new", 2),
        (stored.id, 4, "old", 2),
    ]
    assert await kurz.store.find_by_code(4, "old") is None


async def test_changes_carry_the_instant_of_their_write(kurz):
    later = NOW + timedelta(microseconds=1)
    stored = await insert(kurz)
    await kurz.store.update(stored, {"title": "x"}, later)
    micros = [row["changed_at"] for row in await rows(kurz, link_tables.changes)]
    assert micros == [1_772_366_400_000_000, 1_772_366_400_000_001]


@pytest.mark.parametrize("write", ["insert", "update"])
async def test_a_write_whose_change_cannot_be_kept_is_undone(kurz, write):
    """The link and its row in the change log are one transaction: neither without the other."""
    stored = await insert(kurz)
    await execute(kurz, "ALTER TABLE changes RENAME TO elsewhere")
    attempt = (
        kurz.store.insert(link("new"))
        if write == "insert"
        else kurz.store.update(stored, {"title": "x"}, NOW)
    )
    with pytest.raises(Exception, match="changes"):
        await attempt
    await execute(kurz, "ALTER TABLE elsewhere RENAME TO changes")
    assert await kurz.store.find(stored.id, ANY) == stored
    assert await kurz.store.find_by_code(0, "new") is None
    assert await changes(kurz) == [(stored.id, 0, "abc", 1)]


async def test_clicks_are_spent_exactly_under_parallel_calls(kurz):
    stored = await insert(kurz, max_clicks=20)
    other = await insert(kurz, "other", max_clicks=20)
    answers = await asyncio.gather(*(kurz.store.spend_click(stored.id) for _ in range(50)))
    assert (answers.count(True), answers.count(False)) == (20, 30)
    assert (await kurz.store.find(stored.id, ANY)).clicks_used == 20
    assert (await kurz.store.find(other.id, ANY)).clicks_used == 0


async def test_the_last_click_alone_is_a_change(kurz):
    stored = await insert(kurz, max_clicks=2)
    before = await changes(kurz)
    assert await kurz.store.spend_click(stored.id)
    assert await changes(kurz) == before
    assert (await kurz.store.find(stored.id, ANY)).version == stored.version
    assert await kurz.store.spend_click(stored.id)
    spent = [(stored.id, 0, stored.short_code, stored.version + 1)]
    assert await changes(kurz) == [*before, *spent]
    assert (await kurz.store.find(stored.id, ANY)).version == stored.version + 1
    assert not await kurz.store.spend_click(stored.id)
    assert await changes(kurz) == [*before, *spent]


async def test_a_link_without_a_limit_has_no_click_to_spend(kurz):
    stored = await insert(kurz)
    assert not await kurz.store.spend_click(stored.id)
    assert not await kurz.store.spend_click(stored.id + 1)


async def test_clicks_spent_meanwhile_survive_an_update(kurz):
    stored = await insert(kurz, max_clicks=5)
    assert await kurz.store.spend_click(stored.id)
    updated = await kurz.store.update(stored, {"title": "x"}, NOW)
    assert updated is not None
    assert updated.clicks_used == 1
