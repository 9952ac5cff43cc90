"""Bans of links: what they were comes back, and whoever reads links hears of it."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Edit, Filter, Link, Scope, Status
from kurz.safety.bans import BanCause, LinkBan
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.safety.bans import BATCH, SqlLinkBanStore
from kurz.storage.schema.links import changes, link_tags, links
from kurz.storage.schema.people import accounts
from kurz.storage.schema.safety import link_bans
from kurz.wiring.core import Kurz
from support.endings import OWNER, make, rows, throw_away, write
from support.engines import without_redis

engine = without_redis  # which has no part in it
ADMIN = 9


@pytest.fixture
def bans(kurz: Kurz) -> SqlLinkBanStore:
    return SqlLinkBanStore(kurz.database)


@pytest.fixture(autouse=True)
async def owner(kurz: Kurz) -> None:
    account = {"id": OWNER, "email": "o@example.com", "password_hash": "", "is_admin": False}
    await write(kurz, sa.insert(accounts).values(**account, epoch=0, created_at=0))


def of(link: Link, cause: BanCause = BanCause.ADMIN, by: int | None = None) -> LinkBan:
    return LinkBan(link_id=link.id, cause=cause, banned_by=by, reason="phishing")


async def found(kurz: Kurz, link: Link) -> Link:
    it = await kurz.store.find(link.id, Scope())
    assert it is not None
    return it


async def status_of(kurz: Kurz, link: Link) -> Status:
    return (await found(kurz, link)).status


async def test_a_ban_is_told_in_the_change_log_and_the_history(kurz, bans, clock):
    link = await make(kurz)
    assert await bans.ban([of(link, by=ADMIN)], clock.now()) == 1
    banned = await found(kurz, link)
    assert (banned.status, banned.version) == (Status.BANNED, link.version + 1)
    [*_, last] = await rows(kurz, changes)
    assert (last["link_id"], last["short_code"]) == (link.id, link.short_code)
    assert last["version"] == banned.version
    entry, *_ = await kurz.store.history(link.id)
    assert (entry.action, entry.account_id) == ("ban", ADMIN)
    assert entry.changes == {"status": ("ACTIVE", "BANNED")}
    [row] = await rows(kurz, link_bans)
    assert (row["cause"], row["reason"], row["status_before"]) == ("admin", "phishing", "ACTIVE")


async def test_unbanned_links_are_what_they_were(kurz, bans, clock):
    active = await make(kurz)
    paused = await make(kurz)
    await kurz.links.edit(kurz.links.public_id(paused), Scope(), Edit(is_paused=True))
    trashed = await throw_away(kurz, await make(kurz, tags=("tag",)))
    all_of_them = [active, paused, trashed]
    assert await bans.ban([of(link) for link in all_of_them], clock.now()) == 3
    assert {await status_of(kurz, link) for link in all_of_them} == {Status.BANNED}
    assert [row["in_trash"] for row in await rows(kurz, link_tags)] == [False]
    clock.advance(seconds=5)
    ids = [link.id for link in all_of_them]
    assert await bans.unban(ids, [BanCause.ADMIN], clock.now(), account_id=ADMIN) == 3
    statuses = [await status_of(kurz, link) for link in all_of_them]
    assert statuses == [Status.ACTIVE, Status.PAUSED, Status.DELETED]
    assert (await found(kurz, trashed)).deleted_at == clock.now()
    assert [row["in_trash"] for row in await rows(kurz, link_tags)] == [True]
    assert await rows(kurz, link_bans) == []
    entry, *_ = await kurz.store.history(active.id)
    assert (entry.action, entry.account_id, entry.version) == ("unban", ADMIN, active.version + 2)
    [*_, last] = await rows(kurz, changes, changes.c.link_id == active.id)
    assert last["version"] == active.version + 2


@pytest.mark.parametrize("ended", [EndedKind.DELETED, EndedKind.SWEPT])
async def test_the_time_in_the_trash_begins_anew(kurz, bans, clock, ended):
    link = await make(kurz, expires_in_seconds=60)
    reaper = SqlReaperStore(kurz.database, clock, timedelta(days=365))
    clock.advance(minutes=1)
    if ended is EndedKind.DELETED:
        await throw_away(kurz, link)
    else:
        await reaper.mark_expired(clock.now(), 10)
        await reaper.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, clock.now(), clock.now(), 10)
    await bans.ban([of(link)], clock.now())
    clock.advance(days=100)
    assert await bans.unban([link.id], [BanCause.ADMIN], clock.now()) == 1
    back = await found(kurz, link)
    assert (back.status, back.deleted_at) == (Status.DELETED, clock.now())
    assert back.swept_at == (None if ended is EndedKind.DELETED else clock.now())
    just_before = clock.now() - timedelta(seconds=1)
    assert await reaper.sweep(ended, RetentionAction.PURGE, just_before, clock.now(), 10) == 0
    assert await reaper.sweep(ended, RetentionAction.PURGE, clock.now(), clock.now(), 10) == 1


async def test_a_stronger_cause_takes_a_link_over_and_a_weaker_does_not(kurz, bans, clock):
    link = await make(kurz)
    assert await bans.ban([of(link, BanCause.LIST)], clock.now()) == 1
    assert await bans.ban([of(link, BanCause.LIST)], clock.now()) == 0
    assert await bans.ban([of(link, BanCause.ADMIN)], clock.now()) == 1
    assert await bans.ban([of(link, BanCause.HOST)], clock.now()) == 0
    assert await bans.unban([link.id], [BanCause.LIST, BanCause.HOST], clock.now()) == 0
    assert await status_of(kurz, link) is Status.BANNED
    assert await bans.unban([link.id], [BanCause.ADMIN], clock.now()) == 1
    assert await status_of(kurz, link) is Status.ACTIVE


async def test_what_belongs_to_nobody_any_more_goes_to_the_trash(kurz, bans, clock):
    mine = await make(kurz)
    team = await make(kurz, workspace_id=7)
    await bans.ban([of(mine), of(team)], clock.now())
    await write(kurz, sa.delete(accounts))
    clock.advance(seconds=5)
    assert await bans.unban([mine.id, team.id], [BanCause.ADMIN], clock.now()) == 2
    for link in mine, team:
        back = await found(kurz, link)
        assert (back.status, back.deleted_at) == (Status.DELETED, clock.now())


async def test_what_was_imported_as_banned_is_an_administrators(kurz, bans, clock):
    first, second = await make(kurz), await make(kurz)
    for link in first, second:
        await kurz.store.update(link, {"status": Status.BANNED}, clock.now())
    assert await bans.ban([of(first, BanCause.HOST)], clock.now()) == 0
    assert await bans.ban([of(first, BanCause.ADMIN)], clock.now()) == 1
    ids = [first.id, second.id]
    assert await bans.unban(ids, [BanCause.LIST, BanCause.HOST, BanCause.ACCOUNT], clock.now()) == 0
    assert await bans.unban(ids, [*BanCause], clock.now()) == 2
    assert [await status_of(kurz, it) for it in (first, second)] == [Status.ACTIVE] * 2


async def test_many_links_in_more_than_one_transaction(kurz, bans, clock):
    made = [await make(kurz) for _ in range(BATCH + 5)]
    assert await bans.ban([of(link) for link in made], clock.now()) == BATCH + 5
    assert await bans.unban([link.id for link in made], [BanCause.ADMIN], clock.now()) == BATCH + 5
    query = sa.select(sa.func.count()).where(links.c.status == Status.ACTIVE)
    assert await kurz.database.read(lambda it: it.execute(query).scalar()) == BATCH + 5


async def test_lists_show_what_is_banned(kurz, bans, clock):
    await make(kurz)
    link = await make(kurz)
    await bans.ban([of(link)], clock.now())
    page = await kurz.links.list(Scope(0, OWNER), Filter(status=Status.BANNED))
    assert [it.id for it in page.links] == [link.id]
