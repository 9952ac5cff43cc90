"""Looks up TXT records over DNS; and the name servers that kurz uses."""

import asyncio
import ipaddress
import socket
from typing import Any

import dns.exception
import dns.name
import dns.rdtypes.ANY.TXT
import dns.resolver
from dns._asyncio_backend import Backend
from dns.asyncresolver import Resolver
from dns.nameserver import Do53Nameserver

from kurz.errors import SettingRefused
from kurz.people.errors import DomainLookupFailed

TOTAL_SECONDS = 3.0  # somebody waits for it
TRY_SECONDS = 1.0  # per server, so that there is time for a second one
DEFAULT_PORT = 53
MAX_PORT = 65535


class NameServers:
    """A server is an address, with a port as in `127.0.0.1@5353`; without any, the system's servers
    are used."""

    def __init__(self, servers: tuple[str, ...] = ()) -> None:
        self._servers = [_server(text) for text in servers]

    async def ask(self, name: str, kind: str, seconds: float) -> dns.resolver.Answer:
        """Raises dnspython's errors."""
        # Absolute, so that no search domain of the system is appended.
        absolute = dns.name.from_text(name, origin=dns.name.root)
        return await self._resolver().resolve(
            absolute, kind, lifetime=seconds, search=False, backend=_Sockets()
        )

    def _resolver(self) -> Resolver:
        """Created each time: the system's servers may have changed."""
        resolver = Resolver(configure=not self._servers)
        if self._servers:
            resolver.nameservers = list(self._servers)
        resolver.timeout = TRY_SECONDS
        return resolver


class DnsTxtLookup:
    """The `TxtLookup` over DNS, with servers as in `NameServers`."""

    def __init__(self, servers: tuple[str, ...] = ()) -> None:
        self._servers = NameServers(servers)

    async def lookup(self, name: str) -> list[str]:
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await self._ask(name)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError, ValueError) as error:
            raise DomainLookupFailed(
                f"The name servers gave no usable answer for {name}. Try again in a minute."
            ) from error

    async def _ask(self, name: str) -> list[str]:
        answer = await self._servers.ask(name, "TXT", TOTAL_SECONDS)
        return [_text(record) for record in answer]


class _Sockets(Backend):
    """If the opening of a UDP socket is cancelled, uvloop never closes it, and its loop cannot be
    closed either. So the opening is completed, and the socket closed."""

    async def make_socket(self, af: int, socktype: int, *args: Any, **options: Any) -> Any:
        make = super().make_socket(af, socktype, *args, **options)  # type: ignore[no-untyped-call]
        if socktype != socket.SOCK_DGRAM:
            return await make
        opening = asyncio.ensure_future(make)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unused)
            raise


def _close_unused(opening: "asyncio.Future[Any]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().protocol.close()


def _server(text: str) -> Do53Nameserver:
    address, at_sign, port = text.partition("@")
    try:
        number = int(port) if at_sign else DEFAULT_PORT
        if not 0 < number <= MAX_PORT:
            raise ValueError(port)
        return Do53Nameserver(str(ipaddress.ip_address(address)), number)
    except ValueError:
        raise SettingRefused(
            f"“{text}” is not a name server. KURZ_DNS_SERVERS takes addresses such as 9.9.9.9"
            " or 127.0.0.1@5353."
        ) from None


def _text(record: dns.rdtypes.ANY.TXT.TXT) -> str:
    """A long value comes in pieces of up to 255 bytes."""
    return b"".join(record.strings).decode(errors="replace")
