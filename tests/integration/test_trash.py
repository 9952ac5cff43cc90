"""The trash over HTTP: what is in it and for how long, out of it again, and for ever away."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Scope, Status
from kurz.people.access import Permission, Role
from kurz.safety.audit import OPERATOR
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.schema.links import history, link_tags, links
from support.desk import URL, code_of
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run

NOT_FOUND = (404, "link-not-found")
OUTDATED = (412, "version-outdated")
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.fixture
def sweep(kurz, clock):
    """Moves all that has expired to the trash, as the reaper does."""

    async def sweep() -> int:
        store, now = SqlReaperStore(kurz.database, clock, timedelta(days=365)), clock.now()
        await store.mark_expired(now, 1000)
        return await store.sweep(EndedKind.PERMANENT, RetentionAction.TRASH, now, now, 1000)

    return sweep


async def test_the_trash_tells_how_a_link_came_there_and_when_it_is_purged(place, clock, sweep):
    kept = await place.make(f"{URL}/kept")
    thrown, expired = await place.make(f"{URL}/1"), await place.make(f"{URL}/2", expires_in=60)
    assert (kept["deleted_at"], kept["swept_at"], kept["purged_at"]) == (None, None, None)
    await place.delete(thrown)
    clock.advance(minutes=1)
    assert await sweep() == 1
    shown = {link["id"]: link for link in await place.list_trash()}
    assert shown.keys() == {thrown["id"], expired["id"]}
    by_owner, by_reaper = shown[thrown["id"]], shown[expired["id"]]
    assert by_owner["deleted_at"] == "2026-03-01T12:00:00Z"
    assert by_owner["swept_at"] is None
    assert by_owner["purged_at"] == "2026-03-31T12:00:00Z"
    assert by_reaper["deleted_at"] == by_reaper["swept_at"] == "2026-03-01T12:01:00Z"
    assert by_reaper["purged_at"] is None  # without an archive it stays


async def test_a_swept_link_answers_410_and_one_that_was_deleted_404(place, clock, sweep):
    thrown, expired = await place.make(f"{URL}/1"), await place.make(f"{URL}/2", expires_in=60)
    await place.delete(thrown)
    clock.advance(minutes=1)
    await sweep()
    assert (await place.follow(thrown)).status_code == 404
    assert (await place.follow(expired)).status_code == 410


async def test_a_swept_link_that_is_banned_says_so(place, clock, sweep, kurz):
    link = await place.make(expires_in=60)
    clock.advance(minutes=1)
    await sweep()
    assert code_of(await place.follow(link)) == (410, "link-expired")
    await kurz.bans.ban_link(await kurz.links.get(link["id"], Scope()), None, OPERATOR)
    assert code_of(await place.follow(link)) == (410, "link-banned")


@pytest.mark.parametrize("expires_at", [None, "2026-03-02T00:00:00Z"])
async def test_a_swept_link_is_restored_for_ever_or_until_then(place, clock, sweep, expires_at):
    link = await place.make(expires_in=60)
    clock.advance(minutes=1)
    await sweep()
    restored = (await place.restore(link, json={"expires_at": expires_at})).json()
    assert restored["status"] == "ACTIVE"
    assert restored["expires_at"] == expires_at
    assert (restored["deleted_at"], restored["swept_at"]) == (None, None)
    assert (await place.follow(link)).status_code == 302
    clock.advance(hours=12)
    assert (await place.follow(link)).status_code == (302 if expires_at is None else 410)


async def test_an_expired_link_is_extended_within_its_grace_and_not_from_the_trash(
    place, clock, sweep, kurz, people
):
    link = await place.make(expires_in=60)
    clock.advance(days=6)
    place.person = people.sign_in(place.person.account)
    await SqlReaperStore(kurz.database, clock, timedelta(days=365)).mark_expired(clock.now(), 1000)
    assert (await place.follow(link)).status_code == 410
    extended = (await place.edit(link, expires_at="2026-03-08T00:00:00Z")).json()
    assert (extended["status"], extended["expires_at"]) == ("ACTIVE", "2026-03-08T00:00:00Z")
    assert (await place.follow(link)).status_code == 302
    clock.advance(days=6)
    place.person = people.sign_in(place.person.account)
    await sweep()
    assert code_of(await place.edit(link, expires_at="2027-01-01T00:00:00Z")) == NOT_FOUND
    assert (await place.follow(link)).status_code == 410


async def test_a_link_is_deleted_for_ever_only_from_the_trash(place, kurz):
    link, other = await place.make(f"{URL}/1", tags=["x"]), await place.make(f"{URL}/2", tags=["x"])
    assert code_of(await place.purge(link)) == NOT_FOUND
    assert (await place.follow(link)).status_code == 302
    await place.delete(link)
    assert (await place.purge(link)).status_code == 204
    for answer in (await place.get(link), await place.restore(link), await place.purge(link)):
        assert code_of(answer) == NOT_FOUND
    assert (await place.follow(link)).status_code == 404
    assert (await place.follow(other)).status_code == 302

    def left(connection: sa.Connection) -> list[int]:
        tables = links, history, link_tags
        return [
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in tables
        ]

    assert await kurz.database.read(left) == [1, 0, 1]


async def test_deleting_for_ever_what_somebody_else_changed_is_refused(place):
    link = await place.make()
    await place.delete(link)
    for if_match in ('"1"', '"3"'):
        assert code_of(await place.purge(link, if_match)) == OUTDATED
    assert code_of(await place.purge(link, "nonsense"))[0] == 422
    assert (await place.purge(link, '"2"')).status_code == 204


@on_sqlite
async def test_a_link_that_was_taken_down_is_not_deleted_for_ever(desk, kurz, clock):
    link = await desk.make()
    found = await kurz.links.get(link["id"], Scope())
    await kurz.store.update(found, {"status": Status.BANNED}, clock.now())
    assert code_of(await desk.purge(link)) == (410, "link-banned")
    assert (await desk.empty_trash())["purged"] == 0
    assert (await desk.get(link)).json()["status"] == "BANNED"


async def test_emptying_takes_what_is_in_this_trash_and_nothing_else(desk, team, clock, sweep):
    kept = {}
    for place in (desk, team):
        live, thrown, _ = [
            await place.make(f"{URL}/{n}", **({"expires_in": 60} if n == 2 else {}))
            for n in range(3)
        ]
        await place.delete(thrown)
        kept[place] = live
    clock.advance(minutes=1)
    assert await sweep() == 2
    for place, other in ((desk, team), (team, desk)):
        others = await other.list_trash()
        assert await place.empty_trash() == {"purged": 2, "is_empty": True}
        assert await place.list_trash() == []
        assert await other.list_trash() == others
        assert await place.empty_trash() == {"purged": 0, "is_empty": True}
        assert (await place.get(kept[place])).json() == kept[place]


async def test_the_trash_of_others_is_nobodys_business(desk, team, people, clock):
    mine = await desk.make()
    await desk.delete(mine)
    desk.person = await people.add()
    assert code_of(await desk.purge(mine)) == NOT_FOUND
    assert await desk.empty_trash() == {"purged": 0, "is_empty": True}
    shared = await team.make()
    await team.delete(shared)
    owner = team.person
    team.person = await people.add()
    assert (await team.purge(shared)).status_code == 404
    assert (await team.ask("DELETE", team.trash)).status_code == 404
    workspace = await team.kurz.workspaces.find(team.workspace_id)
    await people.join(workspace, team.person, Role.VIEWER)
    clock.advance(minutes=1)
    assert (await team.purge(shared)).status_code == 403
    assert (await team.ask("DELETE", team.trash)).status_code == 403
    team.person = owner
    assert len(await team.list_trash()) == 1


async def test_a_list_of_acts_purges_too(place, people):
    live, thrown, kept = [await place.make(f"{URL}/{n}") for n in range(3)]
    await place.delete(thrown)
    await place.delete(kept)
    results = await place.bulk(
        {"action": "purge", "id": live["id"]},
        {"action": "purge", "id": kept["id"], "version": 1},
        {"action": "purge", "id": thrown["id"], "version": 2},
        {"action": "purge", "id": kept["id"], "changes": {}},
        {"action": "purge"},
    )
    assert [item["status"] for item in results] == [404, 412, 204, 422, 422]
    assert [link["id"] for link in await place.list_trash()] == [kept["id"]]
    key = await people.key(place.person, Permission.LINKS_CREATE)
    items = [{"action": "purge", "id": kept["id"]}]
    answer = await place.client.post(
        f"{place.links}/bulk", json={"items": items}, headers={"x-api-key": key}
    )
    assert [item["status"] for item in answer.json()["results"]] == [403]


async def test_a_purged_links_code_is_its_owners_to_take_again(place):
    link = await place.make(custom_code="mine")
    await place.delete(link)
    other = {"original_url": f"{URL}/other", "custom_code": "mine"}
    assert code_of(await place.ask("POST", place.links, json=other)) == (409, "custom-code-taken")
    await place.purge(link)
    again = await place.make(custom_code="mine")
    assert again["id"] != link["id"]
    assert (await place.follow(again)).status_code == 302


async def test_the_log_tells_who_deleted_for_ever(place):
    made = [await place.make(f"{URL}/{number}") for number in range(3)]
    for link in made:
        await place.delete(link)
    with capture_logs() as lines:
        assert (await place.purge(made[0])).status_code == 204
        await place.empty_trash()
        await place.empty_trash()  # nothing is left
    events = ("link permanently deleted", "trash emptied")
    one, many = [line for line in lines if line["event"] in events]
    assert one["link_id"] == made[0]["id"]
    assert many["links"] == 2
    assert one["account_id"] is not None
    assert one["account_id"] == many["account_id"]
