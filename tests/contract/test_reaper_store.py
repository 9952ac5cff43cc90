"""Links end when their time has come, each once, and nothing else does."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links import lifecycle
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Filter, Link, Scope, Status
from kurz.storage.ending.conditions import are_ended
from kurz.storage.ending.purging import purge_links
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.engine.batches import SQLITE_LINKS
from kurz.storage.schema.links import changes, history, link_tags, links
from kurz.wiring.core import Kurz
from support.endings import OWNER, exist, found, make, restore, rows, throw_away, write
from support.engines import without_redis

engine = without_redis  # which has no part in it
KEPT = timedelta(days=365)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def reaper(kurz: Kurz, clock) -> SqlReaperStore:
    return SqlReaperStore(kurz.database, clock, KEPT)


async def make_temporary(kurz: Kurz, **fields: Any) -> Link:
    return await make(kurz, owner_id=None, is_anonymous=True, expires_in_seconds=3600, **fields)


async def make_ending(kurz: Kurz, **fields: Any) -> Link:
    return await make(kurz, expires_in_seconds=3600, **fields)


async def ended_at_now(kurz: Kurz, reaper: SqlReaperStore, clock, ended: EndedKind) -> Link:
    """A link that ends so at this very instant of the clock."""
    if ended is EndedKind.DELETED:
        return await throw_away(kurz, await make(kurz))
    link = await (make_temporary if ended is EndedKind.TEMPORARY else make_ending)(kurz)
    clock.advance(hours=1)
    assert await reaper.mark_expired(clock.now(), 10) == 1
    if ended is EndedKind.SWEPT:
        now = clock.now()
        assert await reaper.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, now, now, 10) == 1
    return link


async def test_the_clock_is_the_databases(kurz, reaper, clock, engine):
    if engine == "sqlite":
        assert await reaper.now() == clock.now()
        return
    before, read, after = [
        await kurz.database.read(
            lambda it: it.execute(sa.text("SELECT clock_timestamp()")).scalar()
        )
        if place != 1
        else await reaper.now()
        for place in range(3)
    ]
    assert before <= read <= after


async def test_what_has_expired_is_marked_and_nobody_sees_a_difference(kurz, reaper, clock):
    link, other = await make_ending(kurz), await make(kurz)
    logged = await rows(kurz, changes)
    assert await reaper.mark_expired(clock.now() + HOUR - TICK, 10) == 0
    assert await reaper.count_unmarked(clock.now() + HOUR, 10) == 1
    assert await reaper.mark_expired(clock.now() + HOUR, 10) == 1
    assert await reaper.mark_expired(clock.now() + HOUR, 10) == 0
    assert await found(kurz, link) == replace(link, status=Status.EXPIRED)
    assert await found(kurz, other) == other
    assert await rows(kurz, changes) == logged


@pytest.mark.parametrize("ended", EndedKind)
async def test_a_link_is_purged_at_its_instant_and_not_before(kurz, reaper, clock, ended):
    link = await ended_at_now(kurz, reaper, clock, ended)
    now = clock.now()
    for kind in EndedKind:
        before = now - TICK if kind is ended else now + KEPT
        assert await reaper.count(kind, before, 10) == 0
        assert await reaper.sweep(kind, RetentionAction.PURGE, before, now, 10) == 0
    assert await found(kurz, link) is not None
    assert await reaper.count(ended, now, 10) == 1
    assert await reaper.sweep(ended, RetentionAction.PURGE, now, now, 10) == 1
    assert await found(kurz, link) is None
    assert await reaper.sweep(ended, RetentionAction.PURGE, now, now, 10) == 0


@pytest.mark.parametrize("ended", [EndedKind.TEMPORARY, EndedKind.PERMANENT])
async def test_the_trash_keeps_a_link_that_still_answers_as_expired(kurz, reaper, clock, ended):
    link = await ended_at_now(kurz, reaper, clock, ended)
    now = clock.now()
    assert await reaper.sweep(ended, RetentionAction.TRASH, now - TICK, now, 10) == 0
    assert await reaper.sweep(ended, RetentionAction.TRASH, now, now, 10) == 1
    assert await reaper.sweep(ended, RetentionAction.TRASH, now, now, 10) == 0
    swept = await found(kurz, link)
    assert swept == replace(
        link,
        status=Status.DELETED,
        deleted_at=now,
        swept_at=now,
        updated_at=now,
        version=link.version + 1,
    )
    assert lifecycle.outcome(swept, now) is lifecycle.Outcome.EXPIRED
    [*_, last] = await rows(kurz, changes)
    assert (last["link_id"], last["version"]) == (link.id, swept.version)
    [entry] = await kurz.store.history(link.id)
    assert (entry.action, entry.account_id, entry.version) == ("sweep", None, swept.version)
    assert entry.changes == {"status": ("EXPIRED", "DELETED")}


async def test_a_paused_link_ends_too_and_its_tags_are_in_the_trash(kurz, reaper, clock):
    link = await make_ending(kurz, tags=("tag",))
    await kurz.links.edit(kurz.links.public_id(link), Scope(), {"is_paused": True})
    clock.advance(hours=1)
    now = clock.now()
    assert await reaper.mark_expired(now, 10) == 0
    assert await reaper.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, now, now, 10) == 1
    [tag] = await rows(kurz, link_tags)
    assert tag["in_trash"]
    [entry, _] = await kurz.store.history(link.id)
    assert entry.changes == {"status": ("PAUSED", "DELETED")}
    total = (await kurz.store.list(Scope(0, OWNER), Filter(tag="tag"), now, limit=10)).total
    assert total == 0


async def test_what_is_in_the_trash_is_not_moved_there_and_archiving_is_not_for_here(
    kurz, reaper, clock
):
    now = clock.now()
    for ended, action in (
        (EndedKind.SWEPT, RetentionAction.TRASH),
        (EndedKind.DELETED, RetentionAction.TRASH),
        (EndedKind.SWEPT, RetentionAction.ARCHIVE),
    ):
        with pytest.raises(ValueError, match="no sweep"):
            await reaper.sweep(ended, action, now, now, 10)


async def sweep_everything(kurz: Kurz, reaper: SqlReaperStore) -> int:
    later = kurz.clock.now()
    total = await reaper.mark_expired(later, 1000)
    for ended in EndedKind:
        total += await reaper.sweep(ended, RetentionAction.PURGE, later, later, 1000)
    return total


async def test_what_lives_or_is_banned_is_never_touched(kurz, reaper, clock):
    banned, ending = await make_ending(kurz), await make_ending(kurz)
    await write(kurz, sa.update(links).where(links.c.id == banned.id).values(status="BANNED"))
    restored = await restore(kurz, await throw_away(kurz, await make(kurz)))
    later = clock.now() + timedelta(days=2)
    extended = await kurz.links.edit(kurz.links.public_id(ending), Scope(), {"expires_at": later})
    expired = await make_ending(kurz)
    clock.advance(hours=1)
    now = clock.now()
    await reaper.mark_expired(now, 10)
    await reaper.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, now, now, 10)
    revived = await restore(kurz, expired)
    stay = [await found(kurz, banned), restored, extended, revived, await make(kurz)]
    clock.advance(hours=1)
    assert await sweep_everything(kurz, reaper) == 0
    assert [await found(kurz, link) for link in stay] == stay


async def test_the_earliest_end_first_and_no_more_than_asked_for(kurz, reaper, clock):
    made = []
    for _ in range(3):
        made.append(await make_ending(kurz))
        clock.advance(seconds=1)
    clock.advance(hours=1)
    now = clock.now()
    assert await reaper.count_unmarked(now, 2) == 2
    assert await reaper.mark_expired(now, 3) == 3
    assert await reaper.count(EndedKind.PERMANENT, now, 2) == 2
    assert await reaper.sweep(EndedKind.PERMANENT, RetentionAction.PURGE, now, now, 2) == 2
    assert await exist(kurz, made) == [False, False, True]


async def make_many(kurz: Kurz, number: int) -> None:
    """Expired links of one owner, which are marked."""
    link = await make_ending(kurz)
    columns = [column.name for column in links.c if column.name not in ("id", "short_code")]
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < number - 1))
    code = sa.literal("code") + sa.cast(numbers.c.n, sa.Text)
    copies = sa.select(code, *(links.c[name] for name in columns)).where(links.c.id == link.id)
    copies = copies.join(numbers, sa.true())
    await write(kurz, sa.insert(links).from_select(["short_code", *columns], copies))
    await write(kurz, sa.update(links).values(status=Status.EXPIRED))


@pytest.mark.parametrize("action", [RetentionAction.TRASH, RetentionAction.PURGE])
async def test_reapers_at_once_do_everything_exactly_once(kurz, reaper, clock, action):
    number = 2 * SQLITE_LINKS + 50
    await make_many(kurz, number)
    before = len(await rows(kurz, changes))
    clock.advance(hours=1)
    now = clock.now()

    async def reap() -> int:
        total = 0
        for _ in range(40):
            total += await reaper.sweep(EndedKind.PERMANENT, action, now, now, 30)
        return total

    done = await asyncio.gather(*(reap() for _ in range(4)))
    done.append(await reaper.sweep(EndedKind.PERMANENT, action, now, now, number))
    logged = (await rows(kurz, changes))[before:]
    assert sum(done) == number
    assert len(logged) == len({row["link_id"] for row in logged}) == number
    assert {row["version"] for row in logged} == {2}
    assert len(await rows(kurz, history)) == (number if action is RetentionAction.TRASH else 0)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_large_batch_is_several_transactions_on_sqlite(kurz, reaper, clock):
    await make_many(kurz, 2 * SQLITE_LINKS + 1)
    clock.advance(hours=1)
    now, before = clock.now(), kurz.database.counts()["database_commits"]
    assert (
        await reaper.sweep(EndedKind.PERMANENT, RetentionAction.PURGE, now, now, 1000)
        == 2 * SQLITE_LINKS + 1
    )
    assert kurz.database.counts()["database_commits"] - before >= 3


async def test_a_link_that_somebody_restores_meanwhile_survives(kurz, reaper, clock, engine):
    """PostgreSQL: while the restore is under way, and when it ended after the link was chosen."""
    link = await ended_at_now(kurz, reaper, clock, EndedKind.PERMANENT)
    now = clock.now()
    chosen, _ = are_ended(EndedKind.PERMANENT, to_micros(now))
    if engine == "postgres":
        async with kurz.database._engine.begin() as connection:
            await connection.execute(sa.update(links).values(status=Status.ACTIVE, expires_at=None))
            assert await reaper.sweep(EndedKind.PERMANENT, RetentionAction.PURGE, now, now, 10) == 0
            assert await reaper.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, now, now, 10) == 0
            assert await reaper.mark_expired(now, 10) == 0
    else:
        await restore(kurz, link)
    at = to_micros(now)
    assert await kurz.database.write(purge_links, [link.id], chosen, at, at) == 0
    back = await found(kurz, link)
    assert back is not None
    assert back.status is Status.ACTIVE


async def test_what_was_swept_of_a_deleted_account_is_in_the_trash_as_its_owner_put_it(
    kurz, reaper, people, clock
):
    account = await people.add()
    link = await make_ending(kurz, owner_id=account.id)
    clock.advance(hours=1)
    now = clock.now()
    await reaper.mark_expired(now, 10)
    assert await reaper.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, now, now, 10) == 1
    clock.advance(hours=1)
    assert await kurz.accounts.delete(account.id)
    deleted = await found(kurz, link)
    assert deleted is not None
    assert (deleted.deleted_at, deleted.swept_at) == (clock.now(), None)
    assert deleted.version == link.version + 2


async def test_what_is_to_stop_does_so_between_transactions(kurz, reaper, clock, engine):
    number = SQLITE_LINKS + 1
    for _ in range(number):
        await make_temporary(kurz)
    clock.advance(hours=1)
    now, first = clock.now(), SQLITE_LINKS if engine == "sqlite" else number
    assert await reaper.mark_expired(now, 1000, lambda: True) == first
    assert await reaper.mark_expired(now, 1000, lambda: False) == number - first
    sweep = partial(reaper.sweep, EndedKind.TEMPORARY, RetentionAction.PURGE, now, now, 1000)
    assert await sweep(lambda: True) == first
    assert await sweep(lambda: False) == number - first
