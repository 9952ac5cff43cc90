"""Looks up the addresses of a name over DNS. Nothing is cached, and no file of the system is read:
names in `/etc/hosts` are not public."""

import asyncio
from ipaddress import ip_address

import dns.exception
import dns.name
import dns.resolver

from kurz.outbound.addresses import Address
from kurz.outbound.dns import NameServers

TOTAL_SECONDS = 2.0


class NoSuchName(Exception):
    """The name servers say that this name does not exist."""


class NoAddress(Exception):
    """The name has no address, or is an alias of a name that does not exist."""


class NameServersFailed(Exception):
    """The name servers gave no usable answer."""


class AddressLookup:
    def __init__(self, servers: tuple[str, ...] = ()) -> None:
        self._servers = NameServers(servers)

    async def lookup(self, name: str) -> list[Address]:
        """All addresses, IPv4 first. If the servers answer for one family only, that is the answer:
        unknown addresses are never called."""
        families = await asyncio.gather(
            self._ask(name, "A"), self._ask(name, "AAAA"), return_exceptions=True
        )
        found = [address for family in families if isinstance(family, list) for address in family]
        if found:
            return found
        errors = [family for family in families if isinstance(family, BaseException)]
        for error in sorted(errors, key=lambda it: isinstance(it, NoSuchName)):
            raise error  # "no usable answer" takes precedence over "no such name"
        raise NoAddress(name)

    async def _ask(self, name: str, kind: str) -> list[Address]:
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                answer = await self._servers.ask(name, kind, TOTAL_SECONDS)
            return [ip_address(record.address) for record in answer]
        except dns.resolver.NXDOMAIN as error:
            asked = dns.name.from_text(name, origin=dns.name.root)
            if error.canonical_name == asked:
                raise NoSuchName(name) from None
            return []
        except dns.resolver.NoAnswer:
            return []
        except (dns.exception.DNSException, OSError, ValueError) as error:
            raise NameServersFailed(name) from error
