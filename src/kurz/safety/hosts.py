"""The banned hosts, in the memory of every process. A ban includes all subdomains."""

import re
from collections.abc import Sequence

import structlog

from kurz.errors import StoreUnavailable
from kurz.freshness.ports import FeedListener
from kurz.freshness.routes import Change
from kurz.links import urls
from kurz.links.errors import UrlRefused
from kurz.safety.bans import BanStore
from kurz.safety.errors import HostRefused

_HOST = re.compile(r"https?://(\[[^\]]+\]|[^/:?#]+)")
_log = structlog.get_logger(__name__)


def host_of(location: str) -> str:
    """The host of a judged URL, in the form of `urls.plain_host`."""
    match = _HOST.match(location)
    return urls.plain_host(match[1]) if match else ""


def normalise_host(text: str) -> str:
    """A host in the form used for judging links, from a name, an address or a whole URL."""
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
    """The banned host that a host equals or is a subdomain of."""
    while host not in hosts:
        _, dot, host = host.partition(".")
        if not dot:
            return None
    return host


class BannedHosts(FeedListener):
    """All of them in memory. As a listener of the feed it learns of changes: call `refresh` every
    second or so; it reads the store only after a change."""

    def __init__(self, store: BanStore) -> None:
        self.store = store
        self._hosts: frozenset[str] = frozenset()
        self._is_outdated = True

    def get(self) -> frozenset[str]:
        return self._hosts

    async def refresh(self, *, is_feed_stale: bool = False) -> None:
        """`is_feed_stale`: changes do not arrive, so it reads the store. After an
        outage it tries again the next time; until then the hosts in memory are used."""
        if not self._is_outdated and not is_feed_stale:
            return
        self._is_outdated = False
        try:
            self._hosts = await self.store.hosts()
        except StoreUnavailable:
            self._is_outdated = True
            _log.warning("banned hosts cannot be read")

    def on_changes(self, changes: Sequence[tuple[int, Change]]) -> None:
        if any(change.link_id == 0 for _, change in changes):
            self._is_outdated = True

    def reset(self, position: int) -> None:  # noqa: ARG002  nothing here has one
        self._is_outdated = True
