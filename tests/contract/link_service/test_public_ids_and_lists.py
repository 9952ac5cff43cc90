"""Public ids, lists and their pages, on both engines."""

import asyncio

import pytest

from kurz.errors import KurzError
from kurz.links.errors import CursorRefused, LinkNotFound
from kurz.links.model import Filter, Link, Scope, Status
from support.link_service import ALL, ANY, URL, fetch, public
from support.links import create_link


async def test_public_ids_hide_the_row_numbers(kurz):
    links = [await create_link(kurz) for _ in range(20)]
    ids = [public(kurz, link) for link in links]
    assert len(set(ids)) == 20
    assert all(0 <= number < 2**53 for number in ids)
    assert not set(ids) & {link.id for link in links}
    assert ids not in (sorted(ids), sorted(ids, reverse=True))
    for link, number in zip(links, ids, strict=True):
        assert await kurz.links.get(number, ANY) == link


async def test_unknown_ids_are_not_found(kurz):
    link = await create_link(kurz)
    for number in 0, 1, 2, 2**53 - 1, 2**53, 2**64, 10**40, -1:
        assert public(kurz, link) != number
        for attempt in (
            kurz.links.get(number, ANY),
            kurz.links.edit(number, ANY, {"title": "x"}),
            kurz.links.delete(number, ANY),
            kurz.links.restore(number, ANY),
        ):
            with pytest.raises(LinkNotFound):
                await attempt


async def test_links_of_others_look_as_if_they_did_not_exist(kurz):
    link = await create_link(kurz, owner_id=1)
    for scope in Scope(0, 2), Scope(1), Scope(1, 1):
        for attempt in (
            kurz.links.get(public(kurz, link), scope),
            kurz.links.edit(public(kurz, link), scope, {"title": "x"}),
            kurz.links.delete(public(kurz, link), scope),
            kurz.links.restore(public(kurz, link), scope),
        ):
            with pytest.raises(LinkNotFound):
                await attempt
    assert await fetch(kurz, link) == link


async def all_pages(kurz, limit: int, total: int) -> list[list[Link]]:
    pages: list[list[Link]] = []
    cursor = None
    while not pages or cursor is not None:
        page = await kurz.links.list(ANY, ALL, cursor=cursor, limit=limit)
        assert page.total == total
        pages.append(list(page.links))
        cursor = page.next_cursor
    return pages


async def test_pages_hold_every_link_once(kurz):
    made = await asyncio.gather(*(create_link(kurz, f"{URL}/{n}") for n in range(120)))
    newest_first = sorted(made, key=lambda link: link.id, reverse=True)
    for limit in 17, 50, 60, 119, 120, 121, 1000:
        pages = await all_pages(kurz, limit, total=120)
        assert [link for page in pages for link in page] == newest_first
        assert all(0 < len(page) <= limit for page in pages)
        assert len(pages) == -(-120 // limit)


async def test_an_empty_list_is_one_page(kurz):
    page = await kurz.links.list(ANY, ALL)
    assert (page.links, page.total, page.next_cursor) == ((), 0, None)


async def test_links_made_between_two_pages_do_not_shift_them(kurz):
    made = [await create_link(kurz, f"{URL}/{n}") for n in range(6)]
    first = await kurz.links.list(ANY, ALL, limit=3)
    await create_link(kurz)
    second = await kurz.links.list(ANY, ALL, limit=3, cursor=first.next_cursor)
    assert [*first.links, *second.links] == made[::-1]


async def test_cursors_that_are_none_are_refused(kurz):
    for cursor in "", "x", "-1", "1.5", str(2**53), "9" * 5000, "0x10", "\0":
        with pytest.raises(CursorRefused):
            await kurz.links.list(ANY, ALL, cursor=cursor)


async def test_a_list_is_filtered_by_the_status_of_the_moment(kurz):
    expiring = await create_link(kurz, expires_in_seconds=60)
    lasting = await create_link(kurz)

    async def expired() -> tuple[Link, ...]:
        page = await kurz.links.list(ANY, Filter(status=Status.EXPIRED))
        assert isinstance(page.links, tuple)
        return page.links

    assert await expired() == ()
    kurz.clock.advance(seconds=60)
    assert await expired() == (expiring,)
    page = await kurz.links.list(ANY, Filter(status=Status.ACTIVE))
    assert page.links == (lasting,)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"], ids=ascii)
async def test_text_that_no_engine_can_hold_finds_nothing(kurz, text):
    """An answer or a refusal, the same on both engines, and never a driver's error."""
    await create_link(kurz, title="a b")
    with pytest.raises(LinkNotFound):
        await kurz.links.get_by_code(0, text)
    try:
        page = await kurz.links.list(ANY, Filter(search=text))
    except KurzError:
        return
    assert page.total == 0
