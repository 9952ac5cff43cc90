"""Several instances on one database: all of them answer alike, with and without what wakes them."""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

from kurz.people.limits import LIMITS, LimitClass
from kurz.storage.engine.deadlines import Deadlines
from servers.postgres import PostgresServer
from support.alike import change_with_wake_ups, change_without
from support.cut_off import BOUND_SECONDS, SLACK_SECONDS, CutOff, Story
from support.editor import Author
from support.instances import Installation
from support.outdated import check_first_answers, leave_outdated
from support.patience import PATIENT, as_environment
from support.slack import DEADLINES
from support.wake_ups import redis_cut


@pytest.fixture(params=["redis", pytest.param("database", marks=pytest.mark.long)])
def waker(request: pytest.FixtureRequest) -> str:
    """What instances wake each other by."""
    name: str = request.param
    return name


@pytest.fixture
def deadlines(request: pytest.FixtureRequest) -> Deadlines:
    """Those of the instances: patient, unless a test is about them."""
    found: Deadlines = getattr(request, "param", PATIENT)
    return found


@pytest.fixture
def installation(
    waker: str, deadlines: Deadlines, tmp_path: Path, postgres: PostgresServer, postgres_url: str
) -> Iterator[Installation]:
    name = postgres_url.rpartition("/")[2]
    has_redis, environment = waker == "redis", as_environment(deadlines)
    with Installation(tmp_path, postgres, name, has_redis=has_redis, **environment) as it:
        yield it


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_instances_count_creates_together_in_their_database(connect, tmp_path):
    """They have the secret in common, and no folder."""
    allowed = LIMITS[LimitClass.ANONYMOUS_CREATE][0].rate.count
    common = {"rate_limits": "on", "secret": token_hex(32)}
    clients = [await connect(**common, data_dir=tmp_path / name) for name in ("one", "two")]
    found = [
        (await client.post("/api/v1/links", json={"original_url": f"https://example.com/{number}"}))
        for number in range(allowed)
        for client in clients
    ]
    statuses = [answer.status_code for answer in found]
    assert statuses[:allowed] == [201] * allowed
    assert 429 in statuses[allowed:]


@pytest.mark.deadlines
def test_all_instances_know_of_every_change_within_a_second(installation):
    installation.add()
    installation.add()
    with Author(installation.programs) as author:
        assert change_with_wake_ups(installation, author, links=1, workspaces=1) == 15


@pytest.mark.long
@pytest.mark.parametrize("waker", ["redis"], indirect=True)
def test_an_instance_that_is_not_woken_knows_of_every_change_within_seconds(installation):
    installation.add()
    instance = installation.add_behind_proxies()
    with Author(installation.programs) as author:
        assert change_without(redis_cut, instance, installation, author, workspaces=1) == 6


@pytest.mark.deadlines
@pytest.mark.parametrize("deadlines", [DEADLINES], ids=["own deadlines"], indirect=True)
@pytest.mark.parametrize("waker", ["redis"], indirect=True)
def test_an_instance_cut_off_from_the_database_answers_nothing_that_is_no_longer_so(installation):
    other = installation.add(**as_environment(PATIENT))  # it is not the one that is looked at
    instance = installation.add_behind_proxies()
    with Author([other]) as author, CutOff(instance) as cut_off:
        story = Story(cut_off, installation, author)
        story.begin()
        with cut_off.cut():
            story.go_on()
            cut_off.watch(BOUND_SECONDS + SLACK_SECONDS + 2)
            cut_off.await_readiness(503)
            cut_off.report()
        print(f"right again after {cut_off.recover():.1f} s")
    assert '"exception"' not in installation.log()


@pytest.mark.parametrize("waker", ["redis"], indirect=True)
def test_a_new_instance_believes_nothing_outdated_in_redis(installation):
    instance = installation.add_behind_proxies()
    with Author([instance.program]) as author:
        answers = leave_outdated(installation, instance, author)
    check_first_answers(installation.add(), answers)
