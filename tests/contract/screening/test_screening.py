"""Existing links are screened again: banned, brought back and released, on both engines."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.links.errors import DestinationRefused, LinkBanned
from kurz.links.lifecycle import Outcome, outcome
from kurz.links.model import Draft, Status, Strategy
from kurz.safety.audit import OPERATOR
from kurz.safety.bans import BanCause, LinkBan
from kurz.scheduling import RunContext, RunOutcome
from kurz.storage.safety.bans import SqlLinkBanStore
from kurz.storage.safety.screening import _HELD, _RULED, SqlScreeningStore, count_held, read_some
from kurz.storage.schema.jobs import leases
from kurz.storage.schema.links import changes
from kurz.storage.schema.safety import link_bans
from kurz.wiring.screen import open_screen
from support.endings import make, restore, rows, throw_away, write
from support.plans import plans_of
from support.screening import get, is_requested, make_job, rewrite, run, status_of


async def test_what_a_list_names_by_now_is_banned_and_comes_back(kurz, job, blocklist):
    links = [await make(kurz, original_url=f"https://a.example/{n}") for n in range(5)]
    other = await make(kurz, original_url="https://nota.example/")
    trashed = await throw_away(kurz, await make(kurz, original_url="https://a.example/trash"))
    assert await run(job) == {}
    rewrite(kurz, blocklist, "bad.example\na.example\n")
    assert await run(job) == {"banned": 5}
    assert {await status_of(kurz, link) for link in links} == {Status.BANNED}
    assert await status_of(kurz, other) is Status.ACTIVE
    assert await status_of(kurz, trashed) is Status.DELETED
    assert {row["cause"] for row in await rows(kurz, link_bans)} == {BanCause.LIST}
    assert await run(job) == {}
    rewrite(kurz, blocklist, "bad.example\n")
    assert await run(job) == {"unbanned": 5}
    assert {await status_of(kurz, link) for link in links} == {Status.ACTIVE}


async def test_an_administrators_ban_stays_when_a_list_changes(kurz, job, clock, blocklist):
    link = await make(kurz)
    ban = LinkBan(link_id=link.id, cause=BanCause.ADMIN)
    await SqlLinkBanStore(kurz.database).ban([ban], clock.now())
    rewrite(kurz, blocklist, "other.example\n")
    assert await run(job) == {}
    assert await status_of(kurz, link) is Status.BANNED


async def test_held_links_are_released_or_banned(kurz, job, blocklist, clock):
    rewrite(kurz, blocklist, None)
    held = [
        await make(kurz, original_url=f"https://{host}.example/") for host in ("good", "bad", "c")
    ]
    assert {link.held_at for link in held} == {clock.now()}
    assert outcome(held[0], clock.now()) is Outcome.HELD
    context = RunContext(asyncio.Event())
    assert (await job.run(context)).outcome is RunOutcome.SKIPPED
    await job.look(clock.now())
    assert not await is_requested(kurz)
    rewrite(kurz, blocklist, "bad.example\n")
    await job.look(clock.now())
    assert await is_requested(kurz)
    assert await run(job) == {"released": 2, "banned": 1}
    [good, bad, _] = [await get(kurz, link) for link in held]
    assert (good.held_at, good.version) == (None, held[0].version + 1)
    assert bad.status is Status.BANNED
    last = [row["version"] for row in await rows(kurz, changes) if row["link_id"] == good.id]
    assert last[-1] == good.version
    assert not (await SqlScreeningStore(kurz.database).position()).has_held


async def test_nothing_is_brought_back_while_a_list_cannot_be_read(kurz, job, blocklist):
    link = await make(kurz, original_url="https://a.example/")
    rewrite(kurz, blocklist, "a.example\n")
    await run(job)
    rewrite(kurz, blocklist, None)
    context = RunContext(asyncio.Event())
    assert (await job.run(context)).outcome is RunOutcome.SKIPPED
    assert await status_of(kurz, link) is Status.BANNED


async def test_a_link_that_was_edited_meanwhile_is_not_released(kurz, job, blocklist, clock):
    store = SqlScreeningStore(kurz.database)
    rewrite(kurz, blocklist, None)
    link = await make(kurz, original_url="https://good.example/")
    seen = await store.held(0, 10)
    await kurz.store.update(link, {"original_url": "https://new.example/"}, clock.now())
    assert await store.release(seen, clock.now()) == 0


async def test_a_banned_host_takes_its_links_along(kurz, job):
    below = await make(kurz, original_url="https://x.host.example/")
    beside = await make(kurz, original_url="https://nothost.example/")
    await kurz.bans.ban_host("host.example", None, OPERATOR)
    assert await is_requested(kurz)
    assert await run(job) == {"banned": 1}
    assert await status_of(kurz, below) is Status.BANNED
    assert await status_of(kurz, beside) is Status.ACTIVE
    [row] = await rows(kurz, link_bans)
    assert (row["cause"], row["subject"]) == (BanCause.HOST, "host.example")
    await kurz.bans.unban_host("host.example", OPERATOR)
    assert await run(job) == {"unbanned": 1}
    assert await status_of(kurz, below) is Status.ACTIVE


@pytest.mark.parametrize("host", ["198.51.100.7", "[::ffff:198.51.100.7]"])
async def test_a_banned_address_takes_links_of_every_spelling_along(kurz, job, host):
    dotted = await make(kurz, original_url="http://198.51.100.7/")
    mapped = await make(kurz, original_url="http://[::ffff:198.51.100.7]/")
    await kurz.bans.ban_host(host, None, OPERATOR)
    assert await run(job) == {"banned": 2}
    assert await status_of(kurz, dotted) is await status_of(kurz, mapped) is Status.BANNED
    assert {row["subject"] for row in await rows(kurz, link_bans)} == {"198.51.100.7"}
    await kurz.bans.unban_host(host, OPERATOR)
    assert await run(job) == {"unbanned": 2}


async def test_a_ban_of_a_host_that_nobody_asked_for_is_carried_out(kurz, job, clock):
    """It was running when it was asked for."""
    await run(job)
    await kurz.bans.ban_host("host.example", None, OPERATOR)
    await write(kurz, sa.update(leases).values(requested_at=None))
    await job.look(clock.now())
    assert await is_requested(kurz)


async def test_bans_end_with_the_last_rule(kurz, job, clock, blocklist):
    link = await make(kurz, original_url="https://a.example/")
    rewrite(kurz, blocklist, "a.example\n")
    await run(job)
    none = replace(
        kurz, screen=open_screen(replace(kurz.settings, blocklists=()), kurz.banned_hosts)
    )
    assert await run(make_job(none)) == {"unbanned": 1}
    assert await status_of(kurz, link) is Status.ACTIVE


async def test_a_held_link_that_is_banned_is_not_counted(kurz, job, clock, blocklist):
    rewrite(kurz, blocklist, None)
    links = [await make(kurz) for _ in range(2)]
    assert await kurz.database.read(count_held) == 2
    ban = LinkBan(link_id=links[0].id, cause=BanCause.ADMIN)
    await SqlLinkBanStore(kurz.database).ban([ban], clock.now())
    assert await kurz.database.read(count_held) == 1
    assert [link.link_id for link in await SqlScreeningStore(kurz.database).held(0, 9)] == [
        links[1].id
    ]


async def test_no_batch_sorts_or_reads_what_is_not_looked_for(kurz):
    """On SQLite: what PostgreSQL does where there are no rows tells nothing."""

    def plan(connection: sa.Connection, query: Any) -> str:
        plans: list[str] = []
        if connection.dialect.name == "sqlite":
            with plans_of(connection, plans):
                read_some(connection, query, 0, 9)
        return "".join(plans)

    for query, index in ((_HELD, "USING INDEX ix_links_held"), (_RULED, "USING PRIMARY KEY")):
        found = await kurz.database.read(plan, query)
        assert not found or index in found
        assert "TEMP B-TREE" not in found


async def test_it_is_asked_for_once_by_the_same_rules(kurz, job, clock, blocklist):
    await run(job)
    await job.look(clock.now())
    assert not await is_requested(kurz)
    rewrite(kurz, blocklist, "other.example\n")
    await job.look(clock.now())
    assert await is_requested(kurz)


async def test_a_deterministic_link_does_not_come_back_while_it_is_listed(
    kurz, job, blocklist, people
):
    workspace = await people.workspace(await people.add())
    draft = Draft(
        original_url="https://a.example/x",
        workspace_id=workspace.id,
        strategy=Strategy.DETERMINISTIC,
    )
    link = (await kurz.links.create(draft)).link
    await throw_away(kurz, link)
    rewrite(kurz, blocklist, "a.example\n")
    with pytest.raises(DestinationRefused):
        await kurz.links.create(draft)
    with pytest.raises(DestinationRefused):
        await restore(kurz, link)
    rewrite(kurz, blocklist, "other.example\n")
    again = (await kurz.links.create(draft)).link
    assert again.id == link.id
    rewrite(kurz, blocklist, "a.example\n")
    await run(job)
    rewrite(kurz, blocklist, "@@||a.example^\n||b.example^\n")
    with pytest.raises(LinkBanned):  # until the job has run
        await kurz.links.create(draft)
    await run(job)
    assert not (await kurz.links.create(draft)).is_new
