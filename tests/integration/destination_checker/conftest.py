"""A destination checker with real DNS, a web server outside, and one inside."""

from collections.abc import AsyncIterator, Iterator

import pytest

from kurz.outbound.checker import DestinationChecker
from servers.dns import DnsServer
from servers.web import WebServer, says
from support.checking import INSIDE, OUTSIDE, make_checker


@pytest.fixture(scope="module")
def dns_server() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def dns(dns_server: DnsServer) -> DnsServer:
    """The server, knowing one name outside and one inside."""
    dns_server.clear()
    dns_server.put_addresses("site.example", OUTSIDE)
    dns_server.put_addresses("inside.example", INSIDE)
    return dns_server


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    """A server outside."""
    async with WebServer(OUTSIDE) as server:
        yield server


@pytest.fixture
async def inner(web: WebServer) -> AsyncIterator[WebServer]:
    """A server inside, on the same port. Nobody is to come."""
    async with WebServer(INSIDE, web.port, fallback=says(200)) as server:
        yield server


@pytest.fixture
def checker(dns: DnsServer, web: WebServer) -> DestinationChecker:
    return make_checker(dns, {web.port})


@pytest.fixture
def base(web: WebServer) -> str:
    return f"http://site.example:{web.port}"
