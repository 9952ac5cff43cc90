"""Lists of tags, on both engines: which tags there are, and how many links have each."""

import random
from collections import Counter
from dataclasses import replace

import sqlalchemy as sa

from kurz.links.tagging import COUNTED_LINKS, TagCount
from kurz.paging import Part
from kurz.storage.links.tags import list_tags
from support.engines import without_redis
from support.listing import TEAM, insert_many, team_link
from support.plans import plans_of

engine = without_redis  # which has no part in it
TAGS = ("ä", "b", "B", "a b", "a", "a!", "短", "zz", "it's", "z", "%", "_")


async def test_tags_are_listed_in_pages_with_the_links_of_each(kurz):
    chance = random.Random(8)
    made = [
        team_link(
            number,
            id=10**6 + number,
            workspace_id=chance.choice([TEAM, TEAM, 8]),
            tags=tuple(chance.sample(TAGS, chance.choice([0, 1, 3]))),
        )
        for number in range(300)
    ]
    await insert_many(kurz, made)
    counted = Counter(tag for each in made if each.workspace_id == TEAM for tag in each.tags)
    everything = await kurz.tagging.list(TEAM)
    assert {item.tag: item.links for item in everything} == counted
    assert all(item.is_exact for item in everything)
    for size in 1, 2, 5, len(counted), 100:
        found: list[TagCount] = []
        while part := await kurz.tagging.list(
            TEAM, Part((found[-1].tag,) if found else None, size)
        ):
            assert len(part) <= size
            found += part
        assert found == everything
    assert await kurz.tagging.list(99) == []


async def test_so_many_links_of_a_tag_are_counted(kurz):
    made = [team_link(number, id=10**6 + number) for number in range(COUNTED_LINKS + 1)]
    tagged = [replace(each, tags=("red", "blue")) for each in made[:-1]]
    await insert_many(kurz, [*tagged, replace(made[-1], tags=("red",))])
    assert await kurz.tagging.list(TEAM) == [
        TagCount("blue", COUNTED_LINKS, is_exact=True),
        TagCount("red", COUNTED_LINKS, is_exact=False),
    ]


async def test_a_list_of_tags_seeks_from_tag_to_tag(kurz):
    """It would read all rows of the space to group them."""
    made = [team_link(number, id=10**6 + number, tags=("red",)) for number in range(3000)]
    await insert_many(kurz, made)

    def read(connection: sa.Connection) -> list[str]:
        found: list[str] = []
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
        with plans_of(connection, found, "link_tags"):
            list_tags(connection, TEAM, Part(("a",), 50))
        return found

    [plan] = await kurz.database.read(read)
    if kurz.settings.database_url is None:
        assert plan.count("SEARCH link_tags USING PRIMARY KEY (space=? AND tag>?)") == 2
        assert "SEARCH link_tags USING PRIMARY KEY (space=? AND tag=?)" in plan
    else:
        assert plan.count("Index Only Scan using pk_link_tags") >= 2
        assert "Group" not in plan
