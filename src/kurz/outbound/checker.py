"""Requests destinations to check that they still answer. The only HTTP client of kurz."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

from ada_url import join_url
from httpcore2 import (
    URL,
    AsyncHTTP11Connection,
    NetworkError,
    ProtocolError,
    Request,
    Response,
)

from kurz import __version__
from kurz.links.errors import UrlRefused
from kurz.links.model import DestinationStatus
from kurz.links.urls import RequestTarget, judge, target_of
from kurz.outbound.addresses import AddressPolicy
from kurz.outbound.connections import Dialer, NotPublic, NoWay
from kurz.outbound.resolver import AddressLookup, NameServersFailed, NoAddress, NoSuchName
from kurz.outbound.sites import SiteGate, site_of
from kurz.safety.checks import NOT_PUBLIC, Finding, Reason

TOTAL_SECONDS = 5.0  # of network time; waiting for turns is not counted
HEAD_SECONDS = 2.5  # of these, so that time is left for a GET
# How long a request waits for its site: the first one longer, so that redirects to a site do not
# block links to it; and how long a whole check waits, whose requests may all go to the same site.
TURN_SECONDS = 120.0
FIRST_TURN_SECONDS = 180.0
ALL_TURNS_SECONDS = 720.0
MAX_REDIRECTS = 5
AT_ONCE = 32  # requests, of all checks together
MAX_HEAD_BYTES = 32 * 1024
USER_AGENT: Final = f"kurz/{__version__} (+link check)"

_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
# ValueError: a name that TLS cannot carry.
_SILENCE: Final = (OSError, ValueError, NetworkError, ProtocolError)
_NO_ANSWER: Final = Finding(DestinationStatus.BROKEN, Reason.NO_ANSWER)
_NO_WAY: Final = Finding(DestinationStatus.UNKNOWN, Reason.NO_ANSWER)
_NO_NAME: Final = Finding(DestinationStatus.BROKEN, Reason.NO_NAME)
_NAME_SERVERS: Final = Finding(DestinationStatus.UNKNOWN, Reason.NAME_SERVERS)


def open_checker(
    own_hosts: Callable[[], Awaitable[Collection[str]]],
    gate: SiteGate,
    *,
    networks: tuple[str, ...],
    ports: tuple[int, ...],
    name_servers: tuple[str, ...],
    trust: ssl.SSLContext | None = None,
) -> "DestinationChecker":
    """From the settings; `networks` may be called although they are not public."""
    dialer = Dialer(AddressPolicy(networks), AddressLookup(name_servers), trust)
    return DestinationChecker(dialer, gate, own_hosts, ports)


class DestinationChecker:
    """The `Checker` over HTTP/1.1. It keeps nothing between two requests: no connection, no cookie,
    no name. The dialer decides what may be called."""

    def __init__(
        self,
        dialer: Dialer,
        gate: SiteGate,
        own_hosts: Callable[[], Awaitable[Collection[str]]],
        ports: Collection[int],
        total_seconds: float = TOTAL_SECONDS,
        at_once: int = AT_ONCE,
    ) -> None:
        self._dialer = dialer
        self._gate = gate
        self._own_hosts = own_hosts
        self._ports = frozenset(ports)
        self._total_seconds = total_seconds
        self._lines = asyncio.Semaphore(at_once)

    async def check(self, location: str, *, was_ok: bool, is_requested: bool = False) -> Finding:
        """Raises only `NoTurn`, and `StoreUnavailable` if our own names are not known."""
        visit = _Visit(
            self._dialer, self._gate, self._lines, self._total_seconds, is_requested=is_requested
        )
        own_hosts = await self._own_hosts()
        seen: set[str] = set()
        while len(seen) <= MAX_REDIRECTS:
            target = target_of(location)
            if target.is_one_of(own_hosts):
                return Finding(DestinationStatus.BROKEN, Reason.LEADS_BACK, visit.status)
            if target.port not in self._ports or not self._dialer.may_call(target):
                return NOT_PUBLIC
            seen.add(_without_fragment(location))
            try:
                found = await visit.call(location)
            except NoSuchName:
                # Only for the destination's own name: otherwise a redirecting server could try
                # names and learn which exist in the internal network.
                return _NO_NAME if was_ok and len(seen) == 1 else NOT_PUBLIC
            if isinstance(found, Finding):
                return found
            location = found
            if _without_fragment(location) in seen:
                break
        return Finding(DestinationStatus.BROKEN, Reason.TOO_MANY_REDIRECTS, visit.status)


class _Visit:
    """The requests of one check. `status` is that of the last answer. If the check `is_requested`,
    it waits for each site only once, and only for other requested checks; then all its requests to
    that site, at most 12, follow each other."""

    def __init__(
        self,
        dialer: Dialer,
        gate: SiteGate,
        lines: asyncio.Semaphore,
        seconds: float,
        *,
        is_requested: bool,
    ) -> None:
        self._dialer = dialer
        self._gate = gate
        self._lines = lines
        self._seconds_left = seconds
        self._waiting_left = ALL_TURNS_SECONDS
        self._is_first = True
        self._is_requested = is_requested
        self._called: set[str] = set()
        self._loop = asyncio.get_running_loop()
        self.status: int | None = None

    async def call(self, location: str) -> Finding | str:
        """The finding, or the URL that it redirects to. Raises `NoSuchName`."""
        try:
            response = await self._head_or_get(location)
        except (NotPublic, NoAddress):
            return NOT_PUBLIC
        except NameServersFailed:
            return _NAME_SERVERS
        except NoWay:
            return _NO_WAY
        except _SILENCE:
            return _NO_ANSWER
        self.status = response.status
        onward = _location_of(response)
        if response.status in _MOVED and onward is not None:
            # To an app, or to a URL that links may not have: other clients may follow it.
            with suppress(UrlRefused, ValueError):
                return judge(join_url(location, onward)).location
        return Finding(result_of(response.status), Reason.ANSWERED, response.status)

    async def _head_or_get(self, location: str) -> Response:
        """Many servers do not support HEAD, or close the connection: then a GET of one byte
        decides. Everything that does not answer gets this second try, so that timing reveals
        nothing."""
        try:
            response = await self._ask(location, "HEAD", most_seconds=HEAD_SECONDS)
        except _SILENCE:
            pass
        else:
            if 200 <= response.status < 400:
                return response
        return await self._ask(location, "GET", ("Range", "bytes=0-0"))

    async def _ask(
        self,
        location: str,
        method: str,
        *fields: tuple[str, str],
        most_seconds: float = TOTAL_SECONDS,
    ) -> Response:
        """An answer without its body: only the status matters."""
        request = _request(target_of(location), method, fields)
        async with self._line_to(site_of(location)):
            started = self._loop.time()
            try:
                async with asyncio.timeout(min(self._seconds_left, most_seconds)):
                    stream = await self._dialer.connect(target_of(location))
                    async with _Connection(request.url.origin, stream) as connection:
                        return await connection.handle_async_request(request)
            finally:
                self._seconds_left -= self._loop.time() - started

    @asynccontextmanager
    async def _line_to(self, site: str) -> AsyncIterator[None]:
        """Waits until the site may be called, and this machine is not too busy. Raises `NoTurn`."""
        is_requested = self._is_requested
        if is_requested and site in self._called:
            async with self._lines:
                self._gate.called(site, is_requested=is_requested)
                yield
            return
        most = FIRST_TURN_SECONDS if self._is_first else TURN_SECONDS
        started = self._loop.time()
        async with AsyncExitStack() as line:
            async with self._gate.turn(
                site, min(most, self._waiting_left), is_requested=is_requested
            ):
                await line.enter_async_context(self._lines)
                self._gate.called(site, is_requested=is_requested)
            self._called.add(site)
            self._is_first = False
            self._waiting_left -= self._loop.time() - started
            yield


class _Connection(AsyncHTTP11Connection):
    MAX_INCOMPLETE_EVENT_SIZE = MAX_HEAD_BYTES


def result_of(status: int) -> DestinationStatus:
    """What an answer means. A server that refuses or limits kurz may still answer others."""
    if 200 <= status < 300 or status == 304:
        return DestinationStatus.OK
    if status in _GONE or (status >= 500 and status != 503):
        return DestinationStatus.BROKEN
    return DestinationStatus.UNKNOWN


def _request(target: RequestTarget, method: str, fields: tuple[tuple[str, str], ...]) -> Request:
    url = URL(
        scheme=target.scheme.encode(),
        host=target.host.encode(),
        port=target.port,
        target=target.path.encode(),
    )
    headers = [
        ("Host", target.authority),
        ("User-Agent", USER_AGENT),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        *fields,
    ]
    return Request(method, url, headers=headers)


def _location_of(response: Response) -> str | None:
    for name, value in response.headers:
        if name.lower() == b"location":
            try:
                return value.decode()
            except UnicodeDecodeError:
                return value.decode("latin-1")
    return None


def _without_fragment(location: str) -> str:
    return location.partition("#")[0]
