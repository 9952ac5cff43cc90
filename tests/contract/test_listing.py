"""Lists of links, on both engines: what they show, in which order, page by page."""

import base64
import json
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.errors import CursorRefused
from kurz.links.model import READ_LINKS, Filter, Link, Scope, Sort, Status
from kurz.storage.schema import links as link_tables
from support.engines import usually_on
from support.links import NOW
from support.listing import (
    HERE,
    OWNERS,
    TAGS,
    TEAM,
    any_link,
    expected,
    fill,
    index,
    insert,
    insert_many,
    listed,
    pages,
    team_link,
)

ALONE: list[dict[str, Any]] = [
    {},
    {"with_deleted": True},
    *({"status": status} for status in Status),
    *({"tag": tag} for tag in (*TAGS, "none")),
    *({"owner_id": owner} for owner in (*OWNERS, 99)),
    *(
        {"search": text}
        for text in ("alpha", "nowhere", "üss", "ÄRG", "HTTPS://", "e-1", "e-170", "% o")
    ),
    {"search": "https://beta.example/x"},
    {"created_from": NOW},
    {"created_before": NOW},
    {"created_from": NOW - timedelta(microseconds=1), "created_before": NOW},
]


def together(chance: random.Random) -> Filter:
    fields: dict[str, Any] = {"sort": chance.choice(list(Sort))}
    for one in chance.sample(ALONE, 3):
        fields |= one
    return Filter(**fields)


async def check(kurz, everything: list[Link], wanted: Filter, limit: int, scope=HERE) -> None:
    found = await listed(kurz, wanted, scope, limit)
    assert found == expected(everything, scope, wanted), (wanted, scope)


async def test_every_filter_in_every_order_shows_what_the_rules_say(kurz):
    everything = await fill(kurz, 200, seed=1)
    await index(kurz)
    for sort in Sort:
        for one in ALONE:
            await check(kurz, everything, Filter(sort=sort, **one), limit=30)


async def test_filters_together_show_what_the_rules_say(kurz):
    everything = await fill(kurz, 200, seed=2)
    await index(kurz, 120)
    chance = random.Random(3)
    scopes = [HERE, Scope(8), Scope(0, OWNERS[1]), Scope(TEAM, OWNERS[2]), Scope(), Scope(0)]
    for _ in range(120):
        await check(kurz, everything, together(chance), 30, chance.choice([HERE, *scopes]))


@usually_on("sqlite")
async def test_a_space_of_many_links_shows_what_the_rules_say(kurz):
    """Many enough that orders are walked and the index of texts is asked, also while it is behind
    and when the space is one of many."""
    chance = random.Random(4)
    everything = [replace(any_link(chance, n), id=10**6 + n) for n in range(4200)]
    others = [
        replace(each, id=each.id + part * 10**6, workspace_id=99, short_code=f"{part}-{each.id}")
        for each in everything
        for part in (1, 2)
    ]
    await insert_many(kurz, [*others, *everything])
    await index(kurz, 9000)
    chance = random.Random(5)
    for number in range(60):
        alone = Filter(sort=chance.choice(list(Sort)), **ALONE[number % len(ALONE)])
        await check(kurz, everything, alone if number % 2 else together(chance), limit=1500)
        if number == 30:
            await index(kurz)


@usually_on("sqlite")
async def test_totals_are_exact_up_to_ten_thousand(kurz):
    made = [team_link(number, id=10**6 + number, tags=("red",)) for number in range(10_001)]
    await insert_many(kurz, made)
    await index(kurz)
    lists = [Filter(), Filter(status=Status.ACTIVE), Filter(tag="red")]
    for wanted in lists:
        page = await kurz.links.list(HERE, wanted, limit=1)
        assert (page.total, page.is_total_exact) == (10_000, False)
        assert page.links == (made[-1],)
    page = await kurz.links.list(HERE, Filter(search="example"), limit=1)
    assert (page.total, page.is_total_exact) == (READ_LINKS, False)
    assert page.links == (made[-1],)
    assert await kurz.store.update(made[0], {"status": Status.DELETED}, NOW) is not None
    for wanted in lists:
        page = await kurz.links.list(HERE, wanted, limit=1)
        assert (page.total, page.is_total_exact) == (10_000, True)
        assert page.links == (made[-1],)


@usually_on("postgres")
async def test_a_tag_of_many_links_shows_what_the_rules_say(kurz):
    """Many enough that orders are walked, and most values are equal, so that a page begins among
    links with the value of its end."""
    chance = random.Random(6)
    everything = [
        replace(any_link(chance, n), id=10**6 + n, workspace_id=TEAM, tags=("red", "blue"))
        for n in range(4000)
    ]
    await insert_many(kurz, everything)
    for sort in Sort:
        await check(kurz, everything, Filter(sort=sort, tag="red"), limit=1100)
        await check(kurz, everything, Filter(sort=sort, with_deleted=True), limit=1100)
        alone = {"tag": "blue"} | chance.choice(ALONE[:8])
        await check(kurz, everything, Filter(sort=sort, **alone), limit=1100)


async def test_links_made_between_two_pages_do_not_shift_them(kurz):
    made = [
        await insert(kurz, team_link(number, redirect_count=number // 2)) for number in range(8)
    ]
    for sort in Sort:
        wanted = Filter(sort=sort)
        first = await kurz.links.list(HERE, wanted, limit=3)
        new = await insert(kurz, team_link(100 + len(made), redirect_count=2))
        following = (await pages(kurz, wanted))[0].links
        rest = await kurz.links.list(HERE, wanted, cursor=first.next_cursor, limit=100)
        assert [each for each in (*first.links, *rest.links) if each.id != new.id] == [
            each for each in following if each.id != new.id
        ]
        made.append(new)


async def test_a_cursor_survives_its_link(kurz):
    made = [await insert(kurz, team_link(number)) for number in range(5)]
    first = await kurz.links.list(HERE, Filter(), limit=2)
    gone = sa.delete(link_tables.links).where(link_tables.links.c.id == first.links[-1].id)
    await kurz.database.write(lambda connection: connection.execute(gone))
    rest = await kurz.links.list(HERE, Filter(), cursor=first.next_cursor)
    assert list(rest.links) == made[2::-1]


def encoded(parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


async def test_a_cursor_hides_the_number_of_the_row(kurz):
    made = [await insert(kurz, team_link(number)) for number in range(3)]
    cursor = (await kurz.links.list(HERE, Filter(), limit=1)).next_cursor
    parts = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    assert parts == ["-created_at", to_micros(NOW), kurz.links.public_id(made[2])]


async def test_what_is_no_cursor_of_this_list_is_refused(kurz):
    await fill(kurz, 10, seed=1)
    refused = [
        "", "x", "====", "ä", "\0", "-1", "9" * 5000, encoded("x"), encoded([]), encoded({}),
        encoded(["created_at", 1, 1]), encoded(["-updated_at", 1, 1]), encoded(["-created_at", 1]),
        encoded(["-created_at", None, 1]), encoded(["-created_at", 2**63, 1]),
        encoded(["-created_at", -(2**63) - 1, 1]), encoded(["-created_at", 1.5, 1]),
        encoded(["-created_at", True, 1]), encoded(["-created_at", "1", 1]),
        encoded(["-created_at", 1, -1]), encoded(["-created_at", 1, 2**53]),
        encoded(["-created_at", 1, None]), encoded(["-created_at", 1, True]),
        encoded(["-created_at", 1, 1, 1]), encoded(["nonsense", 1, 1]),
    ]  # fmt: skip
    for cursor in refused:
        with pytest.raises(CursorRefused):
            await kurz.links.list(HERE, Filter(), cursor=cursor)
    for value in -(2**63), 2**63 - 1:
        await kurz.links.list(HERE, Filter(), cursor=encoded(["-created_at", value, 1]))
    await kurz.links.list(HERE, Filter(sort=Sort.EXPIRY), cursor=encoded(["expires_at", None, 1]))
