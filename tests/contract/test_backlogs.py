"""How far the number of active links, the destinations and the index are behind."""

import sqlalchemy as sa

from kurz.storage.followers.backlogs import Backlogs
from kurz.storage.followers.link_counter import LinkCounter
from kurz.storage.schema.links import count_position
from support.checks import follow
from support.endings import make, write
from support.engines import without_redis

engine = without_redis  # which has no part in it


async def backlogs(kurz, *, are_followed: bool = True) -> dict[str, int]:
    found = Backlogs(kurz.database, are_followed=are_followed)
    await found.look()
    return found.counts()


async def test_backlogs_are_the_changes_that_are_not_taken_in_yet(kurz, engine):
    await LinkCounter(kurz.database).catch_up()  # all that there is from before
    for _ in range(3):
        await make(kurz)
    index = {"search_backlog": 3} if engine == "sqlite" else {}
    assert await backlogs(kurz) == {"count_backlog": 3, "destinations_backlog": 3, **index}
    await LinkCounter(kurz.database).catch_up()
    await follow(kurz)
    assert await backlogs(kurz) == {"count_backlog": 0, "destinations_backlog": 0, **index}


async def test_what_is_off_has_no_backlog(kurz):
    await make(kurz)
    assert "destinations_backlog" not in await backlogs(kurz, are_followed=False)


async def test_links_from_before_the_change_log_are_counted_too(kurz):
    for _ in range(3):
        await make(kurz)
    await LinkCounter(kurz.database).catch_up()
    await write(kurz, sa.update(count_position).values(link_id=0))
    assert (await backlogs(kurz))["count_backlog"] >= 3
