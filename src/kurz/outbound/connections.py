"""Connections to the outside that cannot be steered into an internal network: a name is resolved
once, all its addresses are judged, and one of exactly those is called."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterable
from functools import cached_property
from ipaddress import IPv4Address, ip_address
from itertools import groupby
from typing import Any

from httpcore2 import AsyncNetworkStream, ReadError, WriteError

from kurz.links.urls import RequestTarget
from kurz.outbound.addresses import Address, AddressPolicy, plain, read_address
from kurz.outbound.resolver import AddressLookup

ADDRESSES_OF_A_FAMILY = 5
CONNECT_SECONDS = 2.0  # per address, so that there is time for the next one
READ_BYTES = 64 * 1024
# What the system buffers before it is read; it doubles the number.
_BUFFER_BYTES = READ_BYTES // 2
_NO_WAY = frozenset(
    {
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EAFNOSUPPORT,
        errno.EADDRNOTAVAIL,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EPERM,
        errno.EACCES,
    }
)


class NotPublic(Exception):
    """No call was made: an address is not public, or not the one that was judged."""


class NoWay(Exception):
    """This machine cannot call such addresses (usually it has no IPv6), or not now."""


class Dialer:
    """Without `trust`, the system's trusted certificates are used."""

    def __init__(
        self, policy: AddressPolicy, lookup: AddressLookup, trust: ssl.SSLContext | None = None
    ) -> None:
        self._policy = policy
        self._lookup = lookup
        self._given_trust = trust

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """At the first call over TLS: loading the system's certificates takes 50 ms."""
        trust = self._given_trust or ssl.create_default_context()
        trust.set_alpn_protocols(["http/1.1"])
        return trust

    def may_call(self, target: RequestTarget) -> bool:
        """False if that is certain without a lookup."""
        address = read_address(target.name)
        return address is None or self._policy.allows(address)

    async def connect(self, target: RequestTarget) -> "BoundedStream":
        """Raises `NotPublic`, `NoWay`, what the lookup raises, or `OSError`. The caller limits the
        total time."""
        last_error: OSError | None = None
        for address in await self._addresses(target.name):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    opened = await _open_socket(address, target.port)
            except OSError as error:
                if error.errno not in _NO_WAY:
                    last_error = error
                continue
            return await self._converse(opened, target)
        raise last_error or NoWay(target.name)

    async def _addresses(self, name: str) -> list[Address]:
        """The addresses to call. One refused address refuses all: otherwise the owner of the name
        server could keep trying."""
        literal = read_address(name)
        found = [literal] if literal else await self._lookup.lookup(name)
        if not all(self._policy.allows(address) for address in found):
            raise NotPublic(name)
        return _first_of_each_family(plain(address) for address in found)

    async def _converse(self, opened: socket.socket, target: RequestTarget) -> "BoundedStream":
        secure: dict[str, Any] = {}
        if target.scheme == "https":
            secure = {"ssl": self._trust, "server_hostname": target.name, "ssl_shutdown_timeout": 1}
        reader, writer = await asyncio.open_connection(sock=opened, limit=_BUFFER_BYTES, **secure)
        return BoundedStream(reader, writer)


class BoundedStream(AsyncNetworkStream):
    """Reads a limited number of bytes in total."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._bytes_left = READ_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109
        if self._bytes_left <= 0:
            raise ReadError("The response is too long.")
        data = await self._reader.read(min(max_bytes, self._bytes_left))
        self._bytes_left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109
        if self._writer.is_closing():  # uvloop would report that as an error
            raise WriteError("The server closed the connection.")
        self._writer.write(buffer)
        await self._writer.drain()

    async def aclose(self) -> None:
        """At once, whatever the other side is about to send."""
        self._writer.transport.abort()


async def _open_socket(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.settimeout(0)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        await asyncio.get_running_loop().sock_connect(opened, (str(address), port))
        peer = opened.getpeername()
        if (plain(ip_address(peer[0])), peer[1]) != (address, port):
            raise NotPublic(f"{address} turned out to be {peer[0]}")
    except BaseException:
        opened.close()
        raise
    return opened


def _first_of_each_family(addresses: Iterable[Address]) -> list[Address]:
    by_family = groupby(sorted(addresses, key=lambda it: it.version), lambda it: it.version)
    return [it for _, family in by_family for it in list(family)[:ADDRESSES_OF_A_FAMILY]]
