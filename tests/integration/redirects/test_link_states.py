"""Following links that are unknown, expired, exhausted, deleted, paused or banned."""

import asyncio
from collections import Counter
from datetime import timedelta

import httpx2
import pytest
import sqlalchemy as sa

from kurz.links.model import Scope, Status
from kurz.storage.schema.links import links
from support.feed import until_told
from support.redirects import (
    BANNED,
    EXHAUSTED,
    EXPIRED,
    MISSING,
    URL,
    check_dead,
    on_sqlite,
    redirect,
)


async def test_an_unknown_code_is_not_found(client, add_link):
    link = await add_link(custom_code="AbCdEfG")
    await check_dead(client, "/nothing", *MISSING)
    await check_dead(client, "/abcdefg", *MISSING)
    await check_dead(client, "/ABCDEFG", *MISSING)
    await check_dead(client, f"/{link.short_code}/", *MISSING)
    assert redirect(await client.get("/AbCdEfG"))[0] == 302


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (Status.DELETED, MISSING),
        (Status.PAUSED, MISSING),
        (Status.BANNED, BANNED),
    ],
)
async def test_a_link_that_was_taken_away_says_so(client, add_link, status, answer):
    link = await add_link(URL, status=status)
    await check_dead(client, f"/{link.short_code}", *answer)


@on_sqlite
async def test_delete_pause_and_restore_are_seen_at_once(client, kurz, add_link):
    link = await add_link(URL)
    address, public_id = f"/{link.short_code}", kurz.links.public_id(link)
    await kurz.links.edit(public_id, Scope(), {"is_paused": True})
    await check_dead(client, address, *MISSING)
    await kurz.links.edit(public_id, Scope(), {"is_paused": False})
    assert redirect(await client.get(address))[0] == 302
    await kurz.links.delete(public_id, Scope())
    await check_dead(client, address, *MISSING)
    await kurz.links.restore(public_id, Scope())
    assert redirect(await client.get(address))[0] == 302
    await kurz.links.edit(public_id, Scope(), {"original_url": "https://example.com/new"})
    assert redirect(await client.get(address))[1] == "https://example.com/new"


async def test_a_link_answers_from_its_first_to_its_last_instant(client, add_link, clock):
    now = clock.now()
    link = await add_link(
        URL, starts_at=now + timedelta(hours=1), expires_at=now + timedelta(hours=2)
    )
    address = f"/{link.short_code}"
    clock.advance(hours=1, microseconds=-1)
    await check_dead(client, address, *MISSING)
    clock.advance(microseconds=1)
    assert redirect(await client.get(address))[0] == 302
    clock.advance(hours=1, microseconds=-1)
    assert redirect(await client.get(address))[0] == 302
    clock.advance(microseconds=1)
    await check_dead(client, address, *EXPIRED)
    clock.advance(days=1000)
    await check_dead(client, address, *EXPIRED)


async def test_a_link_that_has_begun_stays_in_memory(client, kurz, add_link, clock):
    link = await add_link(URL, starts_at=clock.now() + timedelta(seconds=10))
    address = f"/{link.short_code}"
    await check_dead(client, address, *MISSING)
    clock.advance(seconds=10)
    assert redirect(await client.get(address))[0] == 302
    paused = sa.update(links).values(status=Status.PAUSED).where(links.c.id == link.id)
    await kurz.database.write(lambda connection: connection.execute(paused))
    clock.advance(hours=1)
    assert redirect(await client.get(address))[0] == 302  # nothing was told of the pause


@on_sqlite
@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (Status.EXPIRED, (302, URL)),
        (Status.EXHAUSTED, (302, URL)),
    ],
)
async def test_expiry_is_decided_by_the_clock_whatever_the_row_says(
    client, add_link, status, answer
):
    link = await add_link(URL, status=status)
    assert redirect(await client.get(f"/{link.short_code}"))[:2] == answer


@on_sqlite
@pytest.mark.parametrize(
    ("status", "answer"),
    [(Status.DELETED, MISSING), (Status.BANNED, BANNED), (Status.PAUSED, EXPIRED)],
)
async def test_which_reason_counts_when_a_link_has_expired_as_well(
    client, add_link, clock, status, answer
):
    link = await add_link(URL, status=status, expires_in_seconds=60)
    clock.advance(seconds=60)
    await check_dead(client, f"/{link.short_code}", *answer)


@on_sqlite
async def test_a_banned_link_is_gone_even_before_it_starts(client, add_link, clock):
    starts_at = clock.now() + timedelta(days=1)
    link = await add_link(URL, status=Status.BANNED, starts_at=starts_at)
    await check_dead(client, f"/{link.short_code}", *BANNED)


async def test_a_link_is_used_up_after_its_clicks(client, add_link):
    link = await add_link(URL, max_clicks=2)
    for _ in range(2):
        assert redirect(await client.get(f"/{link.short_code}")) == (302, URL, "no-store")
    await check_dead(client, f"/{link.short_code}", *EXHAUSTED)
    await check_dead(client, f"/{link.short_code}+", *EXHAUSTED)


async def test_exactly_as_many_redirects_as_allowed_under_parallel_visitors(
    connect, kurz, add_link
):
    link = await add_link(URL, max_clicks=25)
    visitors = [await connect(), await connect(), await connect(temporary_link_hours=7)]

    async def visit(visitor: httpx2.AsyncClient) -> int:
        answer: httpx2.Response = await visitor.get(f"/{link.short_code}")
        if answer.status_code != 503:  # a slow machine has no room for all at once
            return answer.status_code
        await asyncio.sleep(0.1)
        return await visit(visitor)

    statuses = await asyncio.gather(*(visit(visitor) for _ in range(20) for visitor in visitors))
    assert Counter(statuses) == {302: 25, 410: 35}
    row = await kurz.store.find_by_code(0, link.short_code)
    assert row.clicks_used == 25


async def test_others_hear_that_a_link_is_used_up(client, connect, add_link):
    """By the change log: looking does not ask the store."""
    link = await add_link(URL, max_clicks=1)
    other = await connect(temporary_link_hours=7)
    assert (await other.head(f"/{link.short_code}")).status_code == 200
    assert (await client.get(f"/{link.short_code}")).status_code == 302

    async def is_heard() -> bool:
        answer: httpx2.Response = await other.head(f"/{link.short_code}")
        return answer.status_code == 410

    await until_told(is_heard)
