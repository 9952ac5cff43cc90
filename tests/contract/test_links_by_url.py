"""Links are found by their URL in an index of their space, which no code has to write."""

from typing import Any

import pytest
import sqlalchemy as sa

from kurz.links.model import Edit, Scope, space_of
from kurz.wiring.core import Kurz
from support.endings import OWNER, make
from support.engines import without_redis
from support.plans import plans_of

engine = without_redis
INDEX = "ix_links_url"
TEAM = 7
URL = "https://example.com/wanted"
LONG = f"{URL}?{'x' * 1500}"
MANY = 2000

# The second condition is the index's own: SQLite does not conclude it from a parameter.
QUERY = "SELECT links.id FROM links WHERE space = :space AND space <> 0 AND canonical_url = :url"
BY_HASH = " AND hashtextextended(canonical_url, 0) = hashtextextended(:url, 0)"


async def find(kurz: Kurz, engine: str, space: int, url: str = URL) -> tuple[set[int], str]:
    """The links, and the plan."""
    plans: list[str] = []

    def run(connection: sa.Connection) -> set[int]:
        query = sa.text(QUERY + (BY_HASH if engine == "postgres" else ""))
        query = query.bindparams(sa.bindparam("url", type_=sa.Text()))
        query = query.bindparams(sa.bindparam("space", type_=sa.BigInteger()))
        with plans_of(connection, plans):
            return {*connection.execute(query, {"space": space, "url": url}).scalars()}

    found = await kurz.database.read(run)
    return found, plans[0]


@pytest.fixture
async def filled(kurz: Kurz) -> Kurz:
    """With many links of the owner and of the team."""
    of_both = [await make(kurz), await make(kurz, workspace_id=TEAM)]
    copied = "workspace_id, version, strategy, owner_id, space, link_type, status, created_at"
    copied += ", updated_at, redirect_status, forward_query, clicks_used, redirect_count"
    copies = sa.text(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})"  # noqa: S608
        f" INSERT INTO links (short_code, original_url, canonical_url, {copied})"
        f" SELECT 'copy-' || i, '{URL}/' || i, '{URL}/' || i, {copied} FROM links, n"
        " WHERE links.id = :id"
    )

    def fill(connection: sa.Connection) -> None:
        for link in of_both:
            connection.execute(copies, {"id": link.id})
        connection.execute(sa.text("ANALYZE links"))

    await kurz.database.write(fill)
    return kurz


async def test_links_are_found_in_their_space_only_by_the_index(filled, engine):
    team: dict[str, Any] = {"workspace_id": TEAM, "owner_id": OWNER}
    mine = [await make(filled, original_url=f"{URL}/#{n}") for n in range(2)]
    long = await make(filled, original_url=LONG)
    of_team = await make(filled, original_url=URL, **team)
    await make(filled, original_url=URL, owner_id=None)
    await make(filled, original_url=URL, owner_id=OWNER + 1)
    own = space_of(0, OWNER)
    for space, url, expected in (
        (own, URL, {link.id for link in mine}),
        (own, LONG, {long.id}),
        (TEAM, URL, {of_team.id}),
        (TEAM, LONG, set()),
    ):
        found, plan = await find(filled, engine, space, url)
        assert found == expected
        assert INDEX in plan, plan


async def test_an_edit_of_the_url_moves_the_link(kurz, engine):
    link = await make(kurz, original_url=f"{URL}/before")
    public_id = kurz.links.public_id(link)
    await kurz.links.edit(public_id, Scope(), Edit(original_url=URL))
    space = space_of(0, OWNER)
    assert (await find(kurz, engine, space))[0] == {link.id}
    assert (await find(kurz, engine, space, f"{URL}/before"))[0] == set()
