"""Workspaces that nobody can restore any more end, and nothing else does."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.jobs.periodic import TaskPace
from kurz.jobs.workspace_purger import BUFFER, WorkspacePurger
from kurz.links.model import Draft, Link, Scope, Status, Strategy
from kurz.people.access import Caller, Permission, Role
from kurz.people.custom_domains import Domain
from kurz.people.errors import SlugTaken, WorkspaceNotFound
from kurz.people.workspaces import GRACE, Workspace
from kurz.storage.ending.workspaces import SqlWorkspaceEnds
from kurz.storage.people.domains import SqlDomainStore
from kurz.storage.schema import base
from kurz.storage.schema import clicks as click_schema  # noqa: F401  they have the tables
from kurz.storage.schema import links as link_tables
from kurz.wiring.core import Kurz
from support.engines import without_redis
from support.people import People, Person

engine = without_redis  # workspaces are in a database
NOTHING = {"workspaces": 0, "links": 0}
MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def store(kurz) -> SqlWorkspaceEnds:
    return SqlWorkspaceEnds(kurz.database, timedelta(days=365))


@pytest.fixture
def purger(store, clock) -> WorkspacePurger:
    return WorkspacePurger(store, clock, TaskPace(batch=3, pause_seconds=0))


@pytest.fixture
async def owner(people: People) -> Person:
    return await people.add()


async def make_links(kurz: Kurz, workspace_id: int, owner: Person, number: int) -> list[Link]:
    drafts = [
        Draft(
            original_url=f"https://example.com/{item}",
            workspace_id=workspace_id,
            owner_id=owner.id,
            strategy=Strategy.RANDOM,
            tags=("red",),
        )
        for item in range(number)
    ]
    return [(await kurz.links.create(draft)).link for draft in drafts]


async def furnish(kurz: Kurz, people: People, owner: Person, slug: str) -> Workspace:
    """A workspace with everything that one can have."""
    workspace = await people.workspace(owner, slug)
    await people.join(workspace, await people.add(), Role.EDITOR)
    await people.key(owner, Permission.LINKS_READ, workspace_id=workspace.id)
    await kurz.one_time_tokens.invite(owner.id, workspace.id, Role.VIEWER)
    now = kurz.clock.now()
    domain = Domain(host=f"{slug}.example.com", workspace_id=workspace.id, created_at=now)
    await SqlDomainStore(kurz.database).insert(domain)
    links = await make_links(kurz, workspace.id, owner, 7)
    await kurz.links.delete(kurz.links.public_id(links[0]), Scope())
    return workspace


def rows_of(connection: sa.Connection, workspace_id: int) -> dict[str, int]:
    """How many rows of each table are the workspace's."""
    found = {}
    for table in base.metadata.sorted_tables:
        # Reports of abuse are the administrator's.
        if "workspace_id" in table.c and table.name not in ("changes", "reports"):
            query = sa.select(sa.func.count()).where(table.c.workspace_id == workspace_id)
            found[table.name] = connection.execute(query).scalar_one()
    query = sa.select(sa.func.count()).where(link_tables.link_tags.c.space == workspace_id)
    return found | {"link_tags": connection.execute(query).scalar_one()}


async def test_a_workspace_ends_an_hour_after_its_grace_with_all_that_is_its(
    kurz, people, owner, purger, clock
):
    gone, kept = [await furnish(kurz, people, owner, slug) for slug in ("gone", "kept")]
    personal = await make_links(kurz, 0, owner, 2)
    await people.key(owner, Permission.LINKS_READ)
    before = await kurz.database.read(rows_of, kept.id)
    assert all(before.values()), before
    await kurz.teams.delete(gone)
    clock.advance(microseconds=(GRACE + BUFFER - MICROSECOND) // MICROSECOND)
    assert await purger.run() == NOTHING
    clock.advance(microseconds=1)
    assert await purger.run() == {"workspaces": 1, "links": 7}
    left = await kurz.database.read(rows_of, gone.id)
    assert {name: number for name, number in left.items() if number} == {"workspace_slugs": 1}
    assert await kurz.workspaces.find(gone.id) is None
    assert await kurz.database.read(rows_of, kept.id) == before
    assert await kurz.store.find(personal[0].id, Scope()) is not None
    assert len(await kurz.keys.list(owner.id)) == 2
    assert await purger.run() == NOTHING


async def test_its_slugs_stay_taken_for_ever(kurz, people, owner, purger, clock):
    gone = await people.workspace(owner, "first")
    gone = await kurz.teams.edit(gone.id, {"slug": "second"})
    await kurz.teams.delete(gone)
    clock.advance(days=31)
    assert await purger.run() == {"workspaces": 1, "links": 0}
    for slug in ("first", "second"):
        assert await kurz.workspaces.find_by_slug(slug) is None
        with pytest.raises(SlugTaken):
            await kurz.teams.create(owner.id, "Another", slug)


async def test_one_that_was_restored_is_left_alone(kurz, people, owner, store, clock):
    """Also by a purger that has just found it."""
    workspace = await furnish(kurz, people, owner, "team")
    deleted = await kurz.teams.delete(workspace)
    clock.advance(days=29)
    before = clock.now()
    await kurz.teams.restore(deleted)
    whole = await kurz.database.read(rows_of, workspace.id)
    assert await store.find_gone(before) == []
    assert await store.purge_links(workspace.id, before, before, 10) == 0
    assert not await store.purge(workspace.id, before)
    assert await kurz.database.read(rows_of, workspace.id) == whole


async def test_one_that_has_links_yet_stays(kurz, people, owner, store, clock):
    workspace = await furnish(kurz, people, owner, "team")
    await kurz.teams.delete(workspace)
    now = clock.now()
    assert not await store.purge(workspace.id, now)
    assert await store.purge_links(workspace.id, now, now, 5) == 5
    assert not await store.purge(workspace.id, now)
    assert await store.purge_links(workspace.id, now, now, 5) == 2
    assert await store.purge(workspace.id, now)
    assert not await store.purge(workspace.id, now)


async def test_the_record_of_a_banned_link_outlives_its_workspace(
    kurz, people, owner, purger, clock
):
    workspace = await people.workspace(owner)
    banned, _ = await make_links(kurz, workspace.id, owner, 2)
    await kurz.store.update(banned, {"status": Status.BANNED}, clock.now())
    await kurz.teams.delete(workspace)
    clock.advance(days=31)
    assert await purger.run() == {"workspaces": 1, "links": 1}
    found = await kurz.store.find(banned.id, Scope())
    assert found is not None
    assert found.status is Status.BANNED


async def test_a_run_ends_when_its_time_is_over_and_the_next_goes_on(
    kurz, people, owner, store, clock
):
    workspace = await furnish(kurz, people, owner, "team")
    await kurz.teams.delete(workspace)
    clock.advance(days=31)
    hasty = WorkspacePurger(store, clock, TaskPace(batch=3, pause_seconds=0, run_seconds=0))
    assert await hasty.run() == {"workspaces": 0, "links": 3}
    patient = WorkspacePurger(store, clock, TaskPace(batch=3, pause_seconds=0))
    assert await patient.run() == {"workspaces": 1, "links": 4}


async def test_nobody_gets_in_before_or_after(kurz, people, owner, purger, clock):
    workspace = await people.workspace(owner)
    await kurz.teams.delete(workspace)
    clock.advance(days=31)
    caller = Caller(
        account_id=owner.id,
        email=owner.account.email,
        epoch=owner.account.epoch,
        permissions=frozenset(Permission),
    )
    for _ in range(2):
        with pytest.raises(WorkspaceNotFound):
            await kurz.teams.own(caller, workspace.id, with_deleted=True)
        await purger.run()
