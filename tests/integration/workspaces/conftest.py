"""A workspace, its owner, and a way to add members."""

import pytest

from kurz.people.access import Role
from kurz.people.workspaces import Workspace
from support.engines import redis_in_the_long_run
from support.people import People, Person
from support.workspaces import Join

engine = redis_in_the_long_run


@pytest.fixture
async def owner(people: People) -> Person:
    return await people.add("owner@example.com")


@pytest.fixture
async def team(people: People, owner: Person) -> Workspace:
    return await people.workspace(owner, "team")


@pytest.fixture
def join(people: People, team: Workspace) -> Join:
    """A new member."""

    async def join(role: Role, email: str | None = None) -> Person:
        person = await people.add(email)
        await people.join(team, person, role)
        return person

    return join
