"""Deleting and restoring links, on both engines."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from kurz.links.errors import InstantRefused, LinkBanned, LinkNotFound
from kurz.links.model import Link, LinkType, Status
from support.link_service import ANY, fetch, public, set_row
from support.links import create_link


async def test_a_deleted_link_is_in_the_trash(kurz):
    link = await create_link(kurz)
    kurz.clock.advance(seconds=1)
    now = kurz.clock.now()
    deleted = await kurz.links.delete(public(kurz, link), ANY)
    assert deleted == replace(
        link, version=2, status=Status.DELETED, deleted_at=now, updated_at=now
    )
    assert await fetch(kurz, link) == deleted
    with pytest.raises(LinkNotFound):
        await kurz.links.delete(public(kurz, link), ANY)
    with pytest.raises(LinkNotFound):
        await kurz.links.edit(public(kurz, link), ANY, {"title": "x"})
    assert await fetch(kurz, link) == deleted


async def test_a_banned_link_can_be_neither_edited_deleted_nor_restored(kurz):
    link = await create_link(kurz)
    await set_row(kurz, link, status=Status.BANNED)
    for attempt in (
        kurz.links.edit(public(kurz, link), ANY, {"title": "x"}),
        kurz.links.delete(public(kurz, link), ANY),
        kurz.links.restore(public(kurz, link), ANY),
    ):
        with pytest.raises(LinkBanned):
            await attempt
    assert await fetch(kurz, link) == replace(link, status=Status.BANNED)


async def test_a_restored_link_is_as_it_was(kurz):
    link = await create_link(kurz, title="kept", expires_in_seconds=60)
    await kurz.links.delete(public(kurz, link), ANY)
    restored = await kurz.links.restore(public(kurz, link), ANY)
    assert restored == replace(link, version=3)
    assert await fetch(kurz, link) == restored


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_restored_expired_link_lives_for_ever(kurz, is_deleted):
    link = await create_link(kurz, expires_in_seconds=60)
    if is_deleted:
        await kurz.links.delete(public(kurz, link), ANY)
    kurz.clock.advance(seconds=60)
    restored = await kurz.links.restore(public(kurz, link), ANY)
    assert (restored.expires_at, restored.deleted_at) == (None, None)
    assert kurz.links.status(restored) is restored.status is Status.ACTIVE


async def test_a_restored_expired_link_lives_until_the_given_end(kurz):
    link = await create_link(kurz, expires_in_seconds=60)
    kurz.clock.advance(days=3)
    expires_at = kurz.clock.now() + timedelta(days=1)
    restored = await kurz.links.restore(public(kurz, link), ANY, expires_at=expires_at)
    assert (restored.expires_at, restored.version) == (expires_at, 2)


async def test_a_link_is_not_restored_into_the_past(kurz):
    link = await create_link(kurz, expires_in_seconds=60)
    kurz.clock.advance(days=3)
    with pytest.raises(InstantRefused):
        await kurz.links.restore(public(kurz, link), ANY, expires_at=kurz.clock.now())
    assert await fetch(kurz, link) == link


async def test_a_temporary_link_restored_without_end_is_permanent(kurz):
    link = await create_link(kurz, is_anonymous=True)
    kurz.clock.advance(hours=8)
    restored = await kurz.links.restore(public(kurz, link), ANY)
    assert (restored.expires_at, restored.link_type) == (None, LinkType.PERMANENT)


async def test_a_live_link_is_restored_to_itself(kurz):
    link = await create_link(kurz, expires_in_seconds=60)
    end = kurz.clock.now() + timedelta(days=9)
    assert await kurz.links.restore(public(kurz, link), ANY) == link
    with pytest.raises(InstantRefused, match="is active"):
        await kurz.links.restore(public(kurz, link), ANY, expires_at=end)
    assert await fetch(kurz, link) == link


async def test_parallel_deletes_delete_once(kurz):
    link = await create_link(kurz)
    answers = await asyncio.gather(
        *(kurz.links.delete(public(kurz, link), ANY) for _ in range(10)), return_exceptions=True
    )
    assert sum(isinstance(answer, Link) for answer in answers) == 1
    assert sum(isinstance(answer, LinkNotFound) for answer in answers) == 9
    assert (await fetch(kurz, link)).version == 2
