"""Links that are inserted together: each gets the same result as alone."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import Strategy
from kurz.storage.links.inserting import insert_links
from kurz.storage.links.quarantine import NOBODY, OPERATOR
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.link_rows import INSERTED, to_row
from kurz.storage.schema.links import changes, links
from kurz.wiring.core import Kurz
from support.endings import OWNER, make, rows, write
from support.engines import without_redis

engine = without_redis
TEAM = 7


def row_of(link: Any, **values: Any) -> tuple[Any, ...]:
    """The row of a new link: this one, with other values."""
    named = dict(zip(INSERTED, to_row(link), strict=True)) | values
    return tuple(named.values())


async def insert(kurz: Kurz, new: Sequence[tuple[Any, ...]]) -> list[int | None]:
    return await kurz.database.write(insert_links, new)


async def codes(kurz: Kurz) -> list[str]:
    return sorted(row["short_code"] for row in await rows(kurz, links))


async def test_taken_codes_are_refused_and_the_others_stored(kurz):
    first = await make(kurz, custom_code="taken")
    new = [
        row_of(first, short_code="one"),
        row_of(first),
        row_of(first, short_code="two"),
        row_of(first, short_code="one"),
        row_of(first, short_code="taken", workspace_id=TEAM, space=TEAM),
    ]
    found = await insert(kurz, new)
    assert [link_id is not None for link_id in found] == [True, False, True, False, True]
    stored = {row["id"]: row for row in await rows(kurz, links)}
    for link_id, row in zip(found, new, strict=True):
        if link_id is not None:
            assert [stored[link_id][name] for name in INSERTED] == [*row]
    assert await codes(kurz) == ["one", "taken", "taken", "two"]


async def test_each_link_has_its_row_of_the_change_log_and_is_announced(kurz):
    first = await make(kurz)
    heard: list[Any] = []
    kurz.database.on_commit = heard.extend
    at = [to_micros(first.created_at) + n for n in range(3)]
    new = [row_of(first, short_code=f"code-{n}", created_at=at[n]) for n in range(3)]
    found = await insert(kurz, [*new, row_of(first)])
    logged = [row for row in await rows(kurz, changes) if row["link_id"] in found]
    names = ("link_id", "workspace_id", "short_code", "version", "changed_at")
    assert sorted(tuple(row[name] for name in names) for row in logged) == [
        (found[n], 0, f"code-{n}", 1, at[n]) for n in range(3)
    ]
    assert sorted(tuple(change) for change in heard) == [
        (found[n], 0, f"code-{n}", 1) for n in range(3)
    ]


async def test_reserved_codes_are_refused_to_everyone_but_their_holders(kurz, clock):
    first = await make(kurz)
    now = to_micros(clock.now())
    later, past = now + to_micros(clock.now() + timedelta(days=1)), now
    for code, holder, until in (
        ("mine", OWNER, later),
        ("others", OWNER + 1, later),
        ("nobodys", NOBODY, later),
        ("operators", OPERATOR, later),
        ("over", OWNER + 1, past),
    ):
        values = {"short_code": code, "reserved_for": holder, "until": until}
        await write(kurz, sa.insert(code_quarantine).values(values))
    before = await codes(kurz)
    owned = [row_of(first, short_code=code) for code in ("mine", "others", "nobodys", "over")]
    of_team = row_of(first, short_code="others", workspace_id=TEAM, space=TEAM)
    nobodys = {"owner_id": None, "space": 0}
    operators = row_of(first, short_code="operators", **nobodys)
    temporary = row_of(first, short_code="nobodys", link_type="TEMPORARY", **nobodys)
    found = await insert(kurz, [*owned, of_team, operators, temporary])
    given = [True, False, False, True, True, True, False]
    assert [link_id is not None for link_id in found] == given
    assert await codes(kurz) == sorted([*before, "mine", "operators", "others", "over"])
    logged = {row["link_id"] for row in await rows(kurz, changes)}
    assert {link_id for link_id in found if link_id is not None} <= logged


async def test_creates_at_the_same_time_get_codes_of_their_own(kurz):
    made = await asyncio.gather(
        *(make(kurz, original_url=f"https://example.com/{n}") for n in range(150))
    )
    assert len({link.id for link in made}) == len({link.short_code for link in made}) == 150
    for link in made:
        assert await kurz.store.find_by_code(0, link.short_code) == link


async def test_the_same_url_at_the_same_time_is_one_deterministic_link(kurz):
    wanted = {"workspace_id": TEAM, "strategy": Strategy.DETERMINISTIC, "owner_id": None}
    made = await asyncio.gather(*(make(kurz, **wanted) for _ in range(30)))
    assert len({link.id for link in made}) == 1
    assert len(await rows(kurz, links)) == 1
