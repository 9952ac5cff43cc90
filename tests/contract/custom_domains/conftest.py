"""Real DNS, the service of custom domains, and two workspaces."""

from collections.abc import Awaitable, Callable, Iterator

import pytest

from kurz.outbound.dns import DnsTxtLookup
from kurz.people.custom_domains import CustomDomains, Domain
from kurz.wiring.core import Kurz
from servers.dns import DnsServer
from support.custom_domains import HOST, add_workspace, make_service


@pytest.fixture(scope="module")
def dns_server() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def dns(dns_server: DnsServer) -> DnsServer:
    """The server, knowing nothing."""
    dns_server._records.clear()
    dns_server.questions.clear()
    return dns_server


@pytest.fixture
def lookup(dns: DnsServer) -> DnsTxtLookup:
    return DnsTxtLookup((dns.address,))


@pytest.fixture
def service(kurz: Kurz, lookup: DnsTxtLookup) -> CustomDomains:
    return make_service(kurz, lookup)


@pytest.fixture
async def one(kurz: Kurz) -> int:
    """A workspace."""
    return await add_workspace(kurz, "one")


@pytest.fixture
async def other(kurz: Kurz) -> int:
    """Another workspace."""
    return await add_workspace(kurz, "other")


@pytest.fixture
def prove(dns: DnsServer, service: CustomDomains) -> Callable[..., Awaitable[Domain]]:
    """Adds a domain, puts the record that its instructions ask for, and verifies."""

    async def prove(workspace_id: int, host: str = HOST) -> Domain:
        name, value = service.instructions(await service.add(workspace_id, host))
        dns.put(name, value)
        return await service.verify(workspace_id, host)

    return prove
