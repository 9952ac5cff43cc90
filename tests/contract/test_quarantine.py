"""The code of a purged link is kept for who had it: no stranger gets it for a year."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.code_generator import ATTEMPTS, CodeGenerator
from kurz.links.errors import CodesExhausted, CustomCodeTaken
from kurz.links.model import Draft, Link, Scope, Status, Strategy
from kurz.links.transfers import ImportTarget
from kurz.storage.ending.purging import SqlTrashStore, purge_links
from kurz.storage.links.quarantine import NOBODY, OPERATOR
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.links import changes, links
from kurz.wiring.core import Kurz
from support.endings import OWNER, make, rows, throw_away, write
from support.engines import without_redis
from support.feed import until_told
from support.transfer import outcomes, run

engine = without_redis  # which has no part in it
YEAR = timedelta(days=365)
TICK = timedelta(microseconds=1)
TEAM = 7
CODE = "wanted"

OWNERS: dict[str, Any] = {"owner_id": OWNER}
STRANGERS: dict[str, Any] = {"owner_id": OWNER + 1}
OPERATORS: dict[str, Any] = {"owner_id": None}
ANYBODYS: dict[str, Any] = {"owner_id": None, "is_anonymous": True}
CALLERS = [OWNERS, STRANGERS, OPERATORS, ANYBODYS]


async def purge(kurz: Kurz, link: Link) -> None:
    link = await throw_away(kurz, link)
    store = SqlTrashStore(kurz.database, YEAR)
    assert await store.purge(Scope(), link.id, link.version, kurz.clock.now())


async def is_given(kurz: Kurz, caller: dict[str, Any]) -> bool:
    """Whether the caller gets the code; it is given back, as if nothing had been."""
    try:
        link = await make(kurz, custom_code=CODE, **caller)
    except CustomCodeTaken:
        return False
    await write(kurz, sa.delete(links).where(links.c.id == link.id))
    return True


@pytest.mark.parametrize(
    ("caller", "holder", "who_may"),
    [
        (OWNERS, OWNER, [OWNERS]),
        (OPERATORS, OPERATOR, [OPERATORS]),
        (ANYBODYS, NOBODY, []),
    ],
)
async def test_a_code_is_kept_for_who_had_it_and_for_a_year(kurz, clock, caller, holder, who_may):
    await purge(kurz, await make(kurz, custom_code=CODE, **caller))
    until = clock.now() + YEAR
    [row] = await rows(kurz, code_quarantine)
    assert dict(row) == {
        "short_code": CODE,
        "reserved_for": holder,
        "until": to_micros(until),
    }
    assert [who for who in CALLERS if await is_given(kurz, who)] == who_may
    clock.advance(seconds=(YEAR - TICK).total_seconds())
    assert [who for who in CALLERS if await is_given(kurz, who)] == who_may
    clock.advance(microseconds=1)
    assert [who for who in CALLERS if await is_given(kurz, who)] == CALLERS


async def test_a_refused_link_leaves_nothing(kurz):
    await purge(kurz, await make(kurz, custom_code=CODE))
    before = await rows(kurz, changes)
    assert not await is_given(kurz, STRANGERS)
    assert await rows(kurz, changes) == before
    assert await rows(kurz, links) == []


async def test_in_a_workspace_there_are_no_strangers(kurz):
    await purge(kurz, await make(kurz, workspace_id=TEAM, custom_code=CODE))
    assert await rows(kurz, code_quarantine) == []
    await purge(kurz, await make(kurz, custom_code=CODE))
    assert await is_given(kurz, STRANGERS | {"workspace_id": TEAM})


async def test_a_deterministic_link_returns_to_its_code(kurz):
    first = await make(kurz, workspace_id=TEAM)
    assert first.strategy is Strategy.DETERMINISTIC
    await purge(kurz, first)
    assert (await make(kurz, workspace_id=TEAM)).short_code == first.short_code


@pytest.mark.parametrize("strategy", [Strategy.RANDOM, Strategy.COUNTER])
async def test_codes_that_are_made_pass_over_one_that_is_kept(kurz, monkeypatch, strategy):
    await purge(kurz, await make(kurz, custom_code=CODE))
    made = [CODE] * (ATTEMPTS[strategy] - 1) + ["another", *[CODE] * ATTEMPTS[strategy]]
    codes = iter(made)

    async def code(*_: Any) -> str:
        return next(codes)

    monkeypatch.setattr(CodeGenerator, "code", code)
    assert (await make(kurz, strategy=strategy, **STRANGERS)).short_code == "another"
    with pytest.raises(CodesExhausted):
        await make(kurz, strategy=strategy, **STRANGERS)


async def test_a_claim_that_makes_a_link_passes_over_it_too(kurz, monkeypatch):
    await purge(kurz, await make(kurz, custom_code=CODE))
    codes = iter([CODE, "another"])

    async def code(*_: Any) -> str:
        return next(codes)

    monkeypatch.setattr(CodeGenerator, "code", code)
    draft = Draft(original_url="https://example.com/", owner_id=OWNER + 1)
    claimed = await kurz.links.claim(OWNER + 1, draft)
    assert claimed.link.short_code == "another"


async def rename(kurz: Kurz, link: Link) -> Link:
    public_id = kurz.links.public_id(link)
    return await kurz.links.edit(public_id, Scope(), {"custom_code": CODE, "title": "new"})


async def test_a_link_is_renamed_to_it_by_its_owner_only(kurz):
    await purge(kurz, await make(kurz, custom_code=CODE))
    stranger, mine = await make(kurz, **STRANGERS), await make(kurz)
    with pytest.raises(CustomCodeTaken):
        await rename(kurz, stranger)
    assert await kurz.store.find(stranger.id, Scope()) == stranger
    assert (await rename(kurz, mine)).short_code == CODE


async def test_a_link_that_has_the_code_again_is_edited_like_any_other(kurz):
    link = await make(kurz, custom_code=CODE)
    row = {"short_code": CODE, "reserved_for": NOBODY, "until": 2**62}
    await write(kurz, sa.insert(code_quarantine), row)
    assert (await rename(kurz, link)).title == "new"


@pytest.mark.parametrize("is_dry", [True, False])
async def test_an_import_meets_it_like_a_code_that_is_taken(kurz, is_dry):
    await purge(kurz, await make(kurz, custom_code=CODE))
    data = f"original_url,short_code\nhttps://example.com/1,{CODE}\nhttps://example.com/2,free\n"
    strangers = await run(kurz, data, target=ImportTarget(owner_id=OWNER + 1), is_dry=is_dry)
    assert outcomes(strangers) == ["conflict", "created"]
    assert strangers[0].problem == CustomCodeTaken("").code
    assert strangers[0].reason == f"The code “{CODE}” is reserved for its former owner."
    kept = await kurz.store.find_by_code(0, CODE)
    assert kept is None
    elsewhere = await run(kurz, data, target=ImportTarget(workspace_id=TEAM), is_dry=is_dry)
    assert outcomes(elsewhere) == ["created", "created"]
    data = data.replace("free", "mine")
    mine = await run(kurz, data, target=ImportTarget(owner_id=OWNER), is_dry=is_dry)
    assert outcomes(mine) == ["created", "created"]


async def create(kurz: Kurz) -> bool:
    return await is_given(kurz, STRANGERS)


async def rename_one(kurz: Kurz) -> bool:
    [link] = await rows(kurz, links, links.c.short_code == "stranger")
    try:
        await rename(kurz, await kurz.links.get_by_code(0, link["short_code"]))
    except CustomCodeTaken:
        return False
    return True


async def import_one(kurz: Kurz) -> bool:
    data = f"original_url,short_code\nhttps://example.com/1,{CODE}\n"
    return outcomes(await run(kurz, data, target=ImportTarget(owner_id=OWNER + 1))) == ["created"]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("attempt", [create, rename_one, import_one])
async def test_who_waits_for_the_purge_does_not_get_the_code(
    kurz, clock, attempt: Callable[[Kurz], Coroutine[Any, Any, bool]]
):
    """PostgreSQL: a write that meets a code which is just being freed."""
    link = await throw_away(kurz, await make(kurz, custom_code=CODE))
    await make(kurz, custom_code="stranger", **STRANGERS)
    now, until = to_micros(clock.now()), to_micros(clock.now() + YEAR)

    async def is_waited() -> bool:
        query = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(await kurz.database.read(lambda it: it.execute(query).scalar()))

    async with kurz.database._engine.begin() as connection:
        is_deleted = links.c.status == Status.DELETED
        assert await connection.run_sync(purge_links, [link.id], is_deleted, now, until) == 1
        waiting = asyncio.create_task(attempt(kurz))
        await until_told(is_waited)
    assert not await waiting
    assert await kurz.store.find_by_code(0, CODE) is None
