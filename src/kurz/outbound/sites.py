"""Limits how often a site is called: at most once a minute, however many links lead there, and once
more for a requested check."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, lru_cache
from ipaddress import IPv4Address, ip_network

from publicsuffixlist import PublicSuffixList

from kurz.links.urls import target_of
from kurz.outbound.addresses import Address, plain, read_address
from kurz.safety.checks import NoTurn

SECONDS_BETWEEN = 60.0
CUSTOMER_BITS = 64  # of an IPv6 address
REMEMBERED = 10_000  # sites in memory, before those that may be called again are removed
REMEMBERED_NAMES = 4096  # the sites of hosts: to find one takes 4 µs

_Line = tuple[str, bool]  # a site, and whether its check was requested


def site_of(location: str) -> str:
    """The site of a URL: the registered domain, by the list that browsers use too. An address is
    its own site; an IPv6 address with the whole network of a customer."""
    return _site_of_name(target_of(location).name)


@lru_cache(maxsize=REMEMBERED_NAMES)
def _site_of_name(name: str) -> str:
    address = read_address(name)
    if address is not None:
        return _site_of_address(plain(address))
    return _suffixes().privatesuffix(name) or name


def _site_of_address(address: Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(ip_network((address, CUSTOMER_BITS), strict=False))


class _Row:
    """The queue of a site."""

    def __init__(self) -> None:
        self.length = 0
        self.front = asyncio.Lock()


class SiteGate:
    """Assigns the turns of each site in the order of requests. In one process, because only one
    checks destinations. `waiting` is the length of all queues. Requested checks have their own
    turns, so they wait only for each other; all others wait for them too."""

    def __init__(
        self,
        seconds_between: float = SECONDS_BETWEEN,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._between = seconds_between
        self._monotonic = monotonic
        self._free_at: dict[_Line, float] = {}
        self._all_free_at = 0.0
        self._rows: dict[_Line, _Row] = {}
        self.waiting = 0

    def rest(self, seconds_ago: float) -> None:
        """Another process may have called any site until this many seconds ago."""
        self._all_free_at = self._monotonic() - seconds_ago + self._between

    def is_open(self, site: str, *, is_requested: bool = False) -> bool:
        """Whether it may be called now, or has a queue in which one more does not wait long."""
        return (site, is_requested) in self._rows or self.seconds_until(
            site, is_requested=is_requested
        ) <= 0

    def seconds_until(self, site: str, *, is_requested: bool = False) -> float:
        """Until its next turn, whoever gets it."""
        free_at = max(self._free_at.get((site, is_requested), 0.0), self._all_free_at)
        return max(0.0, free_at - self._monotonic())

    def called(self, site: str, *, is_requested: bool = False) -> None:
        """The next turn comes one full interval later."""
        if len(self._free_at) >= REMEMBERED:
            self._forget()
        for line in {(site, False), (site, is_requested)}:
            self._free_at[line] = self._monotonic() + self._between

    @asynccontextmanager
    async def turn(
        self, site: str, most_seconds: float, *, is_requested: bool = False
    ) -> AsyncIterator[None]:
        """Waits for a turn. It ends with the block, and counts if the site was called. Leaving
        the queue early costs nothing. Raises `NoTurn`: at once, if it would take too long."""
        line = site, is_requested
        row = self._rows.get(line) or _Row()
        seconds = self.seconds_until(site, is_requested=is_requested)
        if seconds + row.length * self._between > most_seconds:
            raise NoTurn(site)
        self._rows[line] = row
        row.length += 1
        try:
            async with AsyncExitStack() as front:
                await self._come_to(line, row, front, most_seconds)
                yield
        finally:
            row.length -= 1
            if not row.length:
                del self._rows[line]

    async def _come_to(
        self, line: _Line, row: _Row, front: AsyncExitStack, most_seconds: float
    ) -> None:
        site, is_requested = line
        self.waiting += 1
        try:
            async with asyncio.timeout(most_seconds):
                await front.enter_async_context(row.front)
                # A different time for each.
                while seconds := self.seconds_until(site, is_requested=is_requested):  # noqa: ASYNC110
                    await asyncio.sleep(seconds)
        except TimeoutError:
            raise NoTurn(site) from None
        finally:
            self.waiting -= 1

    def _forget(self) -> None:
        now = self._monotonic()
        self._free_at = {line: at for line, at in self._free_at.items() if at > now}


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
