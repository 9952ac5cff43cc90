"""Active domains are looked for again every day, over real DNS, on both engines."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.jobs.checks.domains import AT_ONCE, MANY, DomainChecks
from kurz.people.custom_domains import CustomDomains
from kurz.storage.schema.links import changes
from kurz.wiring.core import Kurz, open_custom_domains
from servers.dns import DnsServer, Trouble
from support.engines import without_redis
from support.people import People

engine = without_redis  # domains are in a database


@pytest.fixture
def dns() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def service(kurz: Kurz, dns: DnsServer) -> CustomDomains:
    return open_custom_domains(
        replace(kurz, settings=replace(kurz.settings, dns_servers=(dns.address,)))
    )


@pytest.fixture
def checks(service, clock) -> DomainChecks:
    return DomainChecks(service, clock)


@pytest.fixture
async def team(people: People) -> int:
    return (await people.workspace(await people.add())).id


@pytest.fixture
def prove(service: CustomDomains, dns: DnsServer) -> Callable[[int, str], Awaitable[str]]:
    """Makes an active domain; gives the name of its record."""

    async def prove(workspace_id: int, host: str) -> str:
        name, value = service.instructions(await service.add(workspace_id, host))
        dns.put(name, value)
        assert (await service.verify(workspace_id, host)).is_active
        return name

    return prove


async def served(kurz: Kurz) -> set[str]:
    return set(await kurz.workspaces.verified_sites())


NOBODY = {"found": 0, "missing": 0, "lost": 0, "unanswered": 0}


async def test_a_domain_whose_record_is_gone_for_three_days_serves_nothing(
    kurz, checks, service, dns, prove, team, clock
):
    kept = {f"kept{number}.example.com" for number in range(2)}
    for host in kept:
        await prove(team, host)
    lost = [await prove(team, f"lost{number}.example.com") for number in range(2)]
    hosts = {"lost0.example.com", "lost1.example.com"}
    dns.forget(lost[0])
    dns.put(lost[1], "kurz-verification=of-somebody-else")
    for _ in range(2):
        clock.advance(days=1)
        assert await checks.run() == NOBODY | {"found": 2, "missing": 2}
        assert await served(kurz) == kept | hosts
    clock.advance(days=1)
    with capture_logs() as lines:
        assert await checks.run() == {"found": 2, "missing": 2, "lost": 2, "unanswered": 0}
    assert await served(kurz) == kept
    assert {line["host"] for line in lines} == hosts
    since = {domain.host: domain.missing_since for domain in await service.list(team)}
    assert since == dict.fromkeys(kept) | dict.fromkeys(hosts, clock.now() - timedelta(days=2))
    clock.advance(days=1)
    assert await checks.run() == NOBODY | {"found": 2, "missing": 2}  # they are lost already


async def test_a_record_that_is_back_in_between_counts_anew(
    kurz, checks, service, dns, prove, team
):
    name = await prove(team, "go.example.com")
    [domain] = await service.list(team)
    for is_there in (False, False, True, False, False):
        kurz.clock.advance(days=1)
        if is_there:
            dns.put(*service.instructions(domain))
        else:
            dns.put(name, "something else")
        result = "found" if is_there else "missing"
        assert await checks.run() == NOBODY | {result: 1}
    assert await served(kurz) == {"go.example.com"}


@pytest.mark.parametrize("number", [MANY - 1, MANY])
async def test_if_most_are_missing_the_name_servers_may_be_wrong(
    kurz, checks, service, dns, prove, team, clock, number
):
    """Of a few domains, all may be missing indeed."""
    names = [await prove(team, f"go{item}.example.com") for item in range(number)]
    for name in names:
        dns.forget(name)
    days = 7 if number == MANY else 2
    for _ in range(days):
        clock.advance(days=1)
        assert await checks.run() == NOBODY | {"missing": number}
        assert len(await served(kurz)) == number
    clock.advance(days=1)
    assert await checks.run() == NOBODY | {"missing": number, "lost": number}
    assert await served(kurz) == set()


async def lose(checks: DomainChecks, clock) -> None:
    for lost in (0, 0, 1):
        clock.advance(days=1)
        assert (await checks.run())["lost"] == lost


async def test_a_domain_comes_back_when_its_record_does(
    kurz, checks, service, dns, prove, team, clock
):
    dns.forget(await prove(team, "go.example.com"))
    await lose(checks, clock)
    [waiting] = await service.list(team)
    assert waiting.verified_at is None
    clock.advance(days=27)
    dns.put(*service.instructions(waiting))
    assert await checks.run() == NOBODY | {"found": 1}
    assert await served(kurz) == {"go.example.com"}
    [back] = await service.list(team)
    assert (back.verified_at, back.missing_since) == (clock.now(), None)


async def test_a_lost_domain_is_not_looked_for_for_ever(checks, dns, prove, team, clock):
    dns.forget(await prove(team, "go.example.com"))
    await lose(checks, clock)
    clock.advance(days=28)
    assert await checks.run() == NOBODY | {"missing": 1}
    clock.advance(days=1)
    assert await checks.run() == NOBODY


async def test_a_lost_domain_that_another_workspace_has_proved_stays_theirs(
    kurz, checks, service, dns, prove, people, team, clock
):
    name = await prove(team, "go.example.com")
    [ours] = await service.list(team)
    dns.forget(name)
    await lose(checks, clock)
    other = (await people.workspace(await people.add(), "other")).id
    await prove(other, "go.example.com")
    dns.put(*service.instructions(ours))
    clock.advance(days=1)
    await checks.run()
    sites = await kurz.workspaces.verified_sites()
    assert sites["go.example.com"].workspace_id == other


async def test_what_somebody_has_verified_since_is_not_missed(service, dns, prove, team, clock):
    name = await prove(team, "go.example.com")
    dns.forget(name)
    [seen] = await service.list(team)
    clock.advance(days=1)
    dns.put(*service.instructions(seen))
    verified = await service.verify(team, "go.example.com")
    assert not await service.miss(seen, timedelta(0))
    assert await service.list(team) == [verified]


@pytest.mark.parametrize("trouble", [Trouble.SERVFAIL, Trouble.REFUSED, Trouble.GARBAGE])
async def test_name_servers_that_do_not_answer_change_nothing(
    kurz, checks, service, dns, prove, team, clock, trouble
):
    dns.trouble(await prove(team, "go.example.com"), trouble)
    before = await service.list(team)
    clock.advance(days=1)
    assert await checks.run() == NOBODY | {"unanswered": 1}
    assert await served(kurz) == {"go.example.com"}
    assert await service.list(team) == before


async def test_each_is_looked_for_once_a_day_and_nobody_is_told_of_no_change(
    kurz, checks, dns, prove, team, clock
):
    def changes_so_far(connection: sa.Connection) -> int:
        return connection.execute(sa.select(sa.func.count()).select_from(changes)).scalar_one()

    for number in range(AT_ONCE + 1):
        await prove(team, f"go{number}.example.com")
    before = await kurz.database.read(changes_so_far)
    assert await checks.run() == NOBODY
    clock.advance(hours=20, microseconds=1)
    assert await checks.run() == NOBODY | {"found": AT_ONCE + 1}
    dns.questions.clear()
    assert await checks.run() == NOBODY
    assert dns.questions == []
    assert await kurz.database.read(changes_so_far) == before


async def test_domains_that_serve_nothing_are_left_alone(
    kurz, checks, service, dns, prove, people, team, clock
):
    await service.add(team, "waiting.example.com")
    await prove(team, "removed.example.com")
    await service.remove(team, "removed.example.com")
    deleted = await people.workspace(await people.add(), "deleted")
    await prove(deleted.id, "deleted.example.com")
    await kurz.teams.delete(deleted)
    clock.advance(days=1)
    dns.questions.clear()
    assert await checks.run() == NOBODY
    assert dns.questions == []


async def test_what_the_time_does_not_suffice_for_is_first_the_next_time(
    service, dns, prove, team, clock
):
    hosts = []
    for number in reversed(range(AT_ONCE + 2)):
        hosts.append(f"go{number}.example.com")
        await prove(team, hosts[-1])
        clock.advance(seconds=1)
    clock.advance(days=1)
    late = await service.list_unchecked(clock.now() - timedelta(hours=20), clock.now())
    assert [domain.host for domain in late] == hosts
    assert sum((await DomainChecks(service, clock, run_seconds=0).run()).values()) == 0
