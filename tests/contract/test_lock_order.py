"""Whoever locks a workspace and its invitations or domains locks the workspace first: two who do it
at once wait for each other in turn, never both."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa

from kurz.people.access import Role
from kurz.people.custom_domains import QUARANTINE, Domain
from kurz.people.errors import OneTimeLinkRefused
from kurz.people.workspaces import Workspace
from kurz.storage.ending.workspaces import purge_workspace
from kurz.storage.people.domains import SqlDomainStore
from kurz.storage.people.members import set_role
from kurz.storage.schema.people import domains, one_time_tokens, workspaces
from kurz.wiring.core import Kurz
from support.clock import FrozenClock
from support.engines import usually_on
from support.people import PASSWORD, People, Person

Ask = Callable[[], Awaitable[object]]
End = Callable[[sa.Connection], object]

pytestmark = usually_on("postgres", among=("postgres",))  # SQLite has one writer


async def end_while(kurz: Kurz, workspace: Workspace, end: End, ask: Ask) -> None:
    """`ask` begins when the workspace is locked, and `end` goes on when `ask` waits for it."""
    is_locked = asyncio.Event()

    def hold(connection: sa.Connection) -> None:
        query = sa.select(workspaces.c.id).where(workspaces.c.id == workspace.id)
        connection.execute(query.with_for_update())
        is_locked.set()
        connection.execute(sa.text("SELECT pg_sleep(0.3)"))
        end(connection)

    holding = asyncio.create_task(kurz.database.write(hold))
    await is_locked.wait()
    await asyncio.gather(holding, ask())


@pytest.fixture
async def owner(people: People) -> Person:
    return await people.add()


@pytest.fixture
async def workspace(people: People, owner: Person) -> Workspace:
    made = await people.workspace(await people.add())
    await people.join(made, owner, Role.OWNER)
    return made


async def test_inviting_while_an_owner_is_removed(kurz, workspace, owner, clock):
    await kurz.one_time_tokens.invite(owner.id, workspace.id, Role.VIEWER)
    clock.advance(days=8)
    await end_while(
        kurz,
        workspace,
        lambda connection: set_role(connection, workspace.id, owner.id, None),
        lambda: kurz.one_time_tokens.invite(None, workspace.id, Role.VIEWER, at_most=1),
    )
    found = await kurz.database.read(
        lambda it: it.execute(sa.select(one_time_tokens.c.created_by)).all()
    )
    assert found == [(None,)]


async def test_registering_while_the_owner_who_invited_is_removed(kurz, workspace, owner):
    token, _ = await kurz.one_time_tokens.invite(owner.id, workspace.id, Role.VIEWER)

    async def register() -> None:
        with pytest.raises(OneTimeLinkRefused):
            await kurz.accounts.register("late@example.com", PASSWORD, token)

    await end_while(
        kurz,
        workspace,
        lambda connection: set_role(connection, workspace.id, owner.id, None),
        register,
    )


async def test_adding_a_domain_while_the_workspace_is_purged(
    kurz: Kurz, workspace: Workspace, clock: FrozenClock
) -> None:
    store = SqlDomainStore(kurz.database)
    old = await store.insert(
        Domain(host="old.example.com", workspace_id=workspace.id, created_at=clock.now())
    )
    assert old is not None
    await store.confirm(old, clock.now())
    await store.remove(workspace.id, old.host, clock.now())
    await kurz.teams.delete(workspace)
    clock.advance(seconds=QUARANTINE.total_seconds() + 1)
    before = clock.now()
    await end_while(
        kurz,
        workspace,
        lambda connection: purge_workspace(connection, workspace.id, before),
        lambda: store.insert(
            Domain(host="new.example.com", workspace_id=workspace.id, created_at=clock.now()),
            at_most=2,
        ),
    )
    found = await kurz.database.read(lambda it: it.execute(sa.select(domains.c.host)).all())
    assert ("old.example.com",) not in found
