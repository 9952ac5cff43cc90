"""What proxies and receipts are told about domains, on both engines."""

import pytest

from kurz.people.custom_domains import CustomDomains
from kurz.people.domains import Domains
from kurz.people.errors import DomainTaken
from kurz.people.receipts import AlreadyAnswered, Receipt
from kurz.storage.links.receipts import SqlReceiptStore
from support.custom_domains import HOST, KEY, delete_workspace, make_service


async def test_a_proxy_is_told_of_active_domains_only(kurz, service, prove, lookup, one, other):
    await prove(one)
    await prove(one, "removed.example.com")
    await prove(other, "deleted.example.com")
    await service.add(one, "waiting.example.com")
    await service.remove(one, "removed.example.com")
    await delete_workspace(kurz, other)
    fresh = make_service(kurz, lookup)
    for host in (HOST, "GO.Example.com."):
        assert await fresh.is_allowed(host)
    for host in ("removed", "deleted", "waiting", "unknown"):
        assert not await fresh.is_allowed(f"{host}.example.com")
    for host in ("", "kurz.example", "example.com", f"{HOST}:443", "\ud800", HOST + "\x00"):
        assert not await fresh.is_allowed(host)


async def test_asking_for_many_hosts_costs_one_query(kurz, service, one):
    class Counted:
        def __init__(self) -> None:
            self.count = 0

        async def verified_sites(self):
            self.count += 1
            return await kurz.workspaces.verified_sites()

    counted = Counted()
    domains = Domains(counted)
    asked = CustomDomains(None, None, domains, kurz.clock, key=KEY, base_url=None)  # type: ignore[arg-type]
    for number in range(100):
        assert not await asked.is_allowed(f"h{number}.example.com")
    assert counted.count <= 2


async def test_a_receipt_is_kept_with_the_domain(kurz, service, one, clock):
    def receipt(key: bytes) -> Receipt:
        return Receipt("account:1", key, b"print", clock.now(), lambda made: made.host.encode())

    async def find(key: bytes) -> bytes | None:
        found = await SqlReceiptStore(kurz.database).find("account:1", key, clock.now())
        return None if found is None else found.answer

    await service.add(one, HOST, receipt(b"first"))
    await service.add(one, HOST, receipt(b"second"))
    assert [await find(key) for key in (b"first", b"second")] == [HOST.encode()] * 2
    with pytest.raises(AlreadyAnswered):
        await service.add(one, "a.example.com", receipt(b"first"))
    assert [domain.host for domain in await service.list(one)] == [HOST]


async def test_a_taken_domain_leaves_no_receipt(kurz, service, prove, one, other, clock):
    await prove(one)
    receipt = Receipt("account:1", b"key", b"print", clock.now(), lambda _: b"made")
    with pytest.raises(DomainTaken):
        await service.add(other, HOST, receipt)
    assert await SqlReceiptStore(kurz.database).find("account:1", b"key", clock.now()) is None
