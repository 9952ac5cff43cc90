"""Many links of one caller in one transaction. What cannot be stored so is left to `insert`."""

import asyncio
import time
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.errors import UrlRefused
from kurz.links.model import Created, Draft, Strategy
from kurz.people.quotas import Allowance
from kurz.storage.links.quarantine import NOBODY
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.link_rows import INSERTED, to_row
from kurz.storage.schema.links import changes, link_tags, links, usage
from kurz.wiring.core import Kurz
from support.endings import OWNER, make, rows, write
from support.engines import without_redis
from support.links import link

engine = without_redis
TEAM = 7
PROMPT_SECONDS = 0.8  # less than PostgreSQL's second before it looks for deadlocks


def owned(code: str, **fields: Any) -> Any:
    return link(code, owner_id=OWNER, **fields)


async def codes(kurz: Kurz) -> list[str]:
    return sorted(row["short_code"] for row in await rows(kurz, links))


async def test_taken_and_reserved_codes_are_left_out_and_the_others_stored(kurz, clock):
    await make(kurz, custom_code="taken")
    until = to_micros(clock.now()) * 2
    values = {"short_code": "reserved", "reserved_for": NOBODY, "until": until}
    await write(kurz, sa.insert(code_quarantine).values(values))
    wanted = ["one", "taken", "two", "one", "reserved"]
    found = await kurz.store.insert_many([owned(code) for code in wanted], ())
    assert [link_id is not None for link_id in found] == [True, False, True, False, False]
    assert await codes(kurz) == ["one", "taken", "two"]
    logged = [row["link_id"] for row in await rows(kurz, changes)]
    assert {found[0], found[2]} <= {*logged}


async def test_more_links_than_a_statement_holds_get_the_ids_of_their_codes(kurz):
    wanted = [owned(f"code-{n}") for n in range(333)]
    found = await kurz.store.insert_many(wanted, ())
    stored = {row["id"]: row["short_code"] for row in await rows(kurz, links)}
    assert [stored[link_id] for link_id in found] == [it.short_code for it in wanted]


async def test_tags_are_listed(kurz):
    tags = [("b", "a"), (), ("a",)]
    found = await kurz.store.insert_many(
        [owned(f"code-{n}", tags=own) for n, own in enumerate(tags)], ()
    )
    listed = {(row["link_id"], row["tag"]) for row in await rows(kurz, link_tags)}
    assert listed == {(found[0], "a"), (found[0], "b"), (found[2], "a")}
    assert {row["space"] for row in await rows(kurz, link_tags)} == {-OWNER}


async def test_a_quota_is_spent_by_what_is_stored_or_not_at_all(kurz):
    quota = Allowance(f"account:{OWNER}", 3, 202603)
    await make(kurz, custom_code="taken")
    new = [owned(code) for code in ("one", "taken", "two")]
    assert [*map(bool, await kurz.store.insert_many(new, (quota,)))] == [True, False, True]
    assert [row["links"] for row in await rows(kurz, usage)] == [2]
    more = [owned(code) for code in ("three", "four")]
    assert await kurz.store.insert_many(more, (quota,)) == [None, None]
    assert [row["links"] for row in await rows(kurz, usage)] == [2]
    assert await codes(kurz) == ["one", "taken", "two"]
    assert len(await kurz.store.insert_many(more[:1], (quota,))) == 1


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_code_that_another_transaction_holds_holds_up_nobody_for_long(kurz):
    inserted, release = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(connection: sa.Connection) -> None:
        row = dict(zip(INSERTED, to_row(owned("held")), strict=True))
        connection.execute(sa.insert(links).values(row))
        loop.call_soon_threadsafe(inserted.set)
        sa.util.await_only(release.wait())

    holding = asyncio.create_task(kurz.database.write(hold))
    await inserted.wait()
    began_at = time.monotonic()
    found = await kurz.store.insert_many([owned("one"), owned("held")], ())
    took_seconds = time.monotonic() - began_at
    release.set()
    await holding
    assert found == [None, None]
    assert took_seconds < PROMPT_SECONDS
    assert await codes(kurz) == ["held"]
    found = await kurz.store.insert_many([owned("one"), owned("held")], ())
    assert [*map(bool, found)] == [True, False]


async def test_drafts_are_created_refused_or_left_to_create(kurz):
    await make(kurz, custom_code="taken")
    drafts = [
        Draft(original_url="https://example.com/1", owner_id=OWNER),
        Draft(original_url="ftp://example.com", owner_id=OWNER),
        Draft(original_url="https://example.com/2", owner_id=OWNER, custom_code="taken"),
        Draft(original_url="https://example.com/3", owner_id=OWNER, strategy=Strategy.COUNTER),
        Draft(original_url="https://example.com/4", workspace_id=TEAM),
        Draft(original_url="https://example.com/4", workspace_id=TEAM),
    ]
    made = await kurz.links.create_many(drafts)
    assert isinstance(made[1], UrlRefused)
    assert made[2] is None
    assert made[5] is None
    for number in 0, 3, 4:
        found = made[number]
        assert isinstance(found, Created)
        assert found.is_new
        own = found.link
        assert await kurz.store.find_by_code(own.workspace_id, own.short_code) == own
    assert len(await rows(kurz, links)) == 4
