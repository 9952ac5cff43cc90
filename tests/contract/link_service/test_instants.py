"""When links start and expire, on both engines."""

from datetime import datetime, timedelta, timezone

import pytest

from kurz.links.errors import InstantRefused
from kurz.links.model import Draft
from support.link_service import URL, create, fetch, number_of_links, service
from support.links import create_link

LONG = 36_500 * 86_400  # seconds in the longest life


async def test_expires_in_counts_from_now(kurz):
    for seconds in 1, 28_800:
        link = await create_link(kurz, expires_in_seconds=seconds, is_anonymous=True)
        assert link.expires_at == kurz.clock.now() + timedelta(seconds=seconds)
    for seconds in 1, 28_801, LONG:
        link = await create_link(kurz, expires_in_seconds=seconds)
        assert link.expires_at == kurz.clock.now() + timedelta(seconds=seconds)


async def test_expires_in_has_bounds(kurz):
    for seconds in 0, -1, 28_801, LONG, 10**30:
        with pytest.raises(InstantRefused):
            await create(kurz, expires_in_seconds=seconds, is_anonymous=True)
    for seconds in 0, -1, LONG + 1, 10**30:
        with pytest.raises(InstantRefused):
            await create(kurz, expires_in_seconds=seconds)
    assert await number_of_links(kurz) == 0


async def test_instants_in_the_past_are_refused(kurz):
    now = kurz.clock.now()
    moment = timedelta(microseconds=1)
    for fields in (
        {"expires_at": now},
        {"expires_at": now - moment},
        {"starts_at": now - moment},
        {"starts_at": now + moment, "expires_at": now + moment},
        {"starts_at": now + timedelta(seconds=10), "expires_in_seconds": 10},
        {"expires_at": now + moment, "expires_in_seconds": 5},
    ):
        with pytest.raises(InstantRefused):
            await create(kurz, **fields)
    assert await number_of_links(kurz) == 0


async def test_the_nearest_instants_are_accepted(kurz):
    now = kurz.clock.now()
    moment = timedelta(microseconds=1)
    link = await create_link(kurz, starts_at=now, expires_at=now + moment)
    assert (link.starts_at, link.expires_at) == (now, now + moment)


async def test_the_last_instant_of_the_calendar_can_be_read_again(kurz):
    """An hour west of Greenwich the year 9999 ends in what no Python instant in UTC can hold."""
    last = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    try:
        link = await create_link(kurz, expires_at=last)
    except InstantRefused:
        assert await number_of_links(kurz) == 0
        return
    assert (await fetch(kurz, link)).expires_at == last


async def test_a_default_life_can_be_set(kurz):
    yearly = service(kurz, random_codes=["a", "b"], default_life=timedelta(days=365))
    now = kurz.clock.now()
    link = (await yearly.create(Draft(original_url=URL))).link
    assert link.expires_at == now + timedelta(days=365)
    temporary = (await yearly.create(Draft(original_url=URL, is_anonymous=True))).link
    assert temporary.expires_at == now + timedelta(hours=8)
