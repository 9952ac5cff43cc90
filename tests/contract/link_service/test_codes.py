"""Random, counted and custom codes, on both engines: what happens when they are taken."""

import asyncio
import hashlib

import pytest

from kurz.links.errors import CodesExhausted, CustomCodeTaken
from kurz.links.model import Draft, Link, Strategy
from kurz.storage.links.installation import LeasedCounter, lease_numbers
from kurz.wiring.core import open_kurz
from support.link_service import (
    ANY,
    URL,
    create,
    fetch,
    number_of_links,
    public,
    service,
    stored_row,
)
from support.links import create_link


async def test_a_random_code_is_tried_five_times(kurz):
    for code in "one", "two", "3-3", "4-4":
        await create_link(kurz, custom_code=code)
    codes = ["one", "two", "3-3", "4-4", "free", "never"]
    created = await service(kurz, random_codes=codes).create(Draft(original_url=URL))
    assert created.link.short_code == "free"
    assert await fetch(kurz, created.link) == created.link


async def test_five_taken_random_codes_exhaust_the_attempt(kurz):
    await create_link(kurz, custom_code="one")
    attempted = iter(["one"] * 5 + ["free"])
    narrow = service(kurz, random_codes=attempted)
    with pytest.raises(CodesExhausted):
        await narrow.create(Draft(original_url=URL))
    assert list(attempted) == ["free"]
    assert await number_of_links(kurz) == 1


async def test_an_anonymous_link_keeps_its_claim_after_a_collision(kurz):
    await create_link(kurz, custom_code="one")
    narrow = service(kurz, random_codes=["one", "free"])
    created = await narrow.create(Draft(original_url=URL, is_anonymous=True))
    assert created.claim_token is not None
    row = await stored_row(kurz, created.link)
    assert row["short_code"] == "free"
    assert row["claim_hash"] == hashlib.sha256(created.claim_token.encode()).digest()


@pytest.mark.parametrize("taken", [4, 5])
async def test_taken_counter_values_are_skipped_up_to_five_times(kurz, taken):
    for number in range(taken):
        await create_link(kurz, custom_code=f"code-{number}")
    counted = service(kurz, counted_code="code-{}".format)
    draft = Draft(original_url=URL, strategy=Strategy.COUNTER)
    if taken == 5:
        with pytest.raises(CodesExhausted):
            await counted.create(draft)
    assert (await counted.create(draft)).link.short_code == f"code-{taken}"


async def test_two_services_never_lease_the_same_numbers(kurz, settings, clock):
    async with open_kurz(settings, clock) as other:
        counters = [
            LeasedCounter(parts.database, block=7) for parts in (kurz, other) for _ in range(2)
        ]
        numbers = await asyncio.gather(*(counters[i % 4].next() for i in range(400)))
    assert len(set(numbers)) == 400
    assert min(numbers) == 0


async def test_blocks_of_a_thousand_are_leased(kurz):
    counter = LeasedCounter(kurz.database, "test")
    assert [await counter.next() for _ in range(3)] == [0, 1, 2]
    assert await kurz.database.write(lease_numbers, "test", 10) == range(1000, 1010)
    assert [await counter.next() for _ in range(998)][-1] == 1010


async def test_two_instances_count_without_a_double(kurz, settings, clock):
    async with open_kurz(settings, clock) as other:
        links = await asyncio.gather(
            *(
                create_link(parts, strategy=Strategy.COUNTER)
                for parts in (kurz, other)
                for _ in range(30)
            )
        )
    assert len({link.short_code for link in links}) == len({link.id for link in links}) == 60


async def test_both_instances_have_the_same_keys(kurz, settings, clock):
    link = await create_link(kurz)
    async with open_kurz(settings, clock) as other:
        assert await other.links.get(public(kurz, link), ANY) == link


async def test_of_parallel_creates_with_one_custom_code_one_wins(kurz):
    answers = await asyncio.gather(
        *(create_link(kurz, f"{URL}/{n}", custom_code="wanted") for n in range(20)),
        return_exceptions=True,
    )
    winners = [answer for answer in answers if isinstance(answer, Link)]
    losers = [answer for answer in answers if isinstance(answer, CustomCodeTaken)]
    assert (len(winners), len(losers)) == (1, 19)
    assert await kurz.links.get_by_code(0, "wanted") == winners[0]


async def test_a_code_in_the_trash_is_still_taken(kurz):
    link = await create_link(kurz, custom_code="wanted")
    await kurz.links.delete(public(kurz, link), ANY)
    with pytest.raises(CustomCodeTaken):
        await create(kurz, f"{URL}/other", custom_code="wanted")


async def test_what_the_operator_made_is_the_operators_to_make_again(kurz):
    link = await create_link(kurz, custom_code="wanted")
    again = await create(kurz, custom_code="wanted")
    assert (again.is_new, again.link) == (False, link)
    with pytest.raises(CustomCodeTaken):
        await create(kurz, custom_code="wanted", owner_id=1)


async def test_an_anonymous_link_is_nobodys_to_make_again(kurz):
    link = await create_link(kurz, is_anonymous=True)
    with pytest.raises(CustomCodeTaken):
        await create(kurz, custom_code=link.short_code)


async def test_the_same_custom_code_in_another_case_is_free(kurz):
    await create_link(kurz, custom_code="wanted")
    assert (await create(kurz, custom_code="Wanted")).is_new
