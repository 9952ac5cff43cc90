"""Existing links are screened again: banned, brought back and released, on both engines."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.errors import StoreUnavailable
from kurz.guarding import open_screen
from kurz.jobs.screening import Screening
from kurz.links.errors import DestinationRefused, LinkBanned
from kurz.links.lifecycle import Outcome as Answer
from kurz.links.lifecycle import outcome
from kurz.links.model import Draft, Link, Status, Strategy
from kurz.safety.audit import OPERATOR
from kurz.safety.bans import Ban, BanKind, Cause, LinkBan
from kurz.safety.rescreening import JOB, Seen
from kurz.scheduling import Outcome, Turn
from kurz.settings import Settings
from kurz.storage.ban_list import SqlBanStore
from kurz.storage.bans import SqlLinkBanStore
from kurz.storage.job_schema import leases
from kurz.storage.leases import SqlLeaseStore
from kurz.storage.safety_schema import link_bans, screening_position
from kurz.storage.schema import accounts, changes
from kurz.storage.screening import _HELD, _RULED, SqlScreeningStore, count_held, read_some
from support.clock import FrozenClock
from support.endings import OWNER, found, make, restore, rows, throw_away, write
from support.engines import without_redis
from support.plans import plans_of

engine = without_redis  # which has no part in it


@pytest.fixture
def blocklist(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("bad.example\n")
    return path


@pytest.fixture
def settings(settings: Settings, blocklist: Path) -> Settings:
    return replace(settings, blocklists=(blocklist,))


@pytest.fixture(autouse=True)
async def owner(kurz: Kurz) -> None:
    account = {"id": OWNER, "email": "o@example.com", "password_hash": "", "is_admin": False}
    await write(kurz, sa.insert(accounts).values(**account, epoch=0, created_at=0))


@pytest.fixture
def job(kurz: Kurz) -> Screening:
    return make_job(kurz)


def make_job(kurz: Kurz, store: SqlScreeningStore | None = None, **options: float) -> Screening:
    return Screening(
        store or SqlScreeningStore(kurz.database),
        SqlLinkBanStore(kurz.database),
        kurz.banned_hosts,
        kurz.screen,
        SqlLeaseStore(kurz.database, kurz.clock),
        kurz.clock,
        **{"batch": 2, "settle_seconds": 0, **options},  # type: ignore[arg-type]
    )


async def run(job: Screening) -> dict[str, int]:
    """What was done."""
    turn = Turn(asyncio.Event())
    result = await job.run(turn)
    assert result.outcome is Outcome.DONE
    return {name: count for name, count in turn.counts.items() if count and name != "screened"}


def rewrite(kurz: Kurz, path: Path, text: str | None) -> None:
    """As if the watch had seen it."""
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    kurz.screen.shelf.make()


async def is_asked(kurz: Kurz) -> bool:
    lease, _ = await SqlLeaseStore(kurz.database, kurz.clock).look(JOB)
    return lease is not None and lease.asked_at is not None


async def status_of(kurz: Kurz, link: Link) -> Status:
    return (await get(kurz, link)).status


async def get(kurz: Kurz, link: Link) -> Link:
    now = await found(kurz, link)
    assert now is not None
    return now


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
    assert {row["cause"] for row in await rows(kurz, link_bans)} == {Cause.LIST}
    assert await run(job) == {}
    rewrite(kurz, blocklist, "bad.example\n")
    assert await run(job) == {"unbanned": 5}
    assert {await status_of(kurz, link) for link in links} == {Status.ACTIVE}


async def test_an_administrators_ban_stays_when_a_list_changes(kurz, job, clock, blocklist):
    link = await make(kurz)
    ban = LinkBan(link_id=link.id, cause=Cause.ADMIN)
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
    assert outcome(held[0], clock.now()) is Answer.HELD
    turn = Turn(asyncio.Event())
    assert (await job.run(turn)).outcome is Outcome.SKIPPED
    await job.look(clock.now())
    assert not await is_asked(kurz)
    rewrite(kurz, blocklist, "bad.example\n")
    await job.look(clock.now())
    assert await is_asked(kurz)
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
    turn = Turn(asyncio.Event())
    assert (await job.run(turn)).outcome is Outcome.SKIPPED
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
    assert await is_asked(kurz)
    assert await run(job) == {"banned": 1}
    assert await status_of(kurz, below) is Status.BANNED
    assert await status_of(kurz, beside) is Status.ACTIVE
    [row] = await rows(kurz, link_bans)
    assert (row["cause"], row["subject"]) == (Cause.HOST, "host.example")
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
    await write(kurz, sa.update(leases).values(asked_at=None))
    await job.look(clock.now())
    assert await is_asked(kurz)


async def test_bans_end_with_the_last_rule(kurz, job, clock, blocklist):
    link = await make(kurz, original_url="https://a.example/")
    rewrite(kurz, blocklist, "a.example\n")
    await run(job)
    none = replace(
        kurz, screen=open_screen(replace(kurz.settings, blocklists=()), kurz.banned_hosts)
    )
    assert await run(make_job(none)) == {"unbanned": 1}
    assert await status_of(kurz, link) is Status.ACTIVE


async def test_a_run_goes_on_where_the_last_one_ended(kurz, blocklist, clock):
    for number in range(5):
        await make(kurz, original_url=f"https://a.example/{number}")
    rewrite(kurz, blocklist, "a.example\n")
    stopping = asyncio.Event()
    turn = Turn(stopping, tell=lambda name, _: stopping.set() if name == "banned" else None)
    await make_job(kurz).run(turn)
    assert turn.counts["banned"] == 2
    [position] = await rows(kurz, screening_position)
    assert position["finished_at"] is None
    job = make_job(kurz)
    await job.look(clock.now())
    assert await is_asked(kurz)
    turn = Turn(asyncio.Event())
    await job.run(turn)
    assert turn.counts["banned"] == 3
    [position] = await rows(kurz, screening_position)
    assert position["finished_at"] is not None


async def test_what_was_seen_by_the_same_rules_is_not_seen_again(kurz):
    links = [await make(kurz) for _ in range(5)]
    stopping = asyncio.Event()
    turn = Turn(stopping, tell=lambda *_: stopping.set())
    await make_job(kurz).run(turn)
    [position] = await rows(kurz, screening_position)
    assert (position["link_id"], position["finished_at"]) == (links[1].id, None)
    turn = Turn(asyncio.Event())
    await make_job(kurz).run(turn)
    assert turn.counts["screened"] == 3 + 5  # the last ones are looked at once more at the end


async def test_a_link_that_is_held_for_no_reason_any_more_is_looked_at(kurz, job, clock):
    """A worker made it that did not have the lists yet."""
    await run(job)
    link = await make(kurz)
    await kurz.store.update(link, {"held_at": clock.now()}, clock.now())
    await job.look(clock.now())
    assert await is_asked(kurz)
    assert await run(job) == {"released": 1}


class Eventful(SqlScreeningStore):
    """Something happens, once, when the next links are read; `at_end`: when there are no more."""

    def __init__(
        self, kurz: Kurz, happen: Callable[[], Awaitable[None]], *, at_end: bool = False
    ) -> None:
        super().__init__(kurz.database)
        self._events = [happen]
        self._at_end = at_end

    async def next(self, after: int, most: int) -> Sequence[Seen]:
        seen = await super().next(after, most)
        if self._events and not (self._at_end and seen):
            await self._events.pop()()
        return seen


async def lead_astray(kurz: Kurz, link: Link) -> None:
    """As a process does it that does not know the list."""
    now = kurz.clock.now()
    assert await kurz.store.update(link, {"original_url": "https://bad.example/"}, now)


async def is_asked_anew(kurz: Kurz, job: Screening, clock: FrozenClock) -> bool:
    await write(kurz, sa.update(leases).values(asked_at=None))
    await job.look(clock.now())
    return await is_asked(kurz)


async def test_a_run_that_failed_is_asked_for_again(kurz, clock):
    async def fail() -> None:
        raise StoreUnavailable("It is away.")

    link = await make(kurz)
    await lead_astray(kurz, link)
    job = make_job(kurz, Eventful(kurz, fail))
    await job.look(clock.now())
    assert await is_asked(kurz)
    assert not await is_asked_anew(kurz, job, clock)
    with pytest.raises(StoreUnavailable):
        await job.run(Turn(asyncio.Event()))
    assert await is_asked_anew(kurz, job, clock)
    await run(job)
    assert await status_of(kurz, link) is Status.BANNED
    assert not await is_asked_anew(kurz, job, clock)


async def test_a_run_that_was_skipped_is_asked_for_again(kurz, job, clock, blocklist):
    await job.look(clock.now())
    rewrite(kurz, blocklist, None)
    assert (await job.run(Turn(asyncio.Event()))).outcome is Outcome.SKIPPED
    rewrite(kurz, blocklist, "bad.example\n")
    assert await is_asked_anew(kurz, job, clock)


async def test_instances_with_other_lists_do_not_keep_each_other_busy(kurz, job, clock):
    await run(job)
    others = replace(
        kurz, screen=open_screen(replace(kurz.settings, blocklists=()), kurz.banned_hosts)
    )
    await run(make_job(others))
    assert not await is_asked_anew(kurz, job, clock)


async def test_what_was_edited_by_old_rules_behind_its_back_is_found(kurz):
    links = [await make(kurz) for _ in range(5)]

    async def edit() -> None:
        await lead_astray(kurz, links[0])

    assert await run(make_job(kurz, Eventful(kurz, edit, at_end=True))) == {"banned": 1}
    assert await status_of(kurz, links[0]) is Status.BANNED


async def test_all_changes_are_looked_at_in_batches(kurz):
    links = [await make(kurz) for _ in range(5)]

    async def edit() -> None:
        for link in links:
            await lead_astray(kurz, link)
        await throw_away(kurz, await get(kurz, links[0]))

    assert await run(make_job(kurz, Eventful(kurz, edit, at_end=True))) == {"banned": 4}


async def test_a_host_that_is_banned_during_a_run_does_not_wait_for_its_end(kurz, clock):
    links = [await make(kurz, original_url="https://host.example/") for _ in range(5)]

    async def ban() -> None:
        await SqlBanStore(kurz.database).put(
            Ban(
                kind=BanKind.HOST,
                subject="host.example",
                reason=None,
                banned_by=None,
                banned_at=clock.now(),
            )
        )

    job = make_job(kurz, Eventful(kurz, ban), learn_seconds=0)
    turn = Turn(asyncio.Event())
    await job.run(turn)
    assert turn.counts["screened"] == 2
    assert await is_asked_anew(kurz, job, clock)
    assert await run(job) == {"banned": 5}
    assert {await status_of(kurz, link) for link in links} == {Status.BANNED}


async def test_a_held_link_that_is_banned_is_not_counted(kurz, job, clock, blocklist):
    rewrite(kurz, blocklist, None)
    links = [await make(kurz) for _ in range(2)]
    assert await kurz.database.read(count_held) == 2
    ban = LinkBan(link_id=links[0].id, cause=Cause.ADMIN)
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
    assert not await is_asked(kurz)
    rewrite(kurz, blocklist, "other.example\n")
    await job.look(clock.now())
    assert await is_asked(kurz)


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
