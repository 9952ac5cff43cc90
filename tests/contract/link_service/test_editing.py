"""Editing links, on both engines."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from kurz.links.errors import (
    CustomCodeRefused,
    CustomCodeTaken,
    InstantRefused,
    LinkNotFound,
    UrlRefused,
    VersionOutdated,
)
from kurz.links.model import Link, LinkType, Status, Strategy
from support.link_service import ANY, fetch, public
from support.links import create_link


async def test_an_edit_changes_what_it_names_and_nothing_else(kurz):
    link = await create_link(kurz, title="old", tags=("a",), notes="kept", owner_id=1)
    kurz.clock.advance(seconds=3)
    expires_at = kurz.clock.now() + timedelta(days=1)
    edit = {"title": "new", "tags": (), "expires_at": expires_at, "max_clicks": 3}
    edited = await kurz.links.edit(public(kurz, link), ANY, edit)
    assert edited == replace(link, version=2, updated_at=kurz.clock.now(), **edit)
    assert await fetch(kurz, link) == edited


async def test_every_write_counts_the_version_up_by_one(kurz):
    link = await create_link(kurz)
    number = public(kurz, link)
    edits = [{"title": "a"}, {"custom_code": "renamed"}, {"is_paused": True}]
    versions = [(await kurz.links.edit(number, ANY, edit)).version for edit in edits]
    versions.append((await kurz.links.delete(number, ANY)).version)
    versions.append((await kurz.links.restore(number, ANY)).version)
    assert versions == [2, 3, 4, 5, 6]


async def test_parallel_edits_are_all_written(kurz):
    link = await create_link(kurz)
    edits = [{"title": "t"}, {"notes": "n"}, {"max_clicks": 3}]
    await asyncio.gather(*(kurz.links.edit(public(kurz, link), ANY, edit) for edit in edits))
    assert await fetch(kurz, link) == replace(
        link, version=4, title="t", notes="n", max_clicks=3, updated_at=kurz.clock.now()
    )


async def test_an_expected_version_guards_an_edit(kurz):
    link = await create_link(kurz)
    number = public(kurz, link)
    edited = await kurz.links.edit(number, ANY, {"title": "first"}, expected_version=1)
    for version in 1, 3, 0:
        with pytest.raises(VersionOutdated):
            await kurz.links.edit(number, ANY, {"title": "late"}, expected_version=version)
    assert await fetch(kurz, link) == edited


async def test_of_parallel_edits_of_one_version_one_is_written(kurz):
    link = await create_link(kurz)
    answers = await asyncio.gather(
        *(
            kurz.links.edit(public(kurz, link), ANY, {"title": str(n)}, expected_version=1)
            for n in range(10)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, Link) for answer in answers) == 1
    assert sum(isinstance(answer, VersionOutdated) for answer in answers) == 9


async def test_a_link_is_renamed_unless_the_code_is_taken(kurz):
    link, other = await create_link(kurz), await create_link(kurz, custom_code="taken")
    with pytest.raises(CustomCodeTaken):
        await kurz.links.edit(public(kurz, link), ANY, {"custom_code": "taken"})
    with pytest.raises(CustomCodeRefused):
        await kurz.links.edit(public(kurz, link), ANY, {"custom_code": "API"})
    assert await fetch(kurz, link) == link
    edited = await kurz.links.edit(public(kurz, link), ANY, {"custom_code": "free"})
    assert (edited.short_code, edited.strategy) == ("free", Strategy.CUSTOM)
    assert await kurz.links.get_by_code(0, "taken") == other
    with pytest.raises(LinkNotFound):
        await kurz.links.get_by_code(0, link.short_code)


async def test_keeping_the_code_keeps_the_strategy(kurz):
    link = await create_link(kurz)
    edit = {"custom_code": link.short_code, "title": "x"}
    edited = await kurz.links.edit(public(kurz, link), ANY, edit)
    assert (edited.strategy, edited.short_code) == (Strategy.RANDOM, link.short_code)


async def test_an_edited_url_is_judged_like_a_new_one(kurz):
    link = await create_link(kurz)
    with pytest.raises(UrlRefused):
        await kurz.links.edit(public(kurz, link), ANY, {"original_url": "javascript:alert(1)"})
    assert await fetch(kurz, link) == link


async def test_edited_instants_are_judged_like_new_ones(kurz):
    now = kurz.clock.now()
    link = await create_link(kurz, expires_at=now + timedelta(days=1))
    for edit in (
        {"expires_at": now},
        {"starts_at": now - timedelta(microseconds=1)},
        {"starts_at": now + timedelta(days=1)},
        {"starts_at": now + timedelta(hours=2), "expires_at": now + timedelta(hours=1)},
    ):
        with pytest.raises(InstantRefused):
            await kurz.links.edit(public(kurz, link), ANY, edit)
    assert await fetch(kurz, link) == link


async def test_an_edit_cannot_end_a_link_before_it_starts(kurz):
    now = kurz.clock.now()
    link = await create_link(kurz, starts_at=now + timedelta(days=2))
    with pytest.raises(InstantRefused):
        await kurz.links.edit(public(kurz, link), ANY, {"expires_at": now + timedelta(days=1)})
    assert await fetch(kurz, link) == link


async def test_a_link_is_not_restored_to_end_before_it_starts(kurz):
    now = kurz.clock.now()
    link = await create_link(kurz, starts_at=now + timedelta(days=2))
    await kurz.links.delete(public(kurz, link), ANY)
    with pytest.raises(InstantRefused):
        await kurz.links.restore(public(kurz, link), ANY, expires_at=now + timedelta(days=1))


async def test_a_start_that_has_passed_does_not_hinder_other_edits(kurz):
    link = await create_link(kurz, starts_at=kurz.clock.now())
    kurz.clock.advance(days=1)
    assert (await kurz.links.edit(public(kurz, link), ANY, {"title": "x"})).title == "x"


async def test_a_paused_link_rests_until_it_is_woken(kurz):
    link = await create_link(kurz)
    paused = await kurz.links.edit(public(kurz, link), ANY, {"is_paused": True})
    assert kurz.links.status(paused) is Status.PAUSED
    woken = await kurz.links.edit(public(kurz, link), ANY, {"is_paused": False})
    assert kurz.links.status(woken) is Status.ACTIVE


async def test_an_expired_link_lives_again_with_a_later_end(kurz):
    link = await create_link(kurz, expires_in_seconds=60)
    kurz.clock.advance(seconds=60)
    assert kurz.links.status(link) is Status.EXPIRED
    edit = {"expires_at": kurz.clock.now() + timedelta(seconds=1)}
    edited = await kurz.links.edit(public(kurz, link), ANY, edit)
    assert kurz.links.status(edited) is Status.ACTIVE


async def test_a_link_without_end_is_not_temporary(kurz):
    link = await create_link(kurz, is_anonymous=True)
    edited = await kurz.links.edit(public(kurz, link), ANY, {"expires_at": None})
    assert (edited.expires_at, edited.link_type) == (None, LinkType.PERMANENT)
