"""Deterministic links, on both engines: one for a URL, revived when it is dead, with salts."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from kurz.links.codes import deterministic
from kurz.links.errors import CodesExhausted, LinkBanned
from kurz.links.model import Draft, Status, Strategy
from kurz.people.receipts import AlreadyAnswered, Receipt
from kurz.storage.links.receipts import SqlReceiptStore
from support.link_service import ANY, URL, create, fetch, number_of_links, public, set_row, shared


async def test_parallel_creates_of_one_url_make_one_link(kurz):
    answers = await asyncio.gather(*(shared(kurz, title=str(number)) for number in range(50)))
    assert sum(answer.is_new for answer in answers) == 1
    assert len({answer.link.id for answer in answers}) == 1
    assert await number_of_links(kurz) == 1


async def test_the_same_url_gives_the_existing_link_unchanged(kurz):
    first = await shared(kurz, title="first", tags=("x",), owner_id=1)
    kurz.clock.advance(seconds=1)
    for url in URL, "HTTPS://EXAMPLE.com:443/page/", f"{URL}#part", f"{URL}?&":
        again = await shared(kurz, url, title="second", expires_in_seconds=5, owner_id=2)
        assert (again.is_new, again.link) == (False, first.link)
    assert await fetch(kurz, first.link) == first.link


async def test_other_workspaces_have_links_of_their_own(kurz):
    one, two = await shared(kurz), await create(kurz, workspace_id=2)
    assert two.is_new
    assert one.link.short_code != two.link.short_code


async def test_fragments_are_not_part_of_a_deterministic_link(kurz):
    first = await shared(kurz, f"{URL}#one")
    second = await shared(kurz, f"{URL}#two")
    assert (second.is_new, second.link.location) == (False, f"{URL}#one")
    custom = await shared(kurz, f"{URL}#two", custom_code="part-two")
    assert (custom.is_new, custom.link.location) == (True, f"{URL}#two")
    assert custom.link.id != first.link.id


@pytest.mark.parametrize("end", ["expired", "deleted", "deleted and expired", "marked"])
async def test_a_dead_deterministic_link_comes_back_with_the_new_fields(kurz, end):
    first = await shared(
        kurz, f"{URL}#old", title="old", tags=("old",), expires_in_seconds=60, max_clicks=5
    )
    assert await kurz.store.spend_click(first.link.id)
    await set_row(kurz, first.link, redirect_count=7, avg_redirect_ms=1.5)
    if end.startswith("deleted"):
        await kurz.links.delete(public(kurz, first.link), ANY)
    if end != "deleted":
        kurz.clock.advance(seconds=60)
    if end == "marked":
        await set_row(kurz, first.link, status=Status.EXPIRED)
    before = await fetch(kurz, first.link)
    again = await shared(kurz, f"{URL}#new", title="new", notes="n", redirect_status=301)
    assert again.is_new
    assert again.link == await fetch(kurz, first.link)
    assert again.link == replace(
        before,
        version=before.version + 1,
        status=Status.ACTIVE,
        deleted_at=None,
        expires_at=None,
        original_url=f"{URL}#new",
        location=f"{URL}#new",
        title="new",
        tags=(),
        notes="n",
        redirect_status=301,
        max_clicks=None,
        clicks_used=0,
        updated_at=kurz.clock.now(),
    )
    assert (again.link.redirect_count, again.link.avg_redirect_ms) == (7, 1.5)
    assert again.link.short_code == first.link.short_code


async def test_a_dead_link_is_revived_by_one_of_many(kurz):
    first = await shared(kurz)
    await kurz.links.delete(public(kurz, first.link), ANY)
    answers = await asyncio.gather(*(shared(kurz, title=str(number)) for number in range(20)))
    assert sum(answer.is_new for answer in answers) == 1
    assert {answer.link.version for answer in answers} == {3}
    assert await number_of_links(kurz) == 1


async def test_a_revival_is_undone_when_its_request_was_answered_already(kurz):
    first = await shared(kurz)
    await kurz.links.delete(public(kurz, first.link), ANY)
    deleted = await fetch(kurz, first.link)
    receipt = Receipt("account:1", b"key", b"print", kurz.clock.now(), lambda _: b"answer")
    await SqlReceiptStore(kurz.database).keep(receipt, None)
    draft = Draft(original_url=URL, workspace_id=1)
    with pytest.raises(AlreadyAnswered):
        await kurz.links.create(draft, receipt=receipt)
    assert await fetch(kurz, first.link) == deleted


async def test_a_banned_link_never_comes_back(kurz):
    first = await shared(kurz, expires_in_seconds=60)
    await set_row(kurz, first.link, status=Status.BANNED)
    banned = await fetch(kurz, first.link)
    for seconds in 0, 60:
        kurz.clock.advance(seconds=seconds)
        with pytest.raises(LinkBanned):
            await shared(kurz)
    assert await fetch(kurz, first.link) == banned
    assert await number_of_links(kurz) == 1


@pytest.mark.parametrize("status", [Status.PAUSED, Status.EXHAUSTED])
async def test_a_resting_link_is_given_back_as_it_is(kurz, status):
    first = await shared(kurz, max_clicks=1)
    await set_row(kurz, first.link, status=status, clicks_used=1)
    again = await shared(kurz, title="new")
    assert (again.is_new, again.link) == (False, await fetch(kurz, first.link))
    assert again.link.title is None


async def test_an_edited_url_makes_a_deterministic_link_a_custom_one(kurz):
    first = await shared(kurz)
    other = "https://other.example/"
    edited = await kurz.links.edit(public(kurz, first.link), ANY, {"original_url": other})
    assert (edited.strategy, edited.short_code) == (Strategy.CUSTOM, first.link.short_code)
    assert (edited.original_url, edited.location, edited.canonical_url) == (other, other, other)
    again = await shared(kurz)
    assert again.is_new
    assert again.link.short_code == deterministic.generate(URL, 1, salt=1)
    assert (await shared(kurz, other)).is_new


async def test_an_edit_to_the_same_canonical_url_keeps_it_deterministic(kurz):
    first = await shared(kurz)
    edit = {"original_url": f"{URL}/#part"}
    edited = await kurz.links.edit(public(kurz, first.link), ANY, edit)
    assert (edited.strategy, edited.location) == (Strategy.DETERMINISTIC, f"{URL}/#part")
    assert (await shared(kurz)).link == edited


async def test_a_renamed_deterministic_link_is_a_custom_one(kurz):
    first = await shared(kurz)
    edit = {"custom_code": "renamed"}
    edited = await kurz.links.edit(public(kurz, first.link), ANY, edit)
    assert (edited.strategy, edited.short_code) == (Strategy.CUSTOM, "renamed")
    again = await shared(kurz)
    assert (again.is_new, again.link.short_code) == (True, first.link.short_code)


async def take_salted_codes(kurz, salts: Iterable[int]) -> None:
    for salt in salts:
        code = deterministic.generate(URL, 1, salt)
        await shared(kurz, f"https://other.example/{salt}", custom_code=code)


async def test_salts_are_used_while_codes_are_taken(kurz):
    await take_salted_codes(kurz, range(3))
    created = await shared(kurz)
    assert (created.is_new, created.link.short_code) == (True, deterministic.generate(URL, 1, 3))
    again = await shared(kurz)
    assert (again.is_new, again.link) == (False, created.link)


async def test_the_tenth_salt_is_the_last(kurz):
    await take_salted_codes(kurz, range(9))
    created = await shared(kurz)
    assert created.link.short_code == deterministic.generate(URL, 1, 9)


async def test_ten_taken_codes_exhaust_a_url(kurz):
    await take_salted_codes(kurz, range(10))
    with pytest.raises(CodesExhausted):
        await shared(kurz)
    assert await number_of_links(kurz) == 10
