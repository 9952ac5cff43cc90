"""Runs of the screening job: where they go on, and what they are asked for again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.jobs.rescreen import Screening
from kurz.links.model import Link, Status
from kurz.safety.bans import Ban, BanKind
from kurz.safety.rescreening import Seen
from kurz.scheduling import RunContext, RunOutcome
from kurz.storage.safety.ban_list import SqlBanStore
from kurz.storage.safety.screening import SqlScreeningStore
from kurz.storage.schema.jobs import leases
from kurz.storage.schema.safety import screening_position
from kurz.wiring.core import Kurz
from kurz.wiring.screen import open_screen
from support.clock import FrozenClock
from support.endings import make, rows, throw_away, write
from support.screening import get, is_requested, make_job, rewrite, run, status_of


async def test_a_run_goes_on_where_the_last_one_ended(kurz, blocklist, clock):
    for number in range(5):
        await make(kurz, original_url=f"https://a.example/{number}")
    rewrite(kurz, blocklist, "a.example\n")
    stopping = asyncio.Event()
    context = RunContext(
        stopping, tell=lambda name, _: stopping.set() if name == "banned" else None
    )
    await make_job(kurz).run(context)
    assert context.counts["banned"] == 2
    [position] = await rows(kurz, screening_position)
    assert position["finished_at"] is None
    job = make_job(kurz)
    await job.look(clock.now())
    assert await is_requested(kurz)
    context = RunContext(asyncio.Event())
    await job.run(context)
    assert context.counts["banned"] == 3
    [position] = await rows(kurz, screening_position)
    assert position["finished_at"] is not None


async def test_what_was_seen_by_the_same_rules_is_not_seen_again(kurz):
    links = [await make(kurz) for _ in range(5)]
    stopping = asyncio.Event()
    context = RunContext(stopping, tell=lambda *_: stopping.set())
    await make_job(kurz).run(context)
    [position] = await rows(kurz, screening_position)
    assert (position["link_id"], position["finished_at"]) == (links[1].id, None)
    context = RunContext(asyncio.Event())
    await make_job(kurz).run(context)
    assert context.counts["screened"] == 3 + 5  # the last ones are looked at once more at the end


async def test_a_link_that_is_held_for_no_reason_any_more_is_looked_at(kurz, job, clock):
    """A worker made it that did not have the lists yet."""
    await run(job)
    link = await make(kurz)
    await kurz.store.update(link, {"held_at": clock.now()}, clock.now())
    await job.look(clock.now())
    assert await is_requested(kurz)
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


async def is_requested_anew(kurz: Kurz, job: Screening, clock: FrozenClock) -> bool:
    await write(kurz, sa.update(leases).values(requested_at=None))
    await job.look(clock.now())
    return await is_requested(kurz)


async def test_a_run_that_failed_is_asked_for_again(kurz, clock):
    async def fail() -> None:
        raise StoreUnavailable("It is away.")

    link = await make(kurz)
    await lead_astray(kurz, link)
    job = make_job(kurz, Eventful(kurz, fail))
    await job.look(clock.now())
    assert await is_requested(kurz)
    assert not await is_requested_anew(kurz, job, clock)
    with pytest.raises(StoreUnavailable):
        await job.run(RunContext(asyncio.Event()))
    assert await is_requested_anew(kurz, job, clock)
    await run(job)
    assert await status_of(kurz, link) is Status.BANNED
    assert not await is_requested_anew(kurz, job, clock)


async def test_a_run_that_was_skipped_is_asked_for_again(kurz, job, clock, blocklist):
    await job.look(clock.now())
    rewrite(kurz, blocklist, None)
    assert (await job.run(RunContext(asyncio.Event()))).outcome is RunOutcome.SKIPPED
    rewrite(kurz, blocklist, "bad.example\n")
    assert await is_requested_anew(kurz, job, clock)


async def test_instances_with_other_lists_do_not_keep_each_other_busy(kurz, job, clock):
    await run(job)
    others = replace(
        kurz, screen=open_screen(replace(kurz.settings, blocklists=()), kurz.banned_hosts)
    )
    await run(make_job(others))
    assert not await is_requested_anew(kurz, job, clock)


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
    context = RunContext(asyncio.Event())
    await job.run(context)
    assert context.counts["screened"] == 2
    assert await is_requested_anew(kurz, job, clock)
    assert await run(job) == {"banned": 5}
    assert {await status_of(kurz, link) for link in links} == {Status.BANNED}
