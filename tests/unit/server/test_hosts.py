"""Which site a Host header means, and what of it is kept at hand."""

import asyncio
from collections.abc import Mapping

import pytest

from kurz.errors import StoreUnavailable
from kurz.people.domains import Domains
from kurz.people.errors import HostUnclear, HostUnknown
from kurz.people.workspaces import Site
from kurz.server.hosts import MAX_KNOWN, Hosts

ROOT = Site(0)
TEAM = Site(7, is_custom_domain=True, root_url="https://team.example/about")
BASE_URL = "https://kurz.example:8443"


class Sites:
    """A `SiteStore` that can be slow, or out."""

    def __init__(self) -> None:
        self.sites: Mapping[str, Site] = {"go.team.example": TEAM}
        self.gate: asyncio.Event | None = None
        self.is_out = False
        self.loads = 0

    async def verified_sites(self) -> Mapping[str, Site]:
        self.loads += 1
        found = self.sites
        if self.gate is not None:
            await self.gate.wait()
        if self.is_out:
            raise StoreUnavailable("out")
        return found


@pytest.fixture
def sites() -> Sites:
    return Sites()


@pytest.fixture
def hosts(sites: Sites) -> Hosts:
    return Hosts(BASE_URL, Domains(sites))


@pytest.mark.parametrize(
    ("host", "site"),
    [
        (b"kurz.example", ROOT),
        (b"KURZ.example.:8443", ROOT),
        (b"kurz.example:1", ROOT),
        (b"go.team.example", TEAM),
        (b"Go.Team.Example:443", TEAM),
    ],
)
async def test_a_host_means_its_site_and_is_kept_to_the_letter(hosts, host, site):
    assert await hosts.get(host) == site
    assert hosts.known == {host: site}


async def test_a_host_that_is_kept_costs_no_lookup(hosts, sites):
    await hosts.get(b"go.team.example")
    sites.is_out = True
    sites.sites = {}
    assert await hosts.get(b"go.team.example") == TEAM
    assert sites.loads == 1


async def test_no_host_or_several_are_unclear(hosts):
    with pytest.raises(HostUnclear):
        await hosts.get(None)
    assert hosts.known == {}


UNKNOWN = [
    b"",
    b"stranger.example",
    b"kurz.example.evil.example",
    b"kurz.example:0",
    b"kurz.example:65536",
    b"kurz.example:8443:1",
    b"kurz.example, go.team.example",
    b"user@kurz.example",
    b"kurz.example/",
    b"\xff\xfe",
    b"a" * 300,
]


@pytest.mark.parametrize("host", UNKNOWN)
async def test_what_kurz_does_not_answer_for_is_unknown_and_not_kept(hosts, host):
    with pytest.raises(HostUnknown):
        await hosts.get(host)
    assert hosts.known == {}


async def test_without_a_base_url_every_host_that_is_no_domain_is_the_root(sites):
    hosts = Hosts(None, Domains(sites), root_workspace_id=3)
    assert await hosts.get(b"whatever.example") == Site(3)
    assert await hosts.get(b"[::1]:8080") == Site(3)
    assert await hosts.get(b"go.team.example") == TEAM
    with pytest.raises(HostUnknown):
        await hosts.get(b"no host at all")


async def test_what_is_kept_is_bounded(sites):
    hosts = Hosts(None, Domains(sites))
    for number in range(2 * MAX_KNOWN + 10):
        await hosts.get(b"made-up%d.example" % number)
        assert len(hosts.known) <= MAX_KNOWN
    assert hosts.known[b"made-up%d.example" % (2 * MAX_KNOWN + 9)] == ROOT


async def test_a_change_is_seen_at_once(hosts, sites):
    assert await hosts.get(b"go.team.example") == TEAM
    sites.sites = {"new.team.example": TEAM}
    hosts.forget()
    with pytest.raises(HostUnknown):
        await hosts.get(b"go.team.example")
    assert await hosts.get(b"new.team.example") == TEAM


async def test_a_change_during_a_lookup_does_not_keep_the_old_site(hosts, sites):
    sites.gate = asyncio.Event()
    before = asyncio.create_task(hosts.get(b"go.team.example"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    sites.sites = {}
    hosts.forget()
    after = asyncio.create_task(hosts.get(b"go.team.example"))
    sites.gate.set()
    assert await before == TEAM
    with pytest.raises(HostUnknown):
        await after
    assert hosts.known == {}
    with pytest.raises(HostUnknown):
        await hosts.get(b"go.team.example")


@pytest.mark.parametrize("base_url", [BASE_URL, None])
async def test_an_answer_of_before_a_change_is_not_kept_past_an_outage(sites, base_url):
    """While the store is out the last answer stands, but the change has been heard already and will
    not be told again."""
    hosts = Hosts(base_url, Domains(sites))
    assert await hosts.get(b"go.team.example") == TEAM
    sites.sites, sites.is_out = {"new.team.example": TEAM}, True
    hosts.forget()
    assert await hosts.get(b"go.team.example") == TEAM
    assert hosts.known == {}
    sites.is_out = False
    hosts._domains._read_at -= 2.0  # two seconds later
    assert await hosts.get(b"new.team.example") == TEAM
    assert hosts.known == {b"new.team.example": TEAM}


async def test_the_base_host_is_answered_for_while_the_store_is_out(hosts, sites):
    sites.is_out = True
    assert await hosts.get(b"kurz.example") == ROOT
    assert hosts.known == {b"kurz.example": ROOT}
    with pytest.raises(StoreUnavailable):
        await hosts.get(b"go.team.example")
