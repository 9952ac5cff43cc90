"""Several instances on one database, hundreds of changes, and long faults: the same answers."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from kurz.wiring.shared import RECENT_WRITES_LOOK_BACK
from servers.postgres import PostgresPair, PostgresServer
from support.alike import change_with_wake_ups, change_without
from support.cut_off import CutOff, Story
from support.editor import Author
from support.every_worker import BOUND_SECONDS, SLACK_SECONDS
from support.instances import Installation
from support.outdated import check_first_answers, leave_outdated
from support.wake_ups import (
    Silence,
    listeners_ended,
    listeners_swallowed,
    redis_cut,
    redis_swallowed,
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SILENCES: dict[tuple[str, int], Silence] = {
    ("redis", 2): redis_cut,
    ("redis", 3): redis_swallowed,
    ("database", 2): listeners_ended,
    ("database", 3): listeners_swallowed,
}


@pytest.fixture(params=["redis", "database"])
def waker(request: pytest.FixtureRequest) -> str:
    """What instances wake each other by."""
    name: str = request.param
    return name


@pytest.fixture
def installation(
    waker: str, tmp_path: Path, postgres: PostgresServer, postgres_url: str
) -> Iterator[Installation]:
    name = postgres_url.rpartition("/")[2]
    with Installation(tmp_path, postgres, name, has_redis=waker == "redis") as it:
        yield it


@pytest.mark.parametrize("instances", [2, 3])
def test_hundreds_of_changes_are_known_everywhere_within_a_second_and_without_wake_ups_within_five(
    installation, waker, instances
):
    for _ in range(instances - 1):
        installation.add()
    instance = installation.add_behind_proxies()
    silence = SILENCES[waker, instances]
    with Author(installation.programs) as author:
        print(f"\n{instances} instances, woken by: {waker}")
        changes = change_with_wake_ups(
            installation, author, links=15, expiries=5, commands=4, workspaces=6
        )
        assert changes >= 200
        print(silence.__name__)
        changes = change_without(
            silence, instance, installation, author, links=20, commands=2, workspaces=2
        )
        assert changes >= 200


def test_an_instance_cut_off_for_longer_than_a_minute_never_goes_back(installation):
    other = installation.add()
    instance = installation.add_behind_proxies()
    with Author([other]) as author, CutOff(instance) as cut_off:
        story = Story(cut_off, installation, author)
        story.begin()
        with cut_off.cut():
            story.go_on()
            cut_off.watch(75)
            cut_off.await_readiness(503)
            cut_off.report()
        print(f"right again after {cut_off.recover():.1f} s")
    assert '"exception"' not in installation.log()


@pytest.mark.parametrize("waker", ["redis"], indirect=True)
def test_a_new_instance_doubts_what_is_older_than_the_changes_it_hears_of(installation):
    instance = installation.add_behind_proxies()
    with Author([instance.program]) as author:
        answers = leave_outdated(installation, instance, author)
    installation.write_to_the_log(RECENT_WRITES_LOOK_BACK + 1)
    check_first_answers(installation.add(), answers)


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with PostgresPair(synchronous=False) as servers:
        yield servers


@pytest.fixture
def replicated(waker: str, tmp_path: Path, pair: PostgresPair) -> Iterator[Installation]:
    """Two instances that read from a standby as well."""
    with Installation(
        tmp_path,
        pair.primary,
        "postgres",
        has_redis=waker == "redis",
        KURZ_DATABASE_REPLICA_URLS=pair.standby.url(),
    ) as it:
        it.add()
        it.add()
        yield it


def test_a_replica_that_is_behind_delays_no_answer(replicated, pair):
    rounds = {"links": 5, "workspaces": 2}
    with Author(replicated.programs) as author:
        assert change_with_wake_ups(replicated, author, **rounds) >= 50
        pair.standby.pause_replay()
        assert change_with_wake_ups(replicated, author, **rounds) >= 50
        pair.standby.resume_replay()


def test_lists_hold_what_was_just_written_however_far_a_replica_is_behind(replicated, pair):
    one, another = replicated.programs
    delays = []
    with Author([one]) as author, one.client() as here, another.client() as there:
        for client in (here, there):
            client.headers.update(author.headers)
        time.sleep(2)  # until the replica may be asked
        for number in range(40):
            if number == 20:
                pair.standby.pause_replay()
            made = here.post("/api/v1/links", json={"original_url": f"https://a.example/{number}"})
            since, link_id = time.monotonic(), made.json()["id"]
            assert link_id == first_id(here)
            while first_id(there) != link_id:
                assert time.monotonic() - since < BOUND_SECONDS + SLACK_SECONDS
            delays.append(time.monotonic() - since)
        pair.standby.resume_replay()
    print(f"{max(delays) * 1000:.0f} ms at most until another instance lists it")


def first_id(client: httpx2.Client) -> int:
    newest: int = client.get("/api/v1/links").json()["links"][0]["id"]
    return newest
