"""The cost of deleting an account does not depend on the links of others: no statement reads all
links."""

import itertools
import re
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.storage.ending.accounts import disown_next, find_spaces, has_more, trash_next
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.people.accounts import delete_account
from kurz.storage.schema.links import link_tags, links
from support.endings import make, write
from support.engines import without_redis
from support.plans import plans_of

engine = without_redis  # which has no part in it
LINKS = 20_000
OTHER = 77  # owns most
# A part of an index with the links of all workspaces, or of all people.
_ALL_OF_AN_INDEX = re.compile(r"\(space[<>]\?\)|Index Cond: (?!.*space = ).*space [<>]+ 0")


def fill(connection: sa.Connection) -> None:
    """Many links, personal and in many workspaces."""
    columns = [
        column.name for column in links.c if column.name not in ("id", "short_code", "space")
    ]
    columns.remove("workspace_id")
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < LINKS))
    code = sa.literal("code") + sa.cast(numbers.c.n, sa.Text)
    workspace = (numbers.c.n % 20) * (numbers.c.n % 2)
    space = sa.case((workspace > 0, workspace), else_=-OTHER)
    copies = sa.select(code, workspace, space, *(links.c[name] for name in columns))
    copies = copies.join(numbers, sa.true())
    names = ["short_code", "workspace_id", "space", *columns]
    connection.execute(sa.insert(links).from_select(names, copies))
    tags = sa.select(links.c.space, sa.literal("tag"), sa.literal(False), links.c.id)  # noqa: FBT003
    connection.execute(sa.insert(link_tags).from_select([*link_tags.c.keys()], tags))
    if connection.dialect.name == "postgresql":  # on SQLite, nobody does that
        connection.execute(sa.text("ANALYZE"))


@pytest.fixture
async def ids(kurz, people) -> list[int]:
    """Accounts: without links, with few, with many personal ones and many in workspaces."""
    await make(kurz, owner_id=OTHER)
    with deadline(LONG_SECONDS):
        await kurz.database.write(fill)
    persons = [await people.add(f"person{number}@example.com") for number in range(3)]
    for person, number in itertools.product(persons, range(3)):
        await people.workspace(person, f"of-{person.id}-{number}")
    found = [person.id for person in persons]
    for account_id, number in zip(found[1:], (50, 500), strict=True):
        for is_mine in (
            (links.c.space == -OTHER) & (links.c.id % 2 == 0),
            (links.c.space > 0) & (links.c.owner_id == OTHER),
        ):
            some = sa.select(links.c.id).where(is_mine).limit(number)
            mine = sa.case((links.c.space > 0, links.c.space), else_=-account_id)
            values = {"owner_id": account_id, "space": mine}
            await write(kurz, sa.update(links).where(links.c.id.in_(some)).values(values))
    return found


async def test_no_statement_of_a_deletion_reads_all_links(kurz, ids, clock, people):
    now = to_micros(clock.now())
    plans: list[str] = []

    def run(connection: sa.Connection, step: Any, *values: Any) -> Any:
        with plans_of(connection, plans):
            return step(connection, *values)

    for account_id in ids:
        await kurz.database.write(run, delete_account, account_id, clock.now())
        spaces = await kurz.database.read(run, find_spaces, account_id)
        assert bool(spaces) == (account_id != ids[0])
        while await kurz.database.write(run, trash_next, account_id, now, 300):
            pass
        for space in spaces:
            while await kurz.database.write(run, disown_next, account_id, space, 300):
                pass
        assert not await kurz.database.read(run, has_more, account_id)
    assert len(plans) > 20
    for plan in plans:
        _, _, lines = plan.partition("\n")
        assert "Seq Scan on link" not in lines, plan
        assert "SCAN link" not in lines, plan
        if "min(links.space)" not in plan:  # which needs the first entry only
            assert not _ALL_OF_AN_INDEX.search(lines), plan
