"""Checkers of destinations for tests. One loopback address plays the public internet, by the same
setting that an operator would use; the others stay what they are: inside."""

import ssl
from collections.abc import Collection

from kurz.outbound.addresses import AddressPolicy
from kurz.outbound.checker import TOTAL_SECONDS, DestinationChecker
from kurz.outbound.connections import Dialer
from kurz.outbound.resolver import AddressLookup
from kurz.outbound.sites import SiteGate
from servers.dns import DnsServer
from support.certificates import NO_CERTIFICATES

OUTSIDE = "127.0.0.2"
INSIDE = "127.0.0.1"


def make_checker(
    dns: DnsServer,
    ports: Collection[int],
    *,
    networks: Collection[str] = (OUTSIDE,),
    own_hosts: Collection[str] = (),
    trust: ssl.SSLContext | None = NO_CERTIFICATES,
    gate: SiteGate | None = None,
    total_seconds: float = 2 * TOTAL_SECONDS,
) -> DestinationChecker:
    """One in no hurry, that calls a site as often as it likes."""

    async def get_own_hosts() -> Collection[str]:
        return own_hosts

    dialer = Dialer(AddressPolicy(networks), AddressLookup((dns.address,)), trust)
    gate = gate or SiteGate(seconds_between=0)
    return DestinationChecker(dialer, gate, get_own_hosts, ports, total_seconds)
