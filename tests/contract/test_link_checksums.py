"""Every write of a link leaves the right checksum of where its code leads, and what changes without
one is found. Nothing else is."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
import sqlalchemy as sa

from kurz.links.ending.archives import ArchivedLink
from kurz.links.model import Draft, Edit, Link, Scope, Strategy
from kurz.storage.ending.archive import SqlArchiveStore
from kurz.storage.followers.checksum_filler import BATCH, ChecksumFiller
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.links.checksums import KEY_NAME, fill_checksums, has_missing_checksums
from kurz.storage.schema.links import installation, links
from kurz.storage.schema.people import workspaces
from kurz.wiring.core import Kurz, open_kurz
from support.checksums import paths, spoil, verified
from support.endings import OWNER, make, multiply, restore, rows, throw_away, write
from support.engines import without_redis

engine = without_redis
URL = "https://example.com/ä?b=c"  # its location differs from it


async def sound(kurz) -> int:
    """All links have their checksum; returns how many there are."""
    found = await verified(kurz)
    assert (found.unknown, found.damaged, found.has_key) == (0, 0, True)
    return found.links


async def edit(kurz: Kurz, link: Link, **fields: Any) -> Link:
    return await kurz.links.edit(kurz.links.public_id(link), Scope(), cast("Edit", fields))


async def test_created_links_have_their_checksum(kurz, people):
    person = await people.add()
    workspace_id = (await people.workspace(person)).id
    team = {"workspace_id": workspace_id, "owner_id": person.id, "original_url": URL}
    await make(kurz)
    await make(kurz, original_url=URL)
    await make(kurz, custom_code="custom", tags=("one", "two"))
    await make(kurz, strategy=Strategy.COUNTER)
    await make(kurz, strategy=Strategy.DETERMINISTIC, **team)
    await make(kurz, strategy=Strategy.DETERMINISTIC, **team)  # that one again
    await make(kurz, owner_id=None, is_anonymous=True)
    many = [Draft(original_url=f"https://example.com/{it}", owner_id=OWNER) for it in range(300)]
    await kurz.links.create_many(many)
    assert await sound(kurz) == 6 + 300


async def test_links_that_are_inserted_together_have_their_checksums(kurz):
    first = await make(kurz)
    new = [
        replace(
            first, short_code=f"code-{it}", original_url=f"{URL}{it}", location=f"{URL}{it % 3}"
        )
        for it in range(70)
    ]
    assert None not in await kurz.store.insert_many(new[:35], ())
    bulk = SqlBulkStore(kurz.database)
    assert all(isinstance(it, int) for it in await bulk.insert(new[35:], (), kurz.clock.now()))
    assert await sound(kurz) == 71


async def test_edited_links_have_the_checksum_of_their_new_destination(kurz):
    link = await make(kurz, custom_code="first")
    before = (await rows(kurz, links))[0]["checksum"]
    await edit(kurz, link, original_url=URL)
    await edit(kurz, link, custom_code="second")
    await edit(kurz, link, original_url="https://example.com/other", custom_code="third")
    assert await sound(kurz) == 1
    assert (await rows(kurz, links))[0]["checksum"] != before
    await edit(kurz, link, original_url="https://example.com/", custom_code="first")
    assert (await rows(kurz, links))[0]["checksum"] == before


async def test_what_does_not_move_a_link_leaves_its_checksum(kurz):
    link = await make(kurz)
    before = (await rows(kurz, links))[0]["checksum"]
    await edit(kurz, link, title="A title", tags=["tag"], is_paused=True)
    await throw_away(kurz, link)
    await restore(kurz, link)
    assert (await rows(kurz, links))[0]["checksum"] == before
    assert await sound(kurz) == 1


async def test_a_link_from_the_archive_has_its_checksum(kurz):
    link = await make(kurz, original_url=URL, custom_code="archived", owner_id=None)
    await write(kurz, sa.delete(links))
    store = SqlArchiveStore(kurz.database, timedelta(days=1))
    back = await store.put_back(ArchivedLink(link, None, None, []), 1, kurz.clock.now())
    assert isinstance(back, Link)
    assert await sound(kurz) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"original_url": "https://example.com/x"},
        {"location": "https://example.com/x"},
        {"workspace_id": 3},
        {"checksum": b"12345678"},
        {"checksum": b""},
    ],
)
async def test_a_change_without_a_write_is_found(kurz, change):
    await make(kurz, custom_code="good")
    await make(kurz, custom_code="bad")
    if "checksum" in change:
        await write(kurz, sa.update(links).where(links.c.short_code == "bad").values(change))
    else:
        await kurz.database.write(spoil("bad", **change))
    assert [it.rpartition("/")[2] for it in await paths(kurz)] == ["bad"]


async def test_a_changed_code_is_found(kurz, people):
    workspace_id = (await people.workspace(await people.add())).id
    await make(kurz, custom_code="good", workspace_id=workspace_id)
    await kurz.database.write(spoil("good", short_code="gooe"))
    [slug] = [row["slug"] for row in await rows(kurz, workspaces)]
    assert await paths(kurz) == [f"/@{slug}/gooe"]


async def test_an_edit_of_the_code_hides_no_damage_and_one_of_the_destination_ends_it(kurz):
    link = await make(kurz, custom_code="bad")
    await kurz.database.write(spoil("bad", original_url="https://example.com/x"))
    await edit(kurz, link, custom_code="worse")
    await edit(kurz, link, custom_code="worst", title="A title")
    assert await paths(kurz) == ["/worst"]
    await edit(kurz, link, original_url="https://example.com/x")  # somebody has looked
    assert await paths(kurz) == []
    assert await sound(kurz) == 1


async def test_what_the_previous_version_writes_is_no_alarm_and_gets_its_checksum(kurz):
    for code in "url", "location", "code", "title", "untouched":
        await make(kurz, custom_code=code)
    changed: dict[str, dict[str, str | None]] = {
        "url": {"original_url": URL, "canonical_url": URL, "location": None},
        "location": {"location": URL},
        "code": {"short_code": "renamed"},
        "title": {"title": "A title", "original_url": "https://example.com/"},  # the same
    }
    for code, values in changed.items():
        await write(kurz, sa.update(links).where(links.c.short_code == code).values(values))
    [copied] = await multiply(kurz, (await kurz.store.find_by_code(0, "untouched")), 1)
    unsure = links.c.id == copied.id
    await write(kurz, sa.update(links).where(unsure).values(checksum=None))  # as it inserts
    found = await verified(kurz)
    assert (found.links, found.unknown, found.damaged) == (6, 4, 0)
    before = await rows(kurz, links)
    await ChecksumFiller(kurz.database).catch_up()
    assert await sound(kurz) == 6
    after = await rows(kurz, links)
    assert [{**it, "checksum": None} for it in before] == [{**it, "checksum": None} for it in after]
    await kurz.database.write(spoil("renamed", original_url="https://example.com/x"))
    assert await paths(kurz) == ["/renamed"]


async def test_all_links_of_an_upgraded_database_get_their_checksums_in_batches(kurz):
    await multiply(kurz, await make(kurz, original_url=URL), BATCH + 10)
    await write(kurz, sa.update(links).values(checksum=None))
    ids = sorted(row["id"] for row in await rows(kurz, links))
    assert await kurz.database.write(fill_checksums, 0, BATCH) == ids[BATCH - 1]
    assert (await verified(kurz)).unknown == 11
    assert await kurz.database.read(has_missing_checksums)
    filler = ChecksumFiller(kurz.database)
    await filler.catch_up()
    assert not await kurz.database.read(has_missing_checksums)
    assert await sound(kurz) == BATCH + 11
    assert await kurz.database.write(fill_checksums, 0, BATCH) is None


@pytest.mark.parametrize("is_there", [True, False])
async def test_without_a_good_key_links_are_created_and_not_compared(kurz, is_there):
    await make(kurz)
    are_it = installation.c.name == KEY_NAME
    damaged = sa.update(installation).where(are_it).values(value=b"damaged")
    await write(kurz, damaged if is_there else sa.delete(installation).where(are_it))

    async with open_kurz(kurz.settings, kurz.clock) as other:  # it has not read the key before
        link = await make(other, custom_code="second")
        await edit(other, link, original_url=URL)
        await ChecksumFiller(other.database).catch_up()
        found = await verified(other)
    assert (found.links, found.unknown, found.damaged, found.has_key) == (2, 2, 0, False)
    assert [row["checksum"] is None for row in await rows(kurz, links)] == [False, True]
