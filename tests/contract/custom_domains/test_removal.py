"""Removed domains are kept from others for 30 days, on both engines."""

import asyncio
from dataclasses import replace

import pytest

from kurz.people.errors import DomainNotFound, DomainNotVerified, DomainTaken
from support.custom_domains import (
    BARELY_LESS,
    HOST,
    HeldLookup,
    delete_workspace,
    make_service,
    served,
)


async def test_a_waiting_domain_is_removed_without_a_trace(service, one, other):
    await service.add(one, HOST)
    await service.remove(one, HOST)
    assert await service.list(one) == []
    with pytest.raises(DomainNotFound):
        await service.get(one, HOST)
    assert await service.add(other, HOST)


async def test_a_removed_domain_stops_serving_at_once(kurz, service, prove, one):
    await prove(one)
    await service.remove(one, "GO.example.com")
    assert await served(kurz) == {}
    assert await service.list(one) == []
    assert (await service.get(one, HOST)).is_given_up
    with pytest.raises(DomainNotFound):
        await service.remove(one, HOST)


async def test_a_removed_domain_is_kept_from_others_for_30_days(
    kurz, dns, service, prove, one, other, clock
):
    waiting = await service.add(other, HOST)
    await prove(one)
    await service.remove(one, HOST)
    dns.put(*service.instructions(waiting))
    clock.advance(seconds=BARELY_LESS.total_seconds())
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    with pytest.raises(DomainTaken):
        await service.verify(other, HOST)
    assert await served(kurz) == {}
    clock.advance(microseconds=1)
    assert await service.add(other, HOST) == waiting
    assert (await service.verify(other, HOST)).is_active
    assert await served(kurz) == {HOST: other}


async def test_who_gave_it_up_comes_too_late_when_another_has_it(
    kurz, dns, service, prove, one, other, clock
):
    first = await prove(one)
    await service.remove(one, HOST)
    clock.advance(days=30)
    await prove(other)
    dns.put(*service.instructions(first))
    with pytest.raises(DomainTaken):
        await service.add(one, HOST)
    with pytest.raises(DomainTaken):
        await service.verify(one, HOST)
    assert await served(kurz) == {HOST: other}


async def test_the_same_workspace_takes_it_back_by_proving_it_again(
    kurz, service, prove, one, clock
):
    first = await prove(one)
    await service.remove(one, HOST)
    clock.advance(days=1)
    back = await service.verify(one, HOST)
    assert back == replace(first, checked_at=clock.now(), verified_at=clock.now())
    assert await service.list(one) == [back]
    assert await served(kurz) == {HOST: one}


async def test_adding_it_again_without_a_proof_neither_serves_nor_ends_the_quarantine(
    kurz, dns, service, prove, one, other, clock
):
    await prove(one)
    await service.remove(one, HOST)
    clock.advance(days=10)
    wanted = await service.add(one, HOST)
    assert not wanted.is_active
    assert await service.list(one) == [wanted]
    assert await served(kurz) == {}
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    await service.remove(one, HOST)
    assert await service.list(one) == []
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    clock.advance(days=20)
    assert await service.add(other, HOST)
    assert await service.add(one, HOST) == wanted
    assert (await prove(one)).removed_at is None


async def test_a_failed_proof_does_not_end_the_quarantine(dns, service, prove, one, other):
    await prove(one)
    await service.remove(one, HOST)
    dns.forget(f"_kurz.{HOST}")
    with pytest.raises(DomainNotVerified):
        await service.verify(one, HOST)
    assert (await service.get(one, HOST)).is_given_up
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)


@pytest.mark.parametrize("is_proved", [True, False], ids=["record there", "record gone"])
async def test_what_is_removed_during_a_lookup_stays_removed(
    kurz, dns, service, prove, lookup, one, is_proved
):
    await prove(one)
    if not is_proved:
        dns.forget(f"_kurz.{HOST}")
    held = HeldLookup(lookup)
    verifying = asyncio.create_task(make_service(kurz, held).verify(one, HOST))
    await held.is_requested.wait()
    await service.remove(one, HOST)
    removed = await service.get(one, HOST)
    held.may_answer.set()
    with pytest.raises(DomainNotFound if is_proved else DomainNotVerified):
        await verifying
    assert await service.get(one, HOST) == removed
    assert await served(kurz) == {}


async def test_a_deleted_workspace_serves_nothing_and_keeps_its_domain_for_30_days(
    kurz, service, prove, one, other, clock
):
    await prove(one)
    await delete_workspace(kurz, one)
    assert await served(kurz) == {}
    clock.advance(seconds=BARELY_LESS.total_seconds())
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    clock.advance(microseconds=1)
    await prove(other)
    assert await served(kurz) == {HOST: other}
