"""Hosts that are banned, at hand in every process: with a host goes all that is below it."""

import re
from collections.abc import Sequence

import structlog

from kurz.errors import StoreUnavailable
from kurz.links import urls
from kurz.links.errors import UrlRefused
from kurz.links.model import Change
from kurz.safety.bans import BanStore
from kurz.safety.errors import HostRefused

_HOST = re.compile(r"https?://(\[[^\]]+\]|[^/:?#]+)")
_log = structlog.get_logger(__name__)


def host_of(location: str) -> str:
    """Of a URL that was judged, as `urls.plain_host` has it."""
    match = _HOST.match(location)
    return urls.plain_host(match[1]) if match else ""


def normalise_host(text: str) -> str:
    """A host as links are judged by it, from a name, an address or a whole URL."""
    text = text.strip()
    try:
        host = host_of(urls.judge(text if "://" in text else f"http://{text}/").location)
    except UrlRefused:
        raise HostRefused("Enter a host name, such as example.com, or a URL.") from None
    if "." not in host and not host.startswith("["):
        raise HostRefused(
            "Enter a full host name, such as example.com: this one covers too many sites."
        )
    return host


def above(host: str, hosts: frozenset[str]) -> str | None:
    """The one of these that a host is, or is below."""
    while host not in hosts:
        _, dot, host = host.partition(".")
        if not dot:
            return None
    return host


class BannedHosts:
    """All of them in memory. As a listener of the feed it hears of others: `refresh` is to be
    called every second or so, and asks the store only after that."""

    def __init__(self, store: BanStore) -> None:
        self._store = store
        self._hosts: frozenset[str] = frozenset()
        self._is_outdated = True

    def get(self) -> frozenset[str]:
        return self._hosts

    async def refresh(self, *, is_feed_stale: bool = False) -> None:
        """`is_feed_stale`: nothing is heard here at the moment, so ask. An outage is tried again
        the next time; until then what is at hand stands."""
        if not self._is_outdated and not is_feed_stale:
            return
        self._is_outdated = False
        try:
            self._hosts = await self._store.hosts()
        except StoreUnavailable:
            self._is_outdated = True
            _log.warning("banned hosts cannot be read")

    def hear(self, changes: Sequence[tuple[int, Change]]) -> None:
        if any(change.link_id == 0 for _, change in changes):
            self._is_outdated = True

    def start_over(self, position: int) -> None:  # noqa: ARG002  nothing here has one
        self._is_outdated = True

    def settle(self, position: int) -> None:
        """Nothing here waits for it."""
