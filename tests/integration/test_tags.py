"""Tags over HTTP: renaming, merging, removing, and tags in the trash."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from kurz.links.model import Draft, Link, Status
from kurz.storage.schema.links import link_tags, links
from kurz.wiring.core import Kurz
from support.desk import URL, Desk, code_of
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


async def create_all(kurz: Kurz, drafts: list[Draft]) -> list[Link]:
    """A few at once: all of them would wait for connections."""
    made: list[Link] = []
    for start in range(0, len(drafts), 8):
        some = drafts[start : start + 8]
        created = await asyncio.gather(*(kurz.links.create(draft) for draft in some))
        made += [item.link for item in created]
    return made


async def test_a_tag_is_renamed_merged_and_taken_off(place):
    first = await place.make(tags=["x", "old", "y"])
    second = await place.make(f"{URL}/2", tags=["old", "new"])
    await place.make(f"{URL}/3", tags=["new"])
    assert await place.tag_counts() == {"new": 2, "old": 2, "x": 1, "y": 1}
    renamed = await place.ask("PATCH", f"{place.tags}/old", json={"tag": "new"})
    assert renamed.json() == {"links": 2}
    assert (await place.get(first)).json()["tags"] == ["x", "new", "y"]
    assert (await place.get(second)).json()["tags"] == ["new"]
    assert await place.tag_counts() == {"new": 3, "x": 1, "y": 1}
    taken_off = await place.ask("DELETE", f"{place.tags}/new")
    assert taken_off.json() == {"links": 3}
    assert (await place.get(first)).json()["tags"] == ["x", "y"]
    assert await place.tag_counts() == {"x": 1, "y": 1}
    assert (await place.get(first)).json()["version"] == 3


async def test_tags_of_others_are_nobodys_business(desk, team, people):
    other = Desk(desk.kurz, desk.client, await people.add(), None)
    everywhere = [(who, await who.make(tags=["shared"])) for who in (desk, team, other)]
    assert (await desk.ask("PATCH", f"{desk.tags}/shared", json={"tag": "mine"})).json() == {
        "links": 1
    }
    for who, link in everywhere[1:]:
        assert (await who.get(link)).json() == link
        assert await who.tag_counts() == {"shared": 1}


@on_sqlite
async def test_a_tag_that_no_link_has_is_not_found(desk):
    await desk.make(tags=["a"])
    for answer in (
        await desk.ask("PATCH", f"{desk.tags}/none", json={"tag": "b"}),
        await desk.ask("DELETE", f"{desk.tags}/none"),
        await desk.ask("DELETE", f"{desk.tags}/A"),
    ):
        assert code_of(answer) == (404, "tag-not-found")
    for tag in ("", " ", "x" * 51, "a\u0000", "a\u202eb", None, 5):
        answer = await desk.ask("PATCH", f"{desk.tags}/a", json={"tag": tag})
        assert answer.status_code == 422, tag
    assert await desk.tag_counts() == {"a": 1}
    same = await desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "a"})
    assert same.json() == {"links": 0}


@on_sqlite
async def test_any_tag_can_be_named_in_a_path(desk):
    tags = ["a/b", "über uns", "50 % off", "a?b#c", "<b>", "a+b", "x\\y", "日本", "a//b", "50%2F"]
    for tag in tags:
        link = await desk.make(tags=[tag])
        path = f"{desk.tags}/{quote(tag, safe='')}"
        renamed = await desk.ask("PATCH", path, json={"tag": f"{tag}!"})
        assert renamed.json() == {"links": 1}, tag
        assert (await desk.get(link)).json()["tags"] == [f"{tag}!"]
        path = f"{desk.tags}/{quote(f'{tag}!', safe='')}"
        assert (await desk.ask("DELETE", path)).json() == {"links": 1}
    assert await desk.tag_counts() == {}


async def test_a_link_has_each_tag_once(place):
    link = await place.make(tags=["a", "b", "a"])
    assert link["tags"] == ["a", "b"]
    edited = await place.edit(link, tags=["c", "c", "a", "c"])
    assert edited.json()["tags"] == ["c", "a"]
    assert (await place.get(link)).json()["tags"] == ["c", "a"]


async def test_tags_of_more_links_than_a_transaction_takes_are_renamed(desk):
    """With links in the trash, links that have both, and edits by others meanwhile."""
    drafts = [
        Draft(
            original_url=URL,
            owner_id=desk.person.id,
            tags=("old", "new") if number % 10 == 0 else ("old",),
        )
        for number in range(701)
    ]
    made = await create_all(desk.kurz, drafts)
    links_made = [{"id": desk.kurz.links.public_id(link)} for link in made]
    await desk.delete(links_made[0])
    editing = [desk.edit(link, title="edited meanwhile") for link in links_made[1::100]]
    renaming = desk.ask("PATCH", f"{desk.tags}/old", json={"tag": "new"})
    renamed, *edited = await asyncio.gather(renaming, *editing)
    assert renamed.json() == {"links": 701}
    assert {answer.status_code for answer in edited} == {200}
    assert await desk.tag_counts() == {"new": 701}
    query = sa.select(links.c.tags, sa.func.count()).group_by(links.c.tags)
    stored = await desk.kurz.database.read(lambda it: [tuple(row) for row in it.execute(query)])
    assert stored == [('["new"]', 701)]
    titles = sa.select(sa.func.count()).where(links.c.title == "edited meanwhile")
    count = await desk.kurz.database.read(lambda it: it.execute(titles).scalar_one())
    assert count == 7


async def test_renames_and_edits_at_once_agree_in_the_end(desk):
    """The tags of a link and the table that lists are filtered by never differ."""
    made = [await desk.make(tags=["a", "b"]) for _ in range(12)]
    await asyncio.gather(
        desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "c"}),
        desk.ask("PATCH", f"{desk.tags}/b", json={"tag": "c"}),
        desk.ask("DELETE", f"{desk.tags}/a"),
        *(desk.edit(link, tags=["a", f"{n}"]) for n, link in enumerate(made)),
        *(desk.edit(link, notes="n") for link in made),
    )
    assert len({link_id for *_, link_id in await listed_tags(desk.kurz)}) == 12


async def test_renames_and_the_trash_at_once_agree_in_the_end(desk):
    made = [await desk.make(tags=["a", "b"]) for _ in range(12)]
    for link in made[::2]:
        await desk.delete(link)
    await asyncio.gather(
        desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "c"}),
        desk.ask("PATCH", f"{desk.tags}/b", json={"tag": "c"}),
        *(desk.restore(link) for link in made[::4]),
        *(desk.delete(link) for link in made[1::4]),
    )
    rows = await listed_tags(desk.kurz)
    assert {(tag, in_trash) for _, tag, in_trash, _ in rows} == {("c", False), ("c", True)}
    assert await desk.tag_counts() == {"c": 12}


async def listed_tags(kurz: Kurz) -> set[tuple[int, str, bool, int]]:
    """The table that lists are filtered by, which has to say the same as the links themselves."""
    query = sa.select(links.c.space, links.c.tags, links.c.status, links.c.id)

    def read(connection: sa.Connection) -> tuple[set[Any], set[Any]]:
        stored = {
            (row.space, tag, row.status == Status.DELETED, row.id)
            for row in connection.execute(query)
            for tag in json.loads(row.tags or "[]")
        }
        return stored, {tuple(row) for row in connection.execute(sa.select(link_tags))}

    stored, listed = await kurz.database.read(read)
    assert listed == stored
    return listed


async def tagged(place: Desk, tag: str, **query: Any) -> list[int]:
    """The ids of the links that a list shows for a tag."""
    body = (await place.ask("GET", place.links, params={"tag": tag} | query)).json()
    assert body["total"] == len(body["links"])
    return [link["id"] for link in body["links"]]


async def test_a_link_in_the_trash_is_found_by_its_tag_only_there(place):
    kept, gone = [await place.make(f"{URL}/{n}", tags=["a", "b"]) for n in range(2)]
    await place.delete(gone)
    assert await tagged(place, "a") == [kept["id"]]
    assert await tagged(place, "a", status="ACTIVE") == [kept["id"]]
    assert await tagged(place, "a", status="DELETED") == [gone["id"]]
    assert await place.tag_counts() == {"a": 2, "b": 2}
    await listed_tags(place.kurz)
    await place.restore(gone)
    assert await tagged(place, "a") == [gone["id"], kept["id"]]
    assert await tagged(place, "a", status="DELETED") == []
    await listed_tags(place.kurz)


async def test_tags_follow_a_list_of_acts_into_the_trash_and_back(place):
    edited, deleted, back = [await place.make(f"{URL}/{n}", tags=["a"]) for n in range(3)]
    await place.delete(back)
    await place.bulk(
        {"action": "edit", "id": edited["id"], "changes": {"tags": ["b"]}},
        {"action": "delete", "id": deleted["id"]},
        {"action": "restore", "id": back["id"]},
    )
    assert await tagged(place, "a") == [back["id"]]
    assert await tagged(place, "b") == [edited["id"]]
    assert await tagged(place, "a", status="DELETED") == [deleted["id"]]
    await listed_tags(place.kurz)


async def test_a_tag_that_was_renamed_in_the_trash_is_found_after_the_restore(place):
    link = await place.make(tags=["old", "both", "kept"])
    other = await place.make(f"{URL}/2", tags=["both"])
    await place.delete(link)
    for old in "old", "both":
        answer = await place.ask("PATCH", f"{place.tags}/{old}", json={"tag": "new"})
        assert answer.status_code == 200
    assert await tagged(place, "new") == [other["id"]]
    assert await tagged(place, "new", status="DELETED") == [link["id"]]
    assert (await place.ask("DELETE", f"{place.tags}/kept")).json() == {"links": 1}
    await listed_tags(place.kurz)
    assert (await place.restore(link)).json()["tags"] == ["new"]
    assert await tagged(place, "new") == [other["id"], link["id"]]
    assert await place.tag_counts() == {"new": 2}
    await listed_tags(place.kurz)


async def test_a_link_that_is_made_again_leaves_the_trash_with_its_new_tags(team):
    link = await team.make(strategy="deterministic", tags=["before", "same"])
    await team.delete(link)
    again = await team.make(strategy="deterministic", tags=["same", "after"])
    assert again["id"] == link["id"]
    assert await tagged(team, "same") == await tagged(team, "after") == [link["id"]]
    assert await team.tag_counts() == {"same": 1, "after": 1}
    await listed_tags(team.kurz)


async def test_the_tags_of_an_account_that_is_gone_are_in_the_trash(desk, people):
    other = Desk(desk.kurz, desk.client, await people.add(), None)
    for who in desk, other:
        await who.make(tags=["a"])
    await other.delete(await other.make(f"{URL}/2", tags=["a"]))
    assert await desk.kurz.accounts.delete(desk.person.id)
    rows = await listed_tags(desk.kurz)
    assert sorted((space == -other.person.id, in_trash) for space, _, in_trash, _ in rows) == [
        (False, True),
        (True, False),
        (True, True),
    ]


async def test_a_tag_that_is_no_text_is_refused_and_found_nowhere(client, people):
    person = await people.add()
    for method, path in (
        ("PATCH", "/api/v1/tags/a%00b"),
        ("DELETE", "/api/v1/tags/a%00b"),
        ("GET", "/api/v1/links?tag=a%00b"),
    ):
        body = {"tag": "fine"} if method == "PATCH" else None
        answer = await client.request(method, path, json=body, headers=person.headers)
        assert (method, answer.status_code) == (method, 422)
