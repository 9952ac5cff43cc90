"""Links go into the archive and come back, each once and as they were."""

from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest

from kurz.clicks.batch import JournalPosition, SubjectKind
from kurz.links.ending.archives import Obstacle
from kurz.links.ending.retention import EndedKind
from kurz.links.errors import InstantRefused, LinkNotFound
from kurz.links.model import Link, LinkType, Scope, Status
from kurz.safety.audit import OPERATOR
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.ending import archive as archive_storage
from kurz.storage.followers.day_folder import DayFolder
from kurz.storage.followers.month_folder import MonthFolder
from kurz.storage.schema.clicks import click_days, click_totals
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.links import changes, history, link_tags
from kurz.wiring.archive import open_archive
from support.archive import (
    OWNER,
    add_days,
    archived_ids,
    click,
    counted,
    late_click,
    living_ids,
    make_swept,
    names_in_place,
    only_file,
    remove_owner,
    restore,
    revive,
    rows,
    run_until_done,
    sweep,
)
from support.batches import MICROS_OF_DAY, Clicks
from support.transfer import team

COUNTED = click_totals, click_days
ENDING = {"version", "updated_at", "status", "expires_at", "deleted_at", "swept_at"}
COPIED = {"redirect_count", "avg_redirect_ms"}  # from the totals, a little later


async def test_links_leave_for_the_archive(kurz, archiver):
    made = await make_swept(kurz)
    alive = await make_swept(kurz, 1)
    await revive(kurz, alive[0])
    assert await run_until_done(kurz, archiver) == 3
    assert await living_ids(kurz) == {alive[0].id}
    assert await archived_ids(kurz) == {link.id: 1 for link in made}
    [file] = await (open_archive(kurz)).list()
    assert file.links == 3
    assert file.created_at == kurz.clock.now() + timedelta(days=2)
    assert await run_until_done(kurz, archiver) == 0
    assert await names_in_place(archiver) == [file.name]


async def test_a_link_comes_back_as_it_was(kurz, archiver, clock):
    """With all of its fields, clicks and days; only what ended it is gone."""
    [first] = await make_swept(
        kurz, 1, title="Title ☂", tags=("a", "b"), notes="n\n2", forward_query=True, max_clicks=9
    )
    [second] = await make_swept(kurz, 1, custom_code="Chosen", redirect_status=307)
    clicks = Clicks(clock.micros() // MICROS_OF_DAY)  # of links 1 to 40
    store = SqlClickStore(kurz.database, clock)
    await store.apply(clicks.batch(JournalPosition(bytes(16), 0), 1, 900))
    mine = [await counted(kurz, link.id) for link in (first, second)]
    assert all(len(totals) == 1 and len(days) == 3 for totals, days in mine)
    others = [await rows(kurz, it, it.c.kind != SubjectKind.LINK.value) for it in COUNTED]
    assert await run_until_done(kurz, archiver) == 2
    assert await counted(kurz, first.id) == [[], []]
    clock.advance(days=3)
    restored = await restore(kurz, await only_file(kurz))
    assert [await counted(kurz, link.id) for link in (first, second)] == mine
    assert [await rows(kurz, it, it.c.kind != SubjectKind.LINK.value) for it in COUNTED] == others
    for before, after in zip((first, second), restored, strict=True):
        assert await kurz.store.find(before.id, Scope()) == after
        for name in {field.name for field in fields(Link)} - ENDING - COPIED:
            assert getattr(after, name) == getattr(before, name), name
        assert after.status is Status.ACTIVE
        assert after.expires_at is after.deleted_at is after.swept_at is None
        assert after.updated_at == clock.now()


async def test_folded_months_come_back_as_they_were(kurz, archiver, clock):
    """Also together with days that were not folded yet, which are then folded too."""
    [link] = await make_swept(kurz, 1)
    await add_days(kurz, link, 100)
    today = clock.micros() // MICROS_OF_DAY
    folder = MonthFolder(kurz.database, clock, DayFolder(kurz.database, 30))
    await folder.run()
    await late_click(kurz, link, today - 95)
    before = await counted(kurz, link.id)
    months = [row.month for row in await rows(kurz, click_days) if row.month is not None]
    assert len(months) > 1
    await run_until_done(kurz, archiver)
    assert await counted(kurz, link.id) == [[], []]
    [_] = await restore(kurz, await only_file(kurz))
    assert await counted(kurz, link.id) == before
    assert (await folder.run())["folded"] == 2  # the late day, and the month that it is added to
    [totals], days = await counted(kurz, link.id)
    assert sum(row[3] for row in days) == totals[2] == 101


async def test_a_link_that_comes_back_is_told_to_everybody(kurz, archiver, clock):
    [link] = await make_swept(kurz, 1, tags=("tag",), custom_code="code")
    await run_until_done(kurz, archiver)
    assert [row.short_code for row in await rows(kurz, code_quarantine)] == ["code"]
    [back] = await restore(kurz, await only_file(kurz))
    versions = [row.version for row in await rows(kurz, changes, changes.c.link_id == link.id)]
    assert versions == sorted(set(versions))
    assert back.version == versions[-1] == link.version + 2
    assert await rows(kurz, code_quarantine) == []
    [tag] = await rows(kurz, link_tags)
    assert (tag.tag, tag.in_trash, tag.link_id) == ("tag", False, link.id)
    [entry] = await rows(kurz, history)
    assert (entry.action, entry.account_id, entry.version) == ("restore", None, back.version)


async def test_the_next_new_link_has_another_id(kurz, archiver):
    """Also where the database has forgotten that it ever gave this one."""
    *_, link = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    texts = ("ALTER SEQUENCE links_id_seq RESTART", "UPDATE sqlite_sequence SET seq = 0")
    text = texts[kurz.settings.is_embedded]
    await kurz.database.write(lambda it: it.exec_driver_sql(text).rowcount)
    await restore(kurz, await only_file(kurz), link.short_code)
    [new] = await make_swept(kurz, 1)
    assert new.id > link.id


async def test_clicks_that_were_counted_for_a_purged_link_give_way(kurz, archiver):
    [link] = await make_swept(kurz, 1)
    await click(kurz, link)
    before = await counted(kurz, link.id)
    await run_until_done(kurz, archiver)
    await click(kurz, link, segment=1)
    await restore(kurz, await only_file(kurz))
    assert await counted(kurz, link.id) == before


async def test_what_leads_to_a_banned_host_stays_in_the_archive(kurz, archiver):
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    await kurz.bans.ban_host("example.com", None, OPERATOR)
    assert await restore(kurz, name) == [Obstacle.REFUSED] * 3
    await kurz.bans.unban_host("example.com", OPERATOR)
    assert [link.id for link in await restore(kurz, name)] == [link.id for link in made]


async def test_what_belongs_to_somebody_banned_stays_in_the_archive(kurz, archiver):
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    ban = await kurz.bans.ban_account(OWNER, None, OPERATOR)
    await kurz.bans._store.confirm(ban)  # nobody looks for links any more
    assert await restore(kurz, name) == [Obstacle.OWNER_BANNED] * 3
    await kurz.bans.unban_account(OWNER, OPERATOR)
    assert [link.id for link in await restore(kurz, name)] == [link.id for link in made]


async def test_restoring_twice_does_nothing_twice(kurz, archiver):
    made = await make_swept(kurz)
    await click(kurz, *made)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    first = await restore(kurz, name)
    mine = [await counted(kurz, link.id) for link in made]
    assert await restore(kurz, name) == [Obstacle.EXISTS] * 3
    assert [await kurz.store.find(link.id, Scope()) for link in made] == first
    assert [await counted(kurz, link.id) for link in made] == mine


async def test_a_link_can_go_and_come_back_again(kurz, archiver):
    """Its version grows all the while, also if it comes back from the older file."""
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    old = await only_file(kurz)
    ends_at = kurz.clock.now() + timedelta(hours=1)
    await restore(kurz, old, expires_at=ends_at)
    await sweep(kurz, link)
    assert await run_until_done(kurz, archiver) == 1
    last = max(row.version for row in await rows(kurz, changes))
    [back] = await restore(kurz, old)
    assert back.version == last + 1


async def test_only_some_come_back_and_until_when(kurz, archiver):
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    ends_at = kurz.clock.now() + timedelta(days=30)
    [back] = await restore(kurz, name, made[1].short_code, expires_at=ends_at)
    assert (back.id, back.expires_at) == (made[1].id, ends_at)
    assert await living_ids(kurz) == {made[1].id}
    with pytest.raises(LinkNotFound):
        await restore(kurz, name, "nobody")
    with pytest.raises(InstantRefused):
        await restore(kurz, name, made[0].short_code, expires_at=kurz.clock.now())


async def test_what_stands_in_the_way_is_told(kurz, archiver, clock):
    workspace = await team(kurz)
    [taken] = await make_swept(kurz, 1, custom_code="taken")
    [homeless] = await make_swept(kurz, 1, workspace_id=workspace.id, owner_id=None)
    [free] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    await make_swept(kurz, 1, custom_code="taken")
    await kurz.workspaces.update(workspace.id, {"deleted_at": clock.now()})
    *refused, back = await restore(kurz, await only_file(kurz))
    assert refused == [Obstacle.TAKEN, Obstacle.NO_WORKSPACE]
    assert back.id == free.id
    assert not {taken.id, homeless.id} & await living_ids(kurz)


async def test_nothing_is_kept_of_who_deleted_their_account(kurz, archiver):
    """Neither of what they had deleted before, nor of what the reaper had swept."""
    [deleted] = await make_swept(kurz, 1)
    await revive(kurz, deleted)
    await kurz.links.delete(kurz.links.public_id(deleted), Scope())
    [swept] = await make_swept(kurz, 1)
    workspace = await team(kurz)
    [teams] = await make_swept(kurz, 1, workspace_id=workspace.id)
    [others] = await make_swept(kurz, 1, owner_id=OWNER + 1)
    await remove_owner(kurz, OWNER)
    assert await run_until_done(kurz, archiver, EndedKind.DELETED) == 2
    assert await run_until_done(kurz, archiver) == 2
    assert await archived_ids(kurz) == {teams.id: 1, others.id: 1}
    assert await living_ids(kurz) == set()
    gone = {row.link_id for row in await rows(kurz, changes, changes.c.version > 2)}
    assert {deleted.id, swept.id} <= gone


async def test_links_of_an_account_that_is_deleted(kurz, archiver):
    """A person's own does not come back; one in a workspace does, as nobody's."""
    workspace = await team(kurz)
    await make_swept(kurz, 1)
    [teams] = await make_swept(kurz, 1, workspace_id=workspace.id)
    await run_until_done(kurz, archiver)
    await remove_owner(kurz, OWNER)
    own, back = await restore(kurz, await only_file(kurz))
    assert own is Obstacle.NO_OWNER
    assert (back.id, back.owner_id) == (teams.id, None)
    assert await living_ids(kurz) == {teams.id}


async def test_the_change_log_is_read_once_for_a_file(kurz, archiver, monkeypatch):
    """It has no index by link, and may have millions of rows."""
    await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name, reads = await only_file(kurz), []
    read = kurz.database.read

    async def watch(query: Any, *args: Any) -> Any:
        reads.append(query)
        return await read(query, *args)

    archive = open_archive(kurz)
    monkeypatch.setattr(kurz.database, "read", watch)
    assert len([found async for found in archive.restore(name)]) == 3
    assert reads == [archive_storage.find_last_versions]


async def test_clicks_that_were_not_copied_when_it_went_come_back(kurz, archiver):
    """The row of a link is a little behind what was counted for it."""
    [link] = await make_swept(kurz, 1)
    await click(kurz, link)
    assert link.redirect_count == 0
    await run_until_done(kurz, archiver)
    [back] = await restore(kurz, await only_file(kurz))
    found = await kurz.store.find(link.id, Scope())
    assert found is not None
    assert found == back
    assert found.redirect_count == 1


async def test_an_anonymous_link_is_not_for_ever_unless_somebody_says(kurz, archiver, clock):
    [link] = await make_swept(kurz, 1, owner_id=None)
    columns = {"link_type": LinkType.TEMPORARY}
    assert await kurz.store.update(link, columns, clock.now()) is not None
    await run_until_done(kurz, archiver)
    clock.advance(days=3)
    [back] = await restore(kurz, await only_file(kurz))
    life = timedelta(hours=kurz.settings.temporary_link_hours)
    assert (back.link_type, back.expires_at) == (LinkType.TEMPORARY, clock.now() + life)
