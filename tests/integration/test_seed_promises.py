"""What Hybrid expiration (001) and UC-US-003 (004) promise of links that expire, by name."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.links.ending.ports import JOB
from kurz.links.model import Link, Scope
from kurz.people.passwords import Passwords
from kurz.scheduling import RunCause, RunContext, RunOutcome
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.reaper import Reaping, open_reaper
from support.clock import FrozenClock
from support.feed import until_told

WRITES = ("INSERT", "UPDATE", "DELETE")
INSTANCES = 4
VISITORS = 100


@pytest.fixture
def clock() -> FrozenClock:
    """A day behind PostgreSQL's, by which the reaper goes there: links are made, then it moves on
    by that day."""
    return FrozenClock(datetime.now(UTC) - timedelta(days=1))


async def statuses(client: httpx2.AsyncClient, *links: Link) -> list[int]:
    return [(await client.get(f"/{link.short_code}")).status_code for link in links]


async def exists(kurz: Kurz, link: Link) -> bool:
    return await kurz.store.find(link.id, Scope()) is not None


async def test_001_no_synchronous_deletes(statements, kurz, connect, add_link, clock):
    link = await add_link(expires_in_seconds=60)
    unseen = await add_link(expires_in_seconds=60)
    warm = await connect()
    assert await statuses(warm, link) == [302]
    clock.advance(days=1)
    row = await kurz.store.find(link.id, Scope())
    cold = await connect()
    statements.clear()
    assert await statuses(warm, link, link) == [410, 410]
    assert await statuses(cold, link, unseen) == [410, 410]
    assert any(" links" in text for text in statements)  # so they would be seen
    written = [text for text in statements if text.lstrip().upper().startswith(WRITES)]
    assert [text for text in written if "visitor_salts" not in text] == []  # the new day's
    assert await kurz.store.find(link.id, Scope()) == row


async def test_001_expiry_is_validated_on_cache_hits_and_misses(connect, add_link, clock):
    link = await add_link(expires_in_seconds=60)
    hit, miss = await connect(), await connect(hot_links=1)
    clock.advance(seconds=60, microseconds=-1)
    assert await statuses(hit, link) == [302]
    clock.advance(microseconds=1)
    assert await statuses(hit, link) == [410]
    assert await statuses(miss, link) == [410]


async def test_001_tombstones_stop_a_thundering_herd(statements, connect, add_link, clock):
    link = await add_link(expires_in_seconds=60)
    clock.advance(days=1)
    client = await connect()
    for most in (1, 0):
        statements.clear()
        found = await asyncio.gather(*(statuses(client, link) for _ in range(VISITORS)))
        assert found == [[410]] * VISITORS
        assert sum(" links" in text for text in statements) <= most


@asynccontextmanager
async def instances(kurz: Kurz) -> AsyncIterator[list[Reaping]]:
    """The reapers of several instances on one database."""
    async with AsyncExitStack() as closing:
        found = []
        for _ in range(INSTANCES):
            own = await closing.enter_async_context(
                open_kurz(kurz.settings, kurz.clock, Passwords(cost=4))
            )
            found.append(await closing.enter_async_context(open_reaper(own)))
        yield found


async def test_001_cleanup_runs_on_several_instances_safely(kurz, add_link, clock):
    ended = [await add_link(is_anonymous=True, expires_in_seconds=60) for _ in range(20)]
    live = [await add_link(expires_in_seconds=2 * 86400) for _ in range(5)]
    clock.advance(days=1)
    async with instances(kurz) as reapings:
        contexts = [RunContext(asyncio.Event()) for _ in reapings]
        await asyncio.gather(
            *(it.reaper.run(context) for it, context in zip(reapings, contexts, strict=True))
        )
        assert sum(context.counts["purged"] for context in contexts) == len(ended)
        results = await asyncio.gather(*(it.runner.run(RunCause.DUE) for it in reapings))
        assert sum(result is not None for result in results) == 1
    assert not any([await exists(kurz, link) for link in ended])
    assert [await kurz.store.find(link.id, Scope()) for link in live] == live


@asynccontextmanager
async def without_a_table(kurz: Kurz) -> AsyncIterator[None]:
    """The database refuses to purge."""

    def rename(connection: sa.Connection, old: str, new: str) -> None:
        connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))

    await kurz.database.write(rename, "code_quarantine", "elsewhere")
    yield
    await kurz.database.write(rename, "elsewhere", "code_quarantine")


async def test_001_cleanup_failures_do_not_affect_redirects(kurz, connect, add_link, clock):
    ended = await add_link(is_anonymous=True, expires_in_seconds=60)
    live = await add_link()
    clock.advance(days=1)
    warm = await connect()
    assert await statuses(warm, live, ended) == [302, 410]
    async with open_reaper(kurz) as reaping, without_a_table(kurz):
        for _ in range(3):
            with capture_logs():
                result = await reaping.runner.run(RunCause.NOW)
            assert result is not None
            assert result.outcome is RunOutcome.FAILED
            assert await statuses(warm, live, ended) == [302, 410]
            assert await statuses(await connect(), live, ended) == [302, 410]


async def test_004_7a_a_cleanup_that_fails_is_logged_and_retried_and_loses_nothing(
    kurz, client, add_link, clock
):
    ended = await add_link(is_anonymous=True, expires_in_seconds=60)
    clock.advance(days=1)
    runs = SqlRunStore(kurz.database, kurz.clock)
    async with open_reaper(kurz) as reaping:
        async with without_a_table(kurz):
            with capture_logs() as lines:
                await reaping.runner.run(RunCause.DUE)
            assert "error" in {line["log_level"] for line in lines}
            assert (await runs.totals(JOB)).failed_runs == 1
            assert await exists(kurz, ended)
            assert await statuses(client, ended) == [410]
        result = await reaping.runner.run(RunCause.NOW)
        assert result is not None
        assert result.outcome is RunOutcome.DONE
    found = await runs.totals(JOB)
    assert (found.successful_runs, found.failed_runs, found.cleaned) == (1, 1, 1)

    async def is_gone() -> bool:
        return await statuses(client, ended) == [404]

    await until_told(is_gone)


async def test_004_7b_a_stale_cache_entry_says_expired_and_corrects_itself(
    statements, kurz, connect, add_link, clock
):
    link = await add_link(expires_in_seconds=60)
    other = await add_link()
    warm, cold = await connect(), await connect(hot_links=1)
    assert await statuses(warm, link) == [302]
    assert await statuses(cold, link, other) == [302, 302]  # the first one is out of memory again
    clock.advance(seconds=60)
    statements.clear()
    assert await statuses(warm, link) == [410]
    assert not any(" links" in text for text in statements)
    assert await statuses(cold, link) == [410]
    edit = {"expires_at": clock.now() + timedelta(days=1)}
    await kurz.links.edit(kurz.links.public_id(link), Scope(), edit)

    async def is_back() -> bool:
        return await statuses(warm, link) + await statuses(cold, link) == [302, 302]

    await until_told(is_back)
