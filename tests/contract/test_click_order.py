"""Lists in the order of clicks while the copies in the links are behind, on both engines."""

from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.clicks.moments import Moments
from kurz.links.model import Draft, Filter, Link, Sort, Status
from kurz.storage.clicks.totals import add_totals
from kurz.storage.links.listing import list_links
from kurz.storage.links.walking import FEW
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.engines import without_redis
from support.links import NOW
from support.listing import HERE, expected, insert_many, pages, team_link
from support.plans import plans_of

engine = without_redis  # which has no part in it
ORDERS = Sort.CLICKS, Sort.CLICKS_DOWN


async def make(kurz: Kurz, count: int, copied: int = 0) -> list[Link]:
    made = [
        team_link(number, id=10**6 + number, tags=("red",) * (number % 2), redirect_count=copied)
        for number in range(count)
    ]
    await insert_many(kurz, made)
    return made


async def count(kurz: Kurz, clicks: Mapping[int, int]) -> None:
    """As the loader does, but nothing is copied."""
    rows = [(SubjectKind.LINK.value, *each, *Moments()) for each in sorted(clicks.items())]
    await kurz.database.write(add_totals, rows)


def counted(made: list[Link], clicks: Mapping[int, int]) -> list[Link]:
    return [replace(each, redirect_count=clicks.get(each.id, each.redirect_count)) for each in made]


async def test_a_short_list_is_sorted_by_the_clicks_of_now(kurz):
    made = await make(kurz, 60)
    clicks = {each.id: number * 37 % 11 for number, each in enumerate(made) if number % 7}
    await count(kurz, clicks)
    now = counted(made, clicks)
    for sort in ORDERS:
        for wanted in (
            Filter(sort=sort),
            Filter(sort=sort, tag="red"),
            Filter(sort=sort, search="example"),
            Filter(sort=sort, status=Status.ACTIVE),
        ):
            found = await pages(kurz, wanted, limit=7)
            assert [each for page in found for each in page.links] == expected(now, HERE, wanted)


async def test_a_long_list_is_sorted_by_the_copies_and_shows_the_clicks_of_now(kurz):
    made = await make(kurz, FEW + 200, copied=3)
    ahead = {each.id: 150 - number for number, each in enumerate(made[:60])}
    query = sa.update(links).where(links.c.id.in_(list(ahead)))
    await kurz.database.write(lambda it: it.execute(query.values(redirect_count=50)) and None)
    clicks = ahead | {each.id: 4 for each in made[500:1500]}
    await count(kurz, clicks)
    now = counted(made, clicks)
    for sort in ORDERS:
        found = await pages(kurz, Filter(sort=sort), limit=900)
        listed = [each for page in found for each in page.links]
        assert sorted(listed, key=lambda each: each.id) == now
        assert all(page.is_complete for page in found)
        # The copies decide which page a link is on, and of equal ones the ids. Within a page, the
        # clicks of now decide.
        by_copy = sorted(now, key=lambda each: (50 if each.id in ahead else 3, each.id))
        by_copy = by_copy[::-1] if sort.is_descending else by_copy
        for page, start in zip(found, (0, 900, 1800), strict=True):
            shown = expected(by_copy[start : start + 900], HERE, Filter(sort=sort))
            assert list(page.links) == shown


async def test_a_list_that_is_just_short_enough_is_sorted_by_the_clicks_of_now(kurz):
    made = await make(kurz, FEW)
    clicks = {made[17].id: 5, made[1700].id: 9}
    await count(kurz, clicks)
    [first, *_] = await pages(kurz, Filter(sort=Sort.CLICKS_DOWN), limit=900)
    wanted = Filter(sort=Sort.CLICKS_DOWN)
    assert list(first.links) == expected(counted(made, clicks), HERE, wanted)[:900]


async def test_an_edited_link_has_the_clicks_of_now(kurz):
    link = (await kurz.links.create(Draft(original_url="https://example.com/"))).link
    await count(kurz, {link.id: 7})
    found = await kurz.store.find_by_code(link.workspace_id, link.short_code)
    assert found is not None
    edited = await kurz.store.update(found, {"title": "new"}, NOW)
    assert edited is not None
    assert edited.redirect_count == found.redirect_count == 7


async def test_a_long_list_goes_by_the_index_of_clicks(kurz):
    """It looks up the totals of the links of a page, and of no others."""
    made = await make(kurz, FEW + 200)
    await count(kurz, {each.id: 1 for each in made})
    await kurz.database.write(lambda it: it.execute(sa.text("ANALYZE")) and None)
    found: list[str] = []

    def read(connection: sa.Connection) -> None:
        with plans_of(connection, found, "click_totals"):
            list_links(connection, HERE, Filter(sort=Sort.CLICKS_DOWN), NOW, None, 51)

    await kurz.database.read(read)
    [plan] = found
    assert "ix_links_clicks" in plan
    if kurz.settings.database_url is None:
        assert "SEARCH click_totals USING PRIMARY KEY (kind=? AND subject=?)" in plan
        assert "SCAN links" not in plan
    else:
        assert "pk_click_totals" in plan
        assert "Seq Scan" not in plan
