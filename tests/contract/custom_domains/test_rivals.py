"""Several workspaces that want one domain, on both engines: one gets it."""

import asyncio

import pytest

from kurz.people.custom_domains import Domain
from kurz.people.errors import DomainNotFound, DomainNotVerified, DomainTaken
from support.custom_domains import HOST, add_workspace, served


async def test_several_may_wait_for_the_same_host_and_one_gets_it(kurz, service, prove, one, other):
    await service.add(other, HOST)
    await prove(one)
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    with pytest.raises(DomainTaken):
        await prove(other)
    assert [domain.is_active for domain in await service.list(other)] == [False]
    assert await served(kurz) == {HOST: one}


async def test_a_taken_domain_cannot_be_added_nor_verified(kurz, dns, service, prove, one, other):
    waiting = await service.add(other, HOST)
    await prove(one)
    dns.put(*service.instructions(waiting))  # the record is right, but it comes second
    with pytest.raises(DomainTaken):
        await service.verify(other, HOST)
    assert await service.list(other) == [waiting]
    assert await served(kurz) == {HOST: one}


async def test_who_loses_the_record_loses_the_domain(kurz, dns, service, prove, one, other):
    waiting = await service.add(other, HOST)
    await prove(one)
    dns.put(*service.instructions(waiting))
    with pytest.raises(DomainNotVerified):
        await service.verify(one, HOST)
    assert (await service.verify(other, HOST)).is_active
    assert await served(kurz) == {HOST: other}


async def test_of_verifications_at_once_one_wins(kurz, dns, service):
    workspaces = [await add_workspace(kurz, f"team-{number}") for number in range(4)]
    hosts = [f"h{number}.example.com" for number in range(10)]
    for host in hosts:
        domains = [await service.add(workspace_id, host) for workspace_id in workspaces]
        records = [service.instructions(domain) for domain in domains]
        dns.put(records[0].name, *(record.value for record in records))
    outcomes = await asyncio.gather(
        *(service.verify(workspace_id, host) for host in hosts for workspace_id in workspaces),
        return_exceptions=True,
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, Domain)]
    losers = [outcome for outcome in outcomes if not isinstance(outcome, Domain)]
    assert sorted(winner.host for winner in winners) == hosts
    assert {type(loser) for loser in losers} == {DomainTaken}
    assert await served(kurz) == {winner.host: winner.workspace_id for winner in winners}


async def test_adding_at_once_makes_one(service, one):
    added = await asyncio.gather(*(service.add(one, HOST) for _ in range(10)))
    assert await service.list(one) == [added[0]]
    assert set(added) == {added[0]}


async def test_a_workspace_does_not_see_the_domains_of_another(service, prove, one, other):
    await prove(one)
    assert await service.list(other) == []
    for act in (service.get, service.verify, service.remove):
        with pytest.raises(DomainNotFound):
            await act(other, HOST)
    assert [domain.is_active for domain in await service.list(one)] == [True]
