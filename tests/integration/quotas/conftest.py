"""Quotas of a person and of a workspace."""

from collections.abc import Awaitable, Callable

import pytest

from kurz.wiring.core import Kurz
from support.engines import redis_in_the_long_run
from support.people import People
from support.quotas import LINKS, Connect, Quota, set_quota

# Nobody follows a link here; quotas are counted in the database.
engine = redis_in_the_long_run


@pytest.fixture(params=["person", "workspace"])
async def quota(
    request: pytest.FixtureRequest, kurz: Kurz, connect: Connect, people: People
) -> Callable[[int], Awaitable[Quota]]:
    """Both kinds of quota."""

    async def make(limit: int) -> Quota:
        person = await people.add()
        if request.param == "person":
            return Quota(kurz, await connect(links_per_month=limit), person, LINKS)
        workspace = await people.workspace(person)
        await set_quota(kurz, workspace, limit)
        path = f"/api/v1/workspaces/{workspace.id}/links"
        return Quota(kurz, await connect(), person, path)

    return make


@pytest.fixture
async def own(kurz: Kurz, connect: Connect, people: People) -> Callable[[int], Awaitable[Quota]]:
    """A person's quota only."""

    async def make(limit: int) -> Quota:
        return Quota(kurz, await connect(links_per_month=limit), await people.add(), LINKS)

    return make
