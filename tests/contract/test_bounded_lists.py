"""Lists that must read links, on both engines: how many they read, and what the answer says."""

import random
from dataclasses import replace

import sqlalchemy as sa

from kurz.links.model import COUNTED_LINKS, READ_LINKS, Filter, Link, Scope, Sort, Status
from kurz.storage.links.listing import list_links
from kurz.wiring.core import Kurz
from support.engines import without_redis
from support.links import NOW
from support.listing import HERE, TEAM, any_link, expected, index, insert_many, pages, team_link
from support.plans import plans_of
from support.transfer import records

engine = without_redis  # which has no part in it
EVERYTHING = Scope()
TRASH = Filter(status=Status.DELETED, sort=Sort.UPDATED_DOWN)
OPERATORS = (
    *(Filter(with_deleted=True, sort=sort) for sort in (Sort.CREATED, Sort.CREATED_DOWN)),
    *(Filter(with_deleted=True, status=status) for status in Status),
    *(Filter(with_deleted=True, search=text) for text in ("alpha", "needle", "nowhere")),
    Filter(tag="red"),
    TRASH,
)


async def fill(kurz: Kurz, count: int, workspace_id: int | None = None) -> list[Link]:
    """The oldest and the newest links have a word that others do not have."""
    chance = random.Random(count)
    made = [replace(any_link(chance, number), id=10**6 + number) for number in range(count)]
    if workspace_id is not None:
        made = [replace(each, workspace_id=workspace_id) for each in made]
    for number, each in enumerate(made):
        if number < 250 or number >= count - 20:
            made[number] = replace(each, title="needle")
    await insert_many(kurz, made)
    return made


async def check(
    kurz: Kurz, made: list[Link], wanted: Filter, scope: Scope = HERE, limit: int = 400
) -> bool:
    """Checks that all pages together are the list. Returns whether every page was complete."""
    rows = expected(made, scope, wanted)
    found = await pages(kurz, wanted, scope, limit)
    assert [each for page in found for each in page.links] == rows, (wanted, scope)
    for page in found:
        assert len(page.links) <= page.total <= len(rows)
        assert not page.is_total_exact or page.total == min(len(rows), COUNTED_LINKS)
        assert len(page.links) == limit or not page.is_complete or page is found[-1]
    return all(page.is_complete for page in found)


async def test_the_operators_lists_read_some_links_and_say_so(kurz):
    made = await fill(kurz, READ_LINKS + 600)
    for wanted in OPERATORS:
        is_complete = await check(kurz, made, wanted, EVERYTHING)
        if wanted.search in ("needle", "nowhere"):
            assert not is_complete
        elif wanted == TRASH or wanted == Filter(with_deleted=True, sort=wanted.sort):
            assert is_complete
    nothing = await kurz.links.list(EVERYTHING, Filter(search="nowhere"))
    assert (nothing.links, nothing.total, nothing.is_total_exact) == ((), 0, False)
    assert nothing.next_cursor is not None


async def test_the_operators_lists_of_few_links_are_complete(kurz):
    made = await fill(kurz, READ_LINKS)
    for wanted in OPERATORS:
        [page] = await pages(kurz, wanted, EVERYTHING, limit=READ_LINKS)
        assert list(page.links) == expected(made, EVERYTHING, wanted)
        assert page.is_total_exact


async def test_the_link_behind_those_that_were_read_is_not_missed(kurz):
    made = [team_link(number, id=10**6 + number) for number in range(READ_LINKS + 1)]
    made[0] = replace(made[0], title="needle")
    await insert_many(kurz, made)
    first, second = await pages(kurz, Filter(search="needle"), EVERYTHING)
    assert (first.links, first.is_complete) == ((), False)
    assert (second.links, second.is_complete) == ((made[0],), True)


async def test_a_common_text_is_searched_in_some_links_at_a_time(kurz):
    made = await fill(kurz, READ_LINKS + 900, TEAM)
    await index(kurz)
    for sort in Sort:
        assert await check(kurz, made, Filter(search="alpha", sort=sort))
        # Too many to be gathered, but not among the links that a page begins with.
        await check(kurz, made, Filter(search="needle", sort=sort))
        await check(kurz, made, Filter(search="alpha", tag="blue", sort=sort))
        await check(kurz, made, Filter(search="needle", status=Status.EXPIRED, sort=sort))
        # Few, which the index of texts leads to.
        [page] = await pages(kurz, Filter(search="e-170", sort=sort))
        assert list(page.links) == expected(made, HERE, Filter(search="e-170", sort=sort))
        assert (page.is_total_exact, page.is_complete) == (True, True)
    assert not await check(kurz, made, Filter(search="needle"))


async def test_an_export_continues_where_a_search_stopped(kurz):
    made = await fill(kurz, READ_LINKS + 900, TEAM)
    await index(kurz)
    for wanted in Filter(search="needle"), Filter(search="needle", status=Status.BANNED):
        found = await records(kurz, scope=HERE, wanted=wanted)
        rows = expected(made, HERE, replace(wanted, sort=Sort.CREATED))
        assert [each["short_code"] for each in found] == [each.short_code for each in rows]


async def test_a_common_tag_with_a_status_is_counted_among_some_of_its_links(kurz):
    chance = random.Random(9)
    live = [status for status in Status if status is not Status.DELETED]
    made = [
        replace(any_link(chance, number), id=10**6 + number, workspace_id=TEAM, tags=("red",))
        for number in range(COUNTED_LINKS + 1)
    ]
    made = [replace(each, status=chance.choice(live)) for each in made]
    made[-1] = replace(made[-1], status=Status.ACTIVE, expires_at=None, max_clicks=None)
    await insert_many(kurz, made)
    for status in Status.ACTIVE, Status.EXPIRED, Status.EXHAUSTED:
        for sort in Sort.CLICKS_DOWN, Sort.EXPIRY:
            assert await check(kurz, made, Filter(tag="red", status=status, sort=sort), limit=1500)
    wanted = Filter(tag="red", status=Status.ACTIVE, sort=Sort.CLICKS_DOWN)
    page = await kurz.links.list(HERE, wanted)
    assert (page.total, page.is_total_exact) == (
        len(expected(made[:READ_LINKS], HERE, wanted)),
        False,
    )
    await kurz.links.delete(kurz.links.public_id(made[-1]), HERE)
    page = await kurz.links.list(HERE, wanted)
    assert (page.total, page.is_total_exact) == (len(expected(made[:-1], HERE, wanted)), True)


async def plans(kurz: Kurz, scope: Scope, wanted: Filter) -> list[str]:
    def read(connection: sa.Connection) -> list[str]:
        found: list[str] = []
        with plans_of(connection, found):
            list_links(connection, scope, wanted, NOW, None, 51)
        return found

    return await kurz.database.read(read)


async def test_the_operators_lists_go_by_an_index_of_their_order(kurz):
    await fill(kurz, READ_LINKS + 100)
    for wanted in OPERATORS:
        name = "ix_links_all_trash" if wanted == TRASH else "ix_links_newest"
        found = await plans(kurz, EVERYTHING, wanted)
        assert found
        assert all(name in plan for plan in found), found


async def test_a_tag_with_a_status_is_looked_up_link_by_link(kurz):
    """Planned from the links, PostgreSQL would look up the tag for each of all links."""
    await fill(kurz, 3000, TEAM)
    for status in Status.ACTIVE, Status.EXPIRED:
        wanted = Filter(tag="red", status=status, sort=Sort.CLICKS_DOWN)
        [plan] = [each for each in await plans(kurz, HERE, wanted) if "hits" in each]
        if kurz.settings.database_url is None:
            assert "SEARCH links USING INTEGER PRIMARY KEY (rowid=?)" in plan
            assert "SCAN links" not in plan
        else:
            assert "Index Cond: (id = ANY" in plan


async def test_exhausted_links_with_a_tag_are_counted_in_their_index(kurz):
    await fill(kurz, 3000, TEAM)
    wanted = Filter(tag="red", status=Status.EXHAUSTED)
    found = [plan for plan in await plans(kurz, HERE, wanted) if "clicks_used >=" in plan]
    assert len(found) == 2
    assert all("ix_links_exhausted" in plan for plan in found), found
