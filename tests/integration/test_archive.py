"""Expired, archived, purged, restored: what a visitor and an owner see of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Link
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.followers.click_count_copier import copy_clicks
from kurz.wiring.archive import open_archive
from support.archive import KEPT, archiver_of, run_until_done
from support.counted import Clicks
from support.people import Person

FEBRUARY = {"from": "2026-02-01", "to": "2026-02-28"}
AT = datetime(2026, 2, 5, 10, tzinfo=UTC)


@pytest.fixture
def settings(settings, tmp_path):
    return replace(settings, archive=str(tmp_path / "archive"))


async def see(client: httpx2.AsyncClient, page: str, person: Person) -> list[Any]:
    """A link's clicks and latency as its owner sees them, and its stats."""
    link = await client.get(page, headers=person.headers)
    stats = await client.get(f"{page}/stats", params=FEBRUARY, headers=person.headers)
    assert (link.status_code, stats.status_code) == (200, 200)
    fields = link.json()
    return [fields["redirect_count"], fields["avg_redirect_ms"], stats.json()]


async def test_a_link_answers_again_with_its_totals_and_daily_stats(
    client, kurz, clock, people, add_link
):
    owner = await people.add()
    ends_at = clock.now() + timedelta(hours=1)
    link = await add_link(owner_id=owner.id, expires_at=ends_at, custom_code="again")
    clicks = Clicks(kurz.database)
    clicks.add(link, AT, 3, country="DE", referrer="news.example", visitor="x")
    clicks.add(link, AT + timedelta(days=1), 2, country="FR", visitor="y")
    await clicks.save()
    await kurz.database.write(copy_clicks, [link.id])
    page = f"/api/v1/links/{kurz.links.public_id(link)}"
    before = await see(client, page, owner)
    assert before[0] == before[2]["totals"]["clicks"] == 5

    async def answer() -> int:
        found = await client.get("/again")
        return int(found.status_code)

    assert await answer() == 302
    clock.advance(hours=1)
    assert await answer() == 410
    reaper = SqlReaperStore(kurz.database, clock, KEPT)
    await reaper.mark_expired(clock.now(), 1000)
    clock.advance(days=7)
    assert (
        await reaper.sweep(
            EndedKind.PERMANENT, RetentionAction.TRASH, clock.now(), clock.now(), 1000
        )
        == 1
    )
    assert await answer() == 410
    assert await run_until_done(kurz, await archiver_of(kurz)) == 1
    assert await answer() == 404

    archive = open_archive(kurz)
    [file] = await archive.list("again")
    [restored] = [found.result async for found in archive.restore(file.name)]
    assert isinstance(restored, Link)
    assert restored.id == link.id
    assert await answer() == 302
    assert await see(client, page, people.sign_in(owner.account)) == before
