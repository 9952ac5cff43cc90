"""Replicas answer what they surely know, and never with what is older than what was heard of."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import asyncpg
import pytest

from kurz.errors import StoreUnavailable
from kurz.freshness.recent_writes import RecentWrites
from kurz.links.model import Filter, Link, Scope, Status
from kurz.settings.model import Settings
from kurz.storage.engine.changes import SqlChangeLog
from kurz.storage.engine.deadlines import USUAL, Deadlines
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.links.store import SqlLinkStore
from kurz.storage.routes.lookups import Lookups
from kurz.storage.routes.postgres import PostgresRouteStore
from kurz.storage.routes.replicas import Replica, Replicas, XidPositions
from kurz.wiring.engine import prepare
from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresPair
from support.links import NOW, link
from support.patience import PATIENT
from support.slack import slack

pytestmark = pytest.mark.deadlines

TEAM = 7
LATE_SECONDS = slack(0.4)
RECOVERY_SECONDS = slack(5.0)


@pytest.fixture(scope="module")
def running_pair() -> Iterator[PostgresPair]:
    with PostgresPair(synchronous=False, fsync="off") as pair:
        yield pair


@pytest.fixture
def pair(running_pair: PostgresPair) -> Iterator[PostgresPair]:
    yield running_pair
    running_pair.standby.resume_replay()


class Installation:
    """A store with a replica, and the change log followed by hand. The replica is reached through
    a proxy, the primary through another."""

    def __init__(self, pair: PostgresPair, name: str, deadlines: Deadlines) -> None:
        self.pair = pair
        self.name = name
        self.to_primary, self.to_replica = (
            FaultProxy(server.port) for server in (pair.primary, pair.standby)
        )
        for proxy in (self.to_primary, self.to_replica):
            proxy.start()
        self.database = PostgresDatabase(self._url(self.to_primary, name), deadlines=PATIENT)
        self.recent_writes = RecentWrites()
        self.replica = Replica(self._url(self.to_replica, name), deadlines)
        self.replicas = Replicas([self.replica], self.database, self.recent_writes)
        self.store = SqlLinkStore(self.database, self.replicas)
        self.lookups = Lookups(self.database.hosts, seconds=PATIENT.lookup_seconds)
        self.routes = PostgresRouteStore(self.lookups, self.replicas)
        self._heard = 0
        # What this process writes is told at once, without a number.
        self.database.on_commit = lambda changes: self.recent_writes.on_changes(
            [(0, it) for it in changes]
        )

    def _url(self, proxy: FaultProxy, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"

    async def on_changes(self) -> None:
        """Reads the log up to its end."""
        rows = await SqlChangeLog(self.database).read(self._heard, 10_000)
        self.recent_writes.on_changes(rows)
        self._heard = max((number for number, _ in rows), default=self._heard)
        self.recent_writes.on_caught_up(self._heard)

    async def catch_up(self) -> None:
        """The log is heard, and the replica has all of it."""
        await self.on_changes()
        await self.replicas.record_position()
        await asyncio.to_thread(self.pair.catch_up)

    async def make(self, code: str, **fields) -> Link:
        new = team_link(code, **fields)
        link_id = await self.store.insert(new)
        assert link_id is not None
        return replace(new, id=link_id)

    async def titles(self, scope: Scope) -> list[str]:
        found = (await self.store.list(scope, Filter(), NOW, limit=100)).links
        return sorted(item.title or "" for item in found)

    async def close(self) -> None:
        self.routes.close()
        await self.replicas.close()
        await self.database.close()
        for proxy in (self.to_primary, self.to_replica):
            proxy.stop()


def team_link(code: str, **fields) -> Link:
    return link(code, **{"workspace_id": TEAM, "title": code, **fields})


@pytest.fixture
async def installation(
    pair: PostgresPair, request: pytest.FixtureRequest
) -> AsyncIterator[Installation]:
    name = f"kurz_{uuid4().hex}"
    pair.primary.create_database(name)
    await prepare(Settings(database_url=pair.primary.url(name)), upgrades_postgres=False)
    await asyncio.to_thread(pair.catch_up)
    installation = Installation(pair, name, getattr(request, "param", PATIENT))
    yield installation
    await installation.close()


async def location(installation: Installation, code: str) -> str | None:
    route = await installation.routes.find(TEAM, code)
    return None if route is None else route.location


async def replica_answers(installation: Installation, ask: Callable[[], Awaitable[object]]) -> None:
    """Asks until the answer is the replica's. A busy machine may need longer than a replica has,
    above all to connect; then it is the primary's."""
    started, before = time.monotonic(), installation.replicas.counts()["replica_answers"]
    while installation.replicas.counts()["replica_answers"] == before:
        assert time.monotonic() - started < RECOVERY_SECONDS
        await ask()


# Lookups


async def test_a_replica_that_has_all_is_asked_instead_of_the_primary(installation):
    await installation.make("abc")
    await installation.catch_up()
    for _ in range(5):
        assert await location(installation, "abc") == "https://example.com/abc"
    assert installation.lookups.queries == 0
    assert installation.replica.lookups.queries == 5


async def test_a_replica_is_not_believed_before_the_log_was_heard(installation, pair):
    await installation.make("abc")
    await asyncio.to_thread(pair.catch_up)
    assert await location(installation, "abc") == "https://example.com/abc"
    assert installation.lookups.queries == 1


@pytest.mark.parametrize("is_read_back", [True, False])
async def test_no_write_that_was_heard_of_is_missed_because_replay_is_late(
    installation, pair, is_read_back
):
    made = await installation.make("abc")
    other = await installation.make("other")
    await installation.catch_up()
    pair.standby.pause_replay()
    new = {"original_url": "https://new.example/", "location": "https://new.example/"}
    edited = await installation.store.update(made, new, NOW)
    await installation.make("young")
    if is_read_back:
        await installation.on_changes()
        await installation.replicas.record_position()
    assert await location(installation, "abc") == "https://new.example/"
    assert await location(installation, "young") == "https://example.com/young"
    assert installation.lookups.queries == 2
    assert await location(installation, "other") == other.location
    assert installation.lookups.queries == 2  # nothing was heard of it: the replica is believed
    await installation.store.update(edited, {"status": Status.DELETED, "deleted_at": NOW}, NOW)
    route = await installation.routes.find(TEAM, "abc")
    assert route is not None
    assert route.status == Status.DELETED


async def test_a_replica_that_lacks_what_was_missed_is_not_believed(installation, pair):
    """After a start, say: nothing is known of single codes."""
    made = await installation.make("abc")
    await installation.catch_up()
    pair.standby.pause_replay()
    new = {"original_url": "https://new.example/", "location": "https://new.example/"}
    await installation.store.update(made, new, NOW)
    last = await SqlChangeLog(installation.database).last()
    installation.recent_writes.reset(last)
    await installation.replicas.record_position()
    assert await location(installation, "abc") == "https://new.example/"
    assert installation.lookups.queries == 1
    pair.standby.resume_replay()
    await asyncio.to_thread(pair.catch_up)
    assert await location(installation, "abc") == "https://new.example/"
    assert installation.lookups.queries == 1


async def test_a_change_that_is_committed_late_under_a_low_number_is_not_missed(installation, pair):
    """The highest number in a replica's log does not tell that it has all below."""
    made = await installation.make("abc")
    await installation.catch_up()
    slow = await asyncpg.connect(pair.primary.url(installation.name))
    late = slow.transaction()
    await late.start()
    await slow.execute(
        "UPDATE links SET version = 2, location = 'https://new.example/' WHERE id = $1", made.id
    )
    row = "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
    await slow.execute(row + " VALUES ($1, $2, 'abc', 2, 0)", made.id, TEAM)
    await installation.make("later")
    await asyncio.to_thread(pair.catch_up)
    pair.standby.pause_replay()
    await late.commit()
    await slow.close()
    last = await SqlChangeLog(installation.database).last()
    installation.recent_writes.reset(last)
    await installation.replicas.record_position()
    assert await location(installation, "abc") == "https://new.example/"


async def test_only_the_primary_says_that_there_is_no_such_link(installation):
    await installation.catch_up()
    assert await location(installation, "none") is None
    assert installation.lookups.queries == 1


async def test_without_the_primary_a_replica_answers_what_it_knows_for_sure(installation, pair):
    made = await installation.make("abc")
    await installation.make("old")
    await installation.catch_up()
    pair.standby.pause_replay()
    new = {"original_url": "https://new.example/", "location": "https://new.example/"}
    await installation.store.update(made, new, NOW)
    installation.to_primary.cut()
    assert await location(installation, "old") == "https://example.com/old"
    for code in ("abc", "none"):
        with pytest.raises(StoreUnavailable):
            await location(installation, code)


TROUBLES: dict[str, Callable[[FaultProxy], None]] = {
    "cut": FaultProxy.cut,
    "black hole": FaultProxy.black_hole,
}


@pytest.mark.parametrize("installation", [USUAL], ids=["usual deadlines"], indirect=True)
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_a_replica_that_is_out_costs_a_moment_and_then_nothing(installation, trouble):
    await installation.make("abc")
    await installation.catch_up()
    await replica_answers(installation, lambda: location(installation, "abc"))
    asked = installation.lookups.queries
    trouble(installation.to_replica)
    for _ in range(20):
        started = time.monotonic()
        assert await location(installation, "abc") == "https://example.com/abc"
        assert time.monotonic() - started < 0.1 + LATE_SECONDS
        assert await installation.titles(Scope(TEAM)) == ["abc"]
    assert installation.lookups.queries == asked + 20
    assert installation.replica.lookups_breaker.is_open
    assert installation.replica.lists_breaker.is_open
    installation.to_replica.pass_on()
    started = time.monotonic()
    while installation.replica.lookups_breaker.is_open:
        assert time.monotonic() - started < RECOVERY_SECONDS
        await asyncio.sleep(0.1)
        assert await location(installation, "abc") == "https://example.com/abc"


# Lists


@pytest.mark.parametrize("scope", [Scope(TEAM), Scope(0, 5)], ids=["workspace", "personal"])
async def test_a_list_shows_every_write_of_its_own_process_at_once(installation, pair, scope):
    place = {"workspace_id": scope.workspace_id, "owner_id": scope.owner_id}
    made = await installation.make("a", **place)
    await installation.catch_up()
    assert await installation.titles(scope) == ["a"]
    pair.standby.pause_replay()
    await installation.make("b", **place)
    assert await installation.titles(scope) == ["a", "b"]
    await installation.on_changes()
    await installation.replicas.record_position()
    assert await installation.titles(scope) == ["a", "b"]
    await installation.store.update(made, {"title": "c"}, NOW)
    assert await installation.titles(scope) == ["b", "c"]
    pair.standby.resume_replay()
    await installation.catch_up()
    assert await installation.titles(scope) == ["b", "c"]


async def test_lists_are_read_on_a_replica_that_has_all_of_their_workspace(installation, pair):
    await installation.make("a")
    await installation.catch_up()
    await replica_answers(installation, lambda: installation.titles(Scope(TEAM)))
    installation.to_primary.cut()
    assert await titles_of_the_replica(installation, Scope(TEAM)) == ["a"]
    for scope in (Scope(), Scope(None, 5)):  # of no workspace that could be followed
        with pytest.raises(StoreUnavailable):
            await installation.titles(scope)
    installation.to_primary.pass_on()
    pair.standby.pause_replay()
    await installation.make("x", workspace_id=8)
    installation.to_primary.cut()
    assert await titles_of_the_replica(installation, Scope(TEAM)) == ["a"]
    with pytest.raises(StoreUnavailable):
        await installation.titles(Scope(8))


async def titles_of_the_replica(installation: Installation, scope: Scope) -> list[str]:
    """While the primary is out. A busy machine may need longer than a list may take there."""
    started = time.monotonic()
    while True:
        try:
            return await installation.titles(scope)
        except StoreUnavailable:
            assert time.monotonic() - started < RECOVERY_SECONDS
            await asyncio.sleep(0.05)


def test_a_snapshot_holds_the_log_up_to_the_newest_mark_it_has_passed():
    known = XidPositions()
    assert known.position_at(10**9) == -1
    for next_xid, position in ((100, 5), (100, 7), (110, 7), (120, 9)):
        known.add(next_xid, position)
    positions = [known.position_at(xid) for xid in (99, 100, 109, 110, 119, 120, 10**9)]
    assert positions == [-1, 7, 7, 7, 7, 9, 9]


async def test_replicas_take_turns(pair, installation):
    members = [Replica(pair.standby.url(installation.name), PATIENT) for _ in range(3)]
    replicas = Replicas(members, installation.database, installation.recent_writes)
    await installation.make("abc")
    await installation.catch_up()
    await replicas.record_position()
    for _ in range(6):
        assert await replicas.find(TEAM, "abc") is not None
    assert [it.lookups.queries for it in members] == [2, 2, 2]
    await replicas.close()


async def test_a_replica_that_cannot_even_be_asked_is_passed_over(installation):
    """Its schema may be of yesterday, its address a mistake."""
    members = [
        Replica(url, PATIENT) for url in (installation.pair.standby.url(), "postgresql://h:port/x")
    ]
    replicas = Replicas(members, installation.database, installation.recent_writes)
    store = SqlLinkStore(installation.database, replicas)
    made = await installation.make("abc")
    await installation.catch_up()
    await replicas.record_position()
    for _ in range(4):
        assert await replicas.find(TEAM, "abc") is None
        assert (await store.list(Scope(TEAM), Filter(), NOW, limit=10)).links == [made]
    await replicas.close()


async def test_a_promoted_replica_is_not_believed(installation):
    """Its transactions are its own from then on."""
    former = Replica(installation.pair.primary.url(installation.name), PATIENT)
    replicas = Replicas([former], installation.database, installation.recent_writes)
    await installation.make("abc")
    await installation.catch_up()
    await replicas.record_position()
    assert await replicas.find(TEAM, "abc") is None
    assert await replicas.read(TEAM, lambda _: True) is None
    await replicas.close()
