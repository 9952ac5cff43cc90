"""Links show what was counted of them, on both engines. Their own copy of it is renewed when it is
far behind, and nothing else of them changes."""

import asyncio
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.clicks.batch import Batch, DayCounts, JournalPosition, Subject, SubjectKind
from kurz.clicks.moments import Moments
from kurz.links.model import Draft, Link, Scope
from kurz.people.quotas import Allowance
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.clicks.totals import add_totals
from kurz.storage.followers import click_count_copier as copier_module
from kurz.storage.followers.click_count_copier import (
    LAG,
    ClickCountCopier,
    copy_clicks,
    find_behind,
)
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.schema.links import changes, links
from kurz.wiring.core import Kurz
from support.batches import stored_totals
from support.engines import without_redis
from support.failing import FailingWrites
from support.feed import until, until_told
from support.transfer import run

# Redis has no part in counting.
engine = without_redis
FEWEST = LAG * LAG  # clicks of a new link that are copied
MORE = 10 * FEWEST  # after these
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


async def make_links(kurz: Kurz, number: int) -> list[int]:
    drafts = [Draft(original_url=f"https://example.com/{n}") for n in range(number)]
    return [(await kurz.links.create(draft)).link.id for draft in drafts]


async def count(kurz: Kurz, link_ids: list[int], *latencies_ms: float) -> None:
    """For each of the links a click of every latency."""
    start = JournalPosition(len(latencies_ms).to_bytes() + link_ids[0].to_bytes(15), 0)
    batch = Batch(start, JournalPosition(start.segment, 1))
    moments = Moments()
    for latency_ms in latencies_ms:
        moments = moments.add(latency_ms)
    for link_id in link_ids:
        subject = Subject(SubjectKind.LINK, link_id)
        batch.days[subject, 0] = DayCounts(clicks=len(latencies_ms))
        batch.moments[subject] = moments
    assert await SqlClickStore(kurz.database, kurz.clock).apply(batch)


async def find(kurz: Kurz, link_id: int) -> Link:
    link = await kurz.store.find(link_id, Scope())
    assert link is not None
    return link


async def copies(kurz: Kurz) -> dict[int, int]:
    query = sa.select(links.c.id, links.c.redirect_count)
    rows = await kurz.database.read(lambda it: it.execute(query).all())
    return {row.id: row.redirect_count for row in rows}


async def until_copied(kurz: Kurz, link_ids: list[int], clicks: int) -> None:
    async def is_so() -> bool:
        found = await copies(kurz)
        return all(found[link_id] == clicks for link_id in link_ids)

    await until_told(is_so)


async def test_a_link_gets_its_clicks_and_latencies_and_stays_the_same_else(kurz):
    link_id, quiet = await make_links(kurz, 2)
    before = await find(kurz, link_id)
    number_of_changes = sa.select(sa.func.count()).select_from(changes)
    changes_before = await kurz.database.read(lambda it: it.execute(number_of_changes).scalar())
    await count(kurz, [link_id], 1.0, 2.0, 6.0)
    shown = await find(kurz, link_id)
    assert shown.redirect_count == 3
    assert shown.avg_redirect_ms == pytest.approx(3.0)
    assert (await copies(kurz))[link_id] == 0
    assert await kurz.database.write(copy_clicks, [link_id, quiet, 10**9]) == []
    assert (await copies(kurz))[link_id] == 0
    await count(kurz, [link_id], *[1.0, 2.0, 6.0] * 5)
    assert await kurz.database.write(copy_clicks, [link_id, quiet, 10**9]) == []
    assert (await copies(kurz))[link_id] == 18
    link = await find(kurz, link_id)
    assert link.redirect_count == 18
    assert link.avg_redirect_ms == pytest.approx(3.0)
    m2 = sa.select(links.c.redirect_ms_m2).where(links.c.id == link_id)
    assert await kurz.database.read(lambda it: it.execute(m2).scalar()) == pytest.approx(84.0)
    assert (link.version, link.updated_at) == (before.version, before.updated_at)
    after = await kurz.database.read(lambda it: it.execute(number_of_changes).scalar())
    assert after == changes_before
    assert (await find(kurz, quiet)).redirect_count == 0


async def test_what_is_noted_is_copied_and_what_a_crash_left_behind_too(kurz, monkeypatch):
    monkeypatch.setattr(copier_module, "BATCH", 4)
    monkeypatch.setattr(copier_module, "PAGE", 3)
    link_ids = await make_links(kurz, 11)
    await count(kurz, link_ids, *[1.0] * FEWEST)
    copier = ClickCountCopier(kurz.database, wake_seconds=0.01)
    copier.start()
    await until_copied(kurz, link_ids, FEWEST)
    await count(kurz, link_ids, *[1.0] * MORE)
    copier.note(link_ids)
    await until_copied(kurz, link_ids, FEWEST + MORE)
    await copier.stop()


async def test_at_the_end_all_that_is_noted_is_copied_without_resting(kurz, monkeypatch):
    class Watched:
        has_read = asyncio.Event()

        async def read(self, query, *args):
            result = await kurz.database.read(query, *args)
            self.has_read.set()
            return result

        async def write(self, query, *args):
            return await kurz.database.write(query, *args)

    monkeypatch.setattr(copier_module, "BATCH", 1)
    monkeypatch.setattr(copier_module, "SHARE", 1e-9)  # it rests for hours after the first link
    made = sorted(await make_links(kurz, 4))
    watched: Any = Watched()
    copier = ClickCountCopier(watched, wake_seconds=0.01)
    copier.start()
    await watched.has_read.wait()  # it has looked over all links, and will not find these
    await count(kurz, made, *[5.0] * FEWEST)
    copier.note(made)
    await until_copied(kurz, made[:1], FEWEST)
    await copier.stop()
    assert await copies(kurz) == dict.fromkeys(made, FEWEST)


async def test_more_than_can_be_remembered_is_looked_up(kurz, monkeypatch):
    link_ids = await make_links(kurz, 8)
    copier = ClickCountCopier(kurz.database, wake_seconds=0.01)
    copier.start()
    await until(lambda: copier._after is None)
    monkeypatch.setattr(copier_module, "MAX_NOTED", 6)
    monkeypatch.setattr(copier_module, "PAGE", 2)
    await count(kurz, link_ids, *[1.0] * FEWEST)
    copier.note(link_ids)
    assert copier._noted == set()
    await until_copied(kurz, link_ids, FEWEST)
    await copier.stop()


async def test_only_links_that_are_behind_are_found(kurz):
    link_ids = await make_links(kurz, 5)
    # Of the last, only its clicks are left.
    await count(kurz, [*link_ids, 10**9], *[1.0] * FEWEST)
    await kurz.database.write(copy_clicks, link_ids[:2])
    assert await kurz.database.read(find_behind, 0, 100) == (link_ids[2:], None)
    assert await kurz.database.read(find_behind, 0, 3) == (link_ids[2:3], link_ids[2])
    assert await kurz.database.read(find_behind, link_ids[3], 2) == (link_ids[4:], 10**9)


async def test_an_outage_is_waited_out(kurz):
    failing: Any = FailingWrites(kurz.database, range(1, 6), reads_fail=True)
    link_ids = await make_links(kurz, 2)
    await count(kurz, link_ids, *[1.0] * FEWEST)
    copier = ClickCountCopier(failing, wake_seconds=0.01)
    copier.start()
    await until_copied(kurz, link_ids, FEWEST)
    await until(lambda: copier._after is None)
    failing.tries = 0
    await count(kurz, link_ids, *[1.0] * MORE)
    copier.note(link_ids)
    await until_copied(kurz, link_ids, FEWEST + MORE)
    await copier.stop()


@on_postgres
async def test_a_link_that_somebody_holds_is_left_for_later(kurz, settings):
    link_ids = await make_links(kurz, 3)
    await count(kurz, link_ids, *[1.0] * FEWEST)
    holder = await asyncpg.connect(settings.database_url)
    async with holder.transaction():
        await holder.execute("UPDATE links SET title = 'x' WHERE id = $1", link_ids[1])
        assert await kurz.database.write(copy_clicks, link_ids) == [link_ids[1]]
    await holder.close()
    assert await kurz.database.write(copy_clicks, link_ids) == []
    assert await copies(kurz) == dict.fromkeys(link_ids, FEWEST)


async def test_imported_clicks_are_counted_and_never_taken_back(kurz):
    rows = "original_url,redirect_count,avg_redirect_ms\nhttps://a.example/,7,2.5\n"
    await run(kurz, rows + "https://b.example/,5,\nhttps://c.example/,0,\n")
    by_url = sa.select(links.c.original_url, links.c.id)
    ids = {
        row[0][8]: row[1] for row in await kurz.database.read(lambda it: it.execute(by_url).all())
    }
    none = Moments()
    assert await kurz.database.read(stored_totals) == {
        (SubjectKind.LINK, ids["a"]): (7, none),
        (SubjectKind.LINK, ids["b"]): (5, none),
        (SubjectKind.SPACE, 0): (12, none),
        (SubjectKind.INSTALLATION, 0): (12, none),
    }
    assert await kurz.database.read(find_behind, 0, 10) == ([], None)
    await count(kurz, [ids["a"], ids["c"]], 1.0)
    await kurz.database.write(copy_clicks, [*ids.values()])
    found = {name: await find(kurz, link_id) for name, link_id in ids.items()}
    assert {name: link.redirect_count for name, link in found.items()} == {"a": 8, "b": 5, "c": 1}
    assert found["a"].avg_redirect_ms == 1.0  # of the one that was measured here
    assert found["b"].avg_redirect_ms is None


async def test_an_imported_average_stays_until_a_latency_is_measured(kurz):
    await run(kurz, "original_url,redirect_count,avg_redirect_ms\nhttps://a.example/,20,2.5\n")
    (link_id,) = await kurz.database.read(
        lambda it: it.execute(sa.select(links.c.id)).scalars().all()
    )
    lowered = sa.update(links).values(redirect_count=0)
    await kurz.database.write(lambda it: it.execute(lowered) and None)
    await kurz.database.write(copy_clicks, [link_id])
    link = await find(kurz, link_id)
    assert (link.redirect_count, link.avg_redirect_ms) == (20, 2.5)


async def test_links_beyond_a_quota_bring_no_clicks(kurz):
    drafts = [Draft(original_url=f"https://example.com/{n}") for n in range(3)]
    made = [(await kurz.links.create(draft)).link for draft in drafts]
    copies = [
        replace(link, id=0, short_code=f"n{n}", redirect_count=10**n) for n, link in enumerate(made)
    ]
    allowance = Allowance("account:1", limit=2, month=202603)
    await SqlBulkStore(kurz.database).insert(copies, (allowance,), kurz.clock.now())
    totals = await kurz.database.read(stored_totals)
    assert totals[SubjectKind.INSTALLATION, 0] == (11, Moments())
    assert len(totals) == 4


@on_postgres
async def test_few_copies_change_the_indexes_of_a_link(kurz, settings):
    """Only a write that is not HOT does. Some links are clicked much more often than others."""
    link_ids = await make_links(kurz, 200)
    weights = [1 / (rank + 1) for rank in range(len(link_ids))]
    chance, clicked = random.Random(8), 0
    before = await changes_of_indexes(kurz)
    for _ in range(60):
        batch = Counter(chance.choices(link_ids, weights, k=50))
        rows = [(SubjectKind.LINK.value, *each, *Moments()) for each in sorted(batch.items())]
        await kurz.database.write(add_totals, rows)
        await kurz.database.write(copy_clicks, batch)
        clicked += len(batch)
    assert 0 < await changes_of_indexes(kurz) - before <= clicked // 10


async def changes_of_indexes(kurz: Kurz) -> int:
    """Updates of links so far that were not HOT."""
    # Each connection reports its own.
    report = sa.text("SELECT pg_stat_force_next_flush()")
    await kurz.database.write(lambda it: it.execute(report).scalar())
    query = "SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'links'"
    found: int = await kurz.database.read(lambda it: it.execute(sa.text(query)).scalar_one())
    return found
