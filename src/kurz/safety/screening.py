"""Judges where links may lead, by lists and by bans of hosts."""

from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from kurz.links.errors import DestinationRefused
from kurz.links.urls import take_apart
from kurz.safety.hosts import above
from kurz.safety.list_provider import ListProvider
from kurz.safety.list_table import ALLOWED, BLOCKED


class ScreenVerdict(StrEnum):
    ADMITTED = "admitted"
    LISTED = "listed"
    BANNED = "banned"  # its host is banned
    UNKNOWN = "unknown"  # the lists cannot be read


class HostSource(Protocol):
    """The banned hosts."""

    def get(self) -> frozenset[str]: ...


class ListScreen:
    """The `Screen` of links. A ban of a host includes its subdomains, and overrides what lists
    allow."""

    def __init__(self, provider: ListProvider, banned: HostSource) -> None:
        self.provider = provider
        self._banned = banned
        self.refused = 0
        self.held = 0

    @property
    def banned_hosts(self) -> frozenset[str]:
        return self._banned.get()

    def admit(self, location: str) -> bool:
        verdict = self.judge(location)
        if verdict is ScreenVerdict.ADMITTED:
            return True
        if verdict is ScreenVerdict.UNKNOWN:
            self.held += 1
            return False
        self.refused += 1
        raise DestinationRefused("This destination is not allowed on this server.")

    def is_refused(self, location: str) -> bool:
        """Whether a list or a ban now names a destination that was admitted before."""
        return self.judge(location) in (ScreenVerdict.LISTED, ScreenVerdict.BANNED)

    def judge(self, location: str) -> ScreenVerdict:
        address = take_apart(location)
        if address is None:
            return ScreenVerdict.UNKNOWN
        banned = self._banned.get()
        if banned and above(address.host, banned) is not None:
            return ScreenVerdict.BANNED
        provider = self.provider
        lists = provider.lists
        flags = 0 if lists is None else lists.find(address)
        if flags & ALLOWED:
            return ScreenVerdict.ADMITTED
        if lists is not None and flags & BLOCKED:
            return ScreenVerdict.LISTED if lists.knows_allowed else ScreenVerdict.UNKNOWN
        return ScreenVerdict.ADMITTED if self._knows_all else ScreenVerdict.UNKNOWN

    @property
    def is_sure(self) -> bool:
        """Whether all lists can be read."""
        lists = self.provider.lists
        return self.provider.is_current and (lists is None or lists.is_whole)

    @property
    def has_rules(self) -> bool:
        return bool(self.banned_hosts) or not self.provider.sources.is_empty

    @property
    def digest(self) -> str:
        """The digest of all rules."""
        lists = self.provider.lists
        digest = blake2b(digest_size=16)
        digest.update(("" if lists is None else lists.digest).encode())
        for host in sorted(self.banned_hosts):
            digest.update(b"\0" + host.encode())
        return digest.hexdigest()

    @property
    def _knows_all(self) -> bool:
        """Whether a destination that no list names is certainly not blocked."""
        lists = self.provider.lists
        return self.provider.is_current and (lists is None or lists.knows_blocked)
