"""What the reaper does costs as much as there is to end, however many links there are: each of its
statements goes by an index that has nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.ending.retention import EndedKind
from kurz.links.model import Scope, Status
from kurz.storage.ending.conditions import are_due, are_ended
from kurz.storage.ending.purging import empty_some
from kurz.storage.ending.reaping import count_some, mark_some, purge_some, trash_some
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.schema.links import link_tags, links
from kurz.wiring.core import Kurz
from support.endings import OWNER, make
from support.engines import without_redis
from support.plans import plans_of

engine = without_redis  # which has no part in it
LINKS = 20_000
ENDED = 200  # of them, in each way
LIMIT = 50
DISTANT = 2**60

_WAYS: list[dict[str, Any]] = [
    {"status": Status.ACTIVE, "expires_at": 1},
    {"status": Status.EXPIRED, "expires_at": 1},
    {"status": Status.EXPIRED, "expires_at": 1, "link_type": "TEMPORARY"},
    {"status": Status.DELETED, "deleted_at": 1},
    {"status": Status.DELETED, "deleted_at": 1, "swept_at": 1, "expires_at": 1},
]


def fill(connection: sa.Connection) -> None:
    """Many links that live, half of them for ever, and a few that ended in each way."""
    columns = [column.name for column in links.c if column.name not in ("id", "short_code")]
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < LINKS))
    code = sa.literal("code") + sa.cast(numbers.c.n, sa.Text)
    copies = sa.select(code, *(links.c[name] for name in columns)).join(numbers, sa.true())
    connection.execute(sa.insert(links).from_select(["short_code", *columns], copies))
    # Not all at one instant: then PostgreSQL could as well find links in the index by creation.
    connection.execute(sa.update(links).values(created_at=links.c.created_at + links.c.id))
    # Most are somebody else's, so an index of all trash is no shortcut to one's own.
    connection.execute(sa.update(links).where(links.c.id > 1900).values(space=-99))
    half = links.c.id % 2 == 0
    connection.execute(sa.update(links).where(half).values(expires_at=DISTANT + links.c.id))
    for place, values in enumerate(_WAYS):
        some = links.c.id.between(1000 + place * ENDED, 999 + (place + 1) * ENDED)
        connection.execute(sa.update(links).where(some).values(values))
    tags = sa.select(links.c.space, sa.literal("tag"), sa.literal(False), links.c.id)  # noqa: FBT003
    connection.execute(sa.insert(link_tags).from_select([*link_tags.c.keys()], tags))
    connection.execute(sa.text("ANALYZE"))


@pytest.fixture
async def filled(kurz: Kurz) -> Kurz:
    await make(kurz)
    with deadline(LONG_SECONDS):
        await kurz.database.write(fill)
    return kurz


STEPS: dict[str, tuple[str, Callable[..., int]]] = {
    "mark": ("ix_links_due", lambda it, now: mark_some(it, now, LIMIT)),
    "count unmarked": ("ix_links_due", lambda it, now: count_some(it, are_due(now)[0], LIMIT)),
    "count": (
        "ix_links_ended",
        lambda it, now: count_some(it, are_ended(EndedKind.PERMANENT, now)[0], LIMIT),
    ),
    "trash": (
        "ix_links_ended",
        lambda it, now: trash_some(it, EndedKind.PERMANENT, now, now, LIMIT),
    ),
    "temporary": (
        "ix_links_ended",
        lambda it, now: purge_some(it, EndedKind.TEMPORARY, now, now, now, LIMIT),
    ),
    "swept": (
        "ix_links_swept",
        lambda it, now: purge_some(it, EndedKind.SWEPT, now, now, now, LIMIT),
    ),
    "deleted": (
        "ix_links_deleted",
        lambda it, now: purge_some(it, EndedKind.DELETED, now, now, now, LIMIT),
    ),
    "empty": (
        "ix_links_trash",
        lambda it, now: empty_some(it, Scope(0, OWNER), now, now, LIMIT),
    ),
}


async def test_every_step_finds_its_links_by_its_index_and_writes_them_by_their_ids(
    filled, clock, engine
):
    now = to_micros(clock.now())
    for name, (index, step) in STEPS.items():
        plans: list[str] = []

        def run(connection: sa.Connection, step: Any = step, plans: Any = plans) -> int:
            with plans_of(connection, plans):
                done: int = step(connection, now)
            return done

        assert await filled.database.write(run) == LIMIT, name
        assert index in plans[0], plans[0]
        for plan in plans:
            _, _, lines = plan.partition("\n")
            assert "Seq Scan on link" not in lines, plan
            assert "SCAN link" not in lines, plan
        key = "USING INTEGER PRIMARY KEY" if engine == "sqlite" else "pk_links"
        for plan in plans[1:]:
            if not plan.startswith(
                ("UPDATE link_tags", "DELETE FROM link_tags", "INSERT INTO changes")
            ):
                assert key in plan, plan
