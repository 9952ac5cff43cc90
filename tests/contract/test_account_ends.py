"""An account is deleted at once, however many links it has; a job ends the links one by one, and
nobody outside can tell the difference."""

import itertools
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.jobs.account_ender import AccountEnder
from kurz.jobs.periodic import TaskPace
from kurz.links.model import Filter, Link, Scope, Status, Strategy
from kurz.people.access import Role
from kurz.storage.ending.accounts import SqlAccountEnds, trash_next
from kurz.storage.engine.batches import SQLITE_LINKS
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.links.ended_accounts import FEW
from kurz.storage.schema.links import changes, link_tags, links
from kurz.storage.schema.people import ending_accounts
from kurz.wiring.core import Kurz
from support.endings import found, make, multiply, rows, throw_away, write
from support.engines import without_redis
from support.people import People, Person

engine = without_redis  # workers and Redis are in other tests
MANY = FEW + 5
NOTHING = {"accounts": 0, "links": 0}


@pytest.fixture
def store(kurz) -> SqlAccountEnds:
    return SqlAccountEnds(kurz.database)


@pytest.fixture
def ender(store, clock) -> AccountEnder:
    return AccountEnder(store, clock, TaskPace(batch=40, pause_seconds=0))


@pytest.fixture
async def person(people: People) -> Person:
    await people.add(is_admin=True)
    return await people.add("grace@example.com")


async def make_many(kurz: Kurz, person: Person, workspace_id: int = 0) -> list[Link]:
    wanted = {"owner_id": person.id, "workspace_id": workspace_id, "tags": ("red",)}
    first = await make(kurz, strategy=Strategy.RANDOM, **wanted)
    return [first, *await multiply(kurz, first, MANY - 1)]


async def delete(kurz: Kurz, person: Person) -> None:
    assert await kurz.account_store.delete(person.id, kurz.clock.now())


async def test_few_links_are_in_the_trash_when_the_account_is_deleted(kurz, ender, person, clock):
    made = [await make(kurz, owner_id=person.id, tags=("red",)) for _ in range(3)]
    await delete(kurz, person)
    stored = await rows(kurz, links)
    assert [(row["status"], row["deleted_at"], row["version"]) for row in stored] == [
        ("DELETED", to_micros(clock.now()), 2)
    ] * 3
    assert {row["link_id"] for row in await rows(kurz, changes, changes.c.version == 2)} == {
        link.id for link in made
    }
    assert await ender.run() == {"accounts": 1, "links": 3}
    assert await rows(kurz, links) == stored


async def test_an_account_with_many_links_is_deleted_without_writing_one(kurz, person):
    await make_many(kurz, person)
    before, logged = await rows(kurz, links), len(await rows(kurz, changes))
    await delete(kurz, person)
    assert await rows(kurz, links) == before
    (end,) = (await rows(kurz, changes))[logged:]
    assert (end["link_id"], end["short_code"], end["version"]) == (0, str(-person.id), 1)
    assert await kurz.account_store.find(person.id) is None
    again = await kurz.accounts.create_admin("grace@example.com", "another good password")
    assert again.id != person.id


async def test_its_links_are_gone_for_everyone_before_the_job_has_ended_them(
    kurz, ender, person, people, clock
):
    made = await make_many(kurz, person)
    others = await make(kurz, owner_id=(await people.add()).id)
    banned = made[1]
    await write(kurz, sa.update(links).where(links.c.id == banned.id).values(status="BANNED"))
    routes = kurz.engine.open_routes(kurz.database, kurz.replicas)
    await delete(kurz, person)
    at = clock.now()
    try:
        for link in made[:3]:
            route = await routes.find(0, link.short_code)
            assert route is not None
            assert route.status == (Status.BANNED if link.id == banned.id else Status.DELETED)
        route = await routes.find(0, others.short_code)
        assert route is not None
        assert route.status == Status.ACTIVE
    finally:
        routes.close()
    seen = [await found(kurz, made[0]), await kurz.store.find_by_code(0, made[0].short_code)]
    assert [(link.status, link.deleted_at) for link in seen] == [(Status.DELETED, at)] * 2
    for wanted in Filter(), Filter(with_deleted=True), Filter(status=Status.DELETED):
        listed = await kurz.store.list(Scope(0), wanted, at, limit=50)
        assert {link.id for link in listed.links} <= {others.id}
        assert listed.total == len(listed.links)
    for with_trash in False, True:
        page, _ = await SqlBulkStore(kurz.database).page(Scope(), None, 500, with_trash=with_trash)
        assert [link.id for link in page] == [others.id]
    await ender.run()
    listed = await kurz.store.list(Scope(0), Filter(with_deleted=True), at, limit=500)
    assert (len(listed.links), listed.total) == (MANY + 1, MANY + 1)


async def test_the_job_moves_every_link_to_the_trash_as_of_the_deletion(
    kurz, ender, person, people, clock
):
    made = await make_many(kurz, person)
    others = await make(kurz, owner_id=(await people.add()).id, tags=("red",))
    trashed, banned, swept = made[:3]
    await throw_away(kurz, trashed)
    put_there = clock.now()
    await write(kurz, sa.update(links).where(links.c.id == banned.id).values(status="BANNED"))
    moment = to_micros(clock.now() - timedelta(days=1))
    was_swept = {"status": "DELETED", "deleted_at": moment, "swept_at": moment}
    await write(kurz, sa.update(links).where(links.c.id == swept.id).values(was_swept))
    clock.advance(hours=1)
    deleted_at = clock.now()
    await delete(kurz, person)
    clock.advance(hours=1)
    assert await ender.run() == {"accounts": 1, "links": MANY}
    ended = {row["id"]: row for row in await rows(kurz, links, links.c.space == -person.id)}
    assert ended.pop(banned.id)["status"] == "BANNED"
    assert ended.pop(trashed.id)["deleted_at"] == to_micros(put_there)
    assert {(row["status"], row["deleted_at"], row["swept_at"]) for row in ended.values()} == {
        ("DELETED", to_micros(deleted_at), None)
    }
    told = {row["link_id"] for row in await rows(kurz, changes, changes.c.version == 2)}
    assert told >= ended.keys()
    tags = await rows(kurz, link_tags)
    assert {row["in_trash"] for row in tags if row["link_id"] in ended} == {True}
    kept = await found(kurz, others)
    assert kept is not None
    assert kept.status is Status.ACTIVE
    assert await rows(kurz, ending_accounts) == []
    assert await ender.run() == NOTHING


async def test_links_in_workspaces_stay_and_lose_their_owner(kurz, ender, person, people):
    """Also in workspaces that the account has left."""
    owner = await people.add()
    present, left = [await people.workspace(owner, slug) for slug in ("present", "left")]
    for workspace in present, left:
        await people.join(workspace, person, Role.EDITOR)
        await make_many(kurz, person, workspace.id)
        await make(kurz, owner_id=owner.id, workspace_id=workspace.id)
    assert await kurz.workspaces.set_role(left.id, person.id, None)
    await delete(kurz, person)
    assert await ender.run() == {"accounts": 1, "links": 2 * MANY}
    stored = await rows(kurz, links, links.c.space > 0)
    assert {row["status"] for row in stored} == {"ACTIVE"}
    assert sorted(filter(None, (row["owner_id"] for row in stored))) == [owner.id] * 2


async def test_a_batch_is_small_and_a_run_continues_where_the_last_one_ended(
    kurz, ender, person, engine
):
    await make_many(kurz, person)
    await delete(kurz, person)
    some = SQLITE_LINKS if engine == "sqlite" else MANY - 1
    assert await kurz.database.write(trash_next, person.id, 0, MANY - 1) == some
    for stop_at in itertools.count(1):  # after each batch
        looks = itertools.count(1)
        done = await ender.run(lambda looks=looks: next(looks) > 2)
        if done == NOTHING:
            break
        some += done["links"]
        assert stop_at < 50
    assert some == MANY
    assert {row["version"] for row in await rows(kurz, links)} == {2}


async def test_a_link_that_was_created_at_the_last_moment_ends_too(kurz, store, ender, person):
    """On PostgreSQL, its transaction may commit after the deletion."""
    made = await make_many(kurz, person)
    await delete(kurz, person)
    while await store.trash_links(person.id, kurz.clock.now(), 1000):
        pass
    late = sa.update(links).where(links.c.id == made[0].id)
    await write(kurz, late.values(status="ACTIVE", deleted_at=None))
    seen = await found(kurz, made[0])
    assert seen is not None
    assert seen.status is Status.DELETED
    assert not await store.end(person.id)
    assert (await ender.run())["accounts"] == 1
    row = await kurz.database.read(
        lambda it: it.execute(sa.select(links.c.status).where(links.c.id == made[0].id)).scalar()
    )
    assert row == "DELETED"
