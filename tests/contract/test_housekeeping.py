"""What is of no use any more goes, a batch at a time, and nothing else does."""

import pytest
import sqlalchemy as sa

from kurz.clock import SystemClock, to_micros
from kurz.jobs.housekeeping import Housekeeping
from kurz.jobs.periodic import TaskPace
from kurz.links.model import Link, Scope, Strategy
from kurz.people.receipts import KEPT
from kurz.safety.abuse_reports import KEPT_REPORTS
from kurz.storage.ending.housekeeping import SqlHousekeepingStore, forget_strays
from kurz.storage.schema.clicks import click_days, click_months, click_totals
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.links import changes, receipts
from kurz.storage.schema.people import limits, one_time_tokens
from kurz.storage.schema.safety import reports
from kurz.wiring.core import Kurz
from support.endings import count_clicks, counted, make, rows, throw_away, write
from support.engines import without_redis

YEAR_MICROS = 365 * 24 * 60 * 60 * 1_000_000

engine = without_redis  # which has no part in it


@pytest.fixture
def store(kurz: Kurz) -> SqlHousekeepingStore:
    return SqlHousekeepingStore(kurz.database)


async def test_codes_go_when_anybody_may_have_them(kurz, store, clock):
    now = to_micros(clock.now())
    untils = {"a": now - 1, "b": now, "c": now + 1}
    codes = [{"short_code": code, "reserved_for": 1, "until": it} for code, it in untils.items()]
    await write(kurz, sa.insert(code_quarantine), codes)
    assert [await store.trim_codes(clock.now(), 1) for _ in range(3)] == [1, 1, 0]
    assert [row["short_code"] for row in await rows(kurz, code_quarantine)] == ["c"]


async def test_receipts_go_when_they_are_too_old(kurz, store, clock):
    oldest = to_micros(clock.now() - KEPT)
    blank = {"key_hash": b"k", "fingerprint": b"f", "answer": b"a"}
    ages = [{"caller": str(age), "created_at": oldest + age, **blank} for age in (-2, -1, 0)]
    await write(kurz, sa.insert(receipts), ages)
    assert [await store.trim_receipts(clock.now(), 1) for _ in range(3)] == [1, 1, 0]
    assert [row["caller"] for row in await rows(kurz, receipts)] == ["0"]


async def test_one_time_links_go_when_they_have_expired(kurz, store, clock):
    now = to_micros(clock.now())
    blank = {"purpose": "invitation", "created_at": 0}
    ends = [
        {"id": end + 9, "token_hash": b"%d" % end, "expires_at": now + end, **blank}
        for end in (-1, 0, 1)
    ]
    await write(kurz, sa.insert(one_time_tokens), ends)
    assert [await store.trim_one_time_tokens(clock.now(), 1) for _ in range(3)] == [1, 1, 0]
    assert [row["id"] for row in await rows(kurz, one_time_tokens)] == [10]


async def test_reports_go_a_year_after_they_were_decided_however_old_they_are(kurz, store, clock):
    oldest = to_micros(clock.now() - KEPT_REPORTS)
    blank = {
        "link_id": 1,
        "workspace_id": 0,
        "short_code": "x",
        "short_url": "http://kurz.test/x",
        "location": "https://example.com/",
        "category": "spam",
    }
    kinds = [(-1, "upheld"), (-1, "dismissed"), (None, "open"), (0, "upheld")]
    made = [
        {"id": number, "reported_at": oldest - 9, "state": state, **blank}
        | {"reporter": b"", "decided_at": None if age is None else oldest + age}
        for number, (age, state) in enumerate(kinds)
    ]
    await write(kurz, sa.insert(reports), made)
    assert [await store.trim_reports(clock.now(), 1) for _ in range(3)] == [1, 1, 0]
    assert {row["id"] for row in await rows(kurz, reports)} == {2, 3}


async def purge(kurz: Kurz, link: Link) -> None:
    deleted = await throw_away(kurz, link)
    await kurz.trash.purge(kurz.links.public_id(deleted), Scope())


@pytest.mark.parametrize("left", [click_days, click_months, click_totals])
async def test_clicks_go_that_were_counted_after_a_purge(kurz, store, left):
    """Whichever of them: a link with days need not have months, and so on."""
    gone, present = await make(kurz), await make(kurz, strategy=Strategy.RANDOM)
    await purge(kurz, gone)
    late = set(await count_clicks(kurz, gone))
    for table in {click_days, click_months, click_totals} - {left}:
        await write(kurz, sa.delete(table).where(table.c.kind == 0))
    total = {"kind": 0, "clicks": 1, "timed": 0, "mean_ms": 0.0, "m2": 0.0}
    await write(kurz, sa.insert(click_totals), total | {"subject": present.id})
    assert await store.trim_clicks(0, 100) == (1, None)
    assert await store.trim_clicks(0, 100) == (0, None)
    others = late - {(0, gone.id)}
    assert await counted(kurz, click_days) == others
    assert await counted(kurz, click_months) == others
    assert await counted(kurz, click_totals) == {*others, (0, present.id)}


async def test_it_looks_at_what_was_changed_and_at_nothing_else(kurz, store):
    """However many links there are with clicks."""
    gone = await make(kurz)
    await purge(kurz, gone)
    await count_clicks(kurz, gone)
    [*_, last] = [row["id"] for row in await rows(kurz, changes)]
    assert await store.trim_clicks(last, 1) == (0, None)
    assert (0, gone.id) in await counted(kurz, click_totals)
    assert await store.trim_clicks(last - 1, 1) == (1, last)


async def test_a_link_that_is_there_again_keeps_its_clicks(kurz):
    link = await make(kurz)
    of = await count_clicks(kurz, link)
    assert await kurz.database.write(forget_strays, [link.id]) == 0
    assert await counted(kurz, click_totals) == set(of)


async def test_limits_go_when_they_are_whole_again(kurz, store, clock):
    """PostgreSQL goes by its own clock."""
    now = min(to_micros(clock.now()), to_micros(SystemClock().now()))
    in_a_year = max(to_micros(clock.now()), to_micros(SystemClock().now())) + YEAR_MICROS
    dues = [{"key": str(due_at - now), "due_at": due_at} for due_at in (now - 2, now - 1)]
    await write(kurz, sa.insert(limits), [*dues, {"key": "later", "due_at": in_a_year}])
    assert [await store.trim_limits(clock.now(), 1) for _ in range(3)] == [1, 1, 0]
    assert [row["key"] for row in await rows(kurz, limits)] == ["later"]


async def leave_rubbish(kurz: Kurz) -> None:
    """Three codes, three limits, and what was counted for three links that are gone."""
    now = to_micros(kurz.clock.now())
    await write(kurz, sa.insert(limits), [{"key": key, "due_at": 1} for key in "abc"])
    codes = [{"short_code": code, "reserved_for": 1, "until": now} for code in "abc"]
    await write(kurz, sa.insert(code_quarantine), codes)
    blank = {"workspace_id": 1, "short_code": "", "version": 2, "changed_at": now}
    logged = [blank | {"link_id": id_} for id_ in (901, 902, 902, 903)]
    await write(kurz, sa.insert(changes), logged)
    total = {"kind": 0, "clicks": 1, "timed": 0, "mean_ms": 0.0, "m2": 0.0}
    await write(
        kurz, sa.insert(click_totals), [total | {"subject": id_} for id_ in (901, 902, 903)]
    )


async def test_all_of_it_goes_in_batches(kurz, store, clock):
    await leave_rubbish(kurz)
    housekeeping = Housekeeping(store, clock, TaskPace(batch=2, look=2, pause_seconds=0))
    kinds = ("codes", "receipts", "one_time_tokens", "reports", "limits", "strays")
    nothing = dict.fromkeys(kinds, 0)
    assert await housekeeping.run() == nothing | {"codes": 3, "limits": 3, "strays": 3}
    assert await housekeeping.run() == nothing


async def test_it_stops_after_a_batch(kurz, store, clock):
    await leave_rubbish(kurz)
    housekeeping = Housekeeping(store, clock, TaskPace(batch=2, pause_seconds=0))
    asked = iter([False])
    assert await housekeeping.run(lambda: next(asked, True)) == {
        "codes": 2,
        "receipts": 0,
        "one_time_tokens": 0,
        "reports": 0,
        "limits": 0,
        "strays": 0,
    }
