"""A purge is one transaction: it takes no more links than have so many days of clicks together."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from kurz.links.ending.retention import EndedKind
from kurz.links.model import Link, Scope, Strategy
from kurz.storage.ending import purging
from kurz.storage.ending.purging import empty_some
from kurz.storage.ending.reaping import purge_some
from kurz.storage.ending.workspaces import purge_links_of
from kurz.storage.schema.clicks import click_days
from kurz.storage.schema.people import workspaces
from kurz.wiring.core import Kurz
from support.archive import add_days
from support.endings import OWNER, make, rows, throw_away, write
from support.engines import without_redis

engine = without_redis  # which has no part in it
Purge = Callable[[sa.Connection, int, int], int]

PURGES: dict[str, Purge] = {
    "reaper": lambda it, _, now: purge_some(it, EndedKind.DELETED, now, now, now, 1000),
    "trash": lambda it, space, now: empty_some(it, Scope(space), now, now, 1000),
    "all trash": lambda it, _, now: empty_some(it, Scope(), now, now, 1000),
    "workspace": lambda it, space, now: purge_links_of(it, space, now, now, now, 1000),
}


@pytest.fixture(params=[1, 2, 10])
def few_days(request, monkeypatch) -> None:
    """Five, however many links are looked at first."""
    monkeypatch.setattr(purging, "MOST_DAYS", {"sqlite": 5, "postgresql": 5})
    monkeypatch.setattr(purging, "FIRST_LOOK", request.param)


async def make_deleted(kurz: Kurz, people, clock, *days: int) -> int:
    """A workspace that is deleted, as its links are, which have as many days each."""
    workspace = await people.workspace(await people.add())
    codes = [f"code{number}" for number in range(len(days))]
    for code, number in zip(codes, days, strict=True):
        link: Link = await make(
            kurz,
            workspace_id=workspace.id,
            owner_id=OWNER,
            strategy=Strategy.CUSTOM,
            custom_code=code,
        )
        if number:
            await add_days(kurz, link, number)
        await throw_away(kurz, link)
        clock.advance(seconds=1)
    await write(kurz, sa.update(workspaces).values(deleted_at=0))
    space: int = workspace.id
    return space


@pytest.mark.parametrize("name", PURGES)
@pytest.mark.usefixtures("few_days")
async def test_it_has_only_so_many_days(kurz, people, clock, name):
    """But for one link that has more alone."""
    space = await make_deleted(kurz, people, clock, 3, 2, 0, 9, 0, 1, 1, 1, 3)
    now, purge = clock.micros(), PURGES[name]
    done = [await kurz.database.write(purge, space, now) for _ in range(6)]
    assert done == [3, 1, 4, 1, 0, 0]
    assert await rows(kurz, click_days, click_days.c.kind == 0) == []
