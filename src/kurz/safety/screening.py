"""Judges where links may lead, by lists and by bans of hosts."""

from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from kurz.links.errors import DestinationRefused
from kurz.links.urls import take_apart
from kurz.safety.hosts import above
from kurz.safety.list_shelf import ListShelf
from kurz.safety.list_table import ALLOWED, BLOCKED


class Verdict(StrEnum):
    ADMITTED = "admitted"
    LISTED = "listed"
    BANNED = "banned"  # its host is
    UNKNOWN = "unknown"  # the lists cannot be asked


class HostsAtHand(Protocol):
    """Hosts that are banned."""

    def get(self) -> frozenset[str]: ...


class ListScreen:
    """The `Screen` of links. A ban of a host holds for all below it, and whatever lists allow."""

    def __init__(self, shelf: ListShelf, banned: HostsAtHand) -> None:
        self.shelf = shelf
        self._banned = banned
        self.refused = 0
        self.held = 0

    @property
    def banned_hosts(self) -> frozenset[str]:
        return self._banned.get()

    def admit(self, location: str) -> bool:
        verdict = self.judge(location)
        if verdict is Verdict.ADMITTED:
            return True
        if verdict is Verdict.UNKNOWN:
            self.held += 1
            return False
        self.refused += 1
        raise DestinationRefused("This destination is not allowed on this server.")

    def is_refused(self, location: str) -> bool:
        """Whether a list or a ban names what was admitted once."""
        return self.judge(location) in (Verdict.LISTED, Verdict.BANNED)

    def judge(self, location: str) -> Verdict:
        address = take_apart(location)
        if address is None:
            return Verdict.UNKNOWN
        banned = self._banned.get()
        if banned and above(address.host, banned) is not None:
            return Verdict.BANNED
        shelf = self.shelf
        lists = shelf.lists
        marks = 0 if lists is None else lists.find(address)
        if marks & ALLOWED:
            return Verdict.ADMITTED
        if lists is not None and marks & BLOCKED:
            return Verdict.LISTED if lists.knows_allowed else Verdict.UNKNOWN
        return Verdict.ADMITTED if self._knows_all else Verdict.UNKNOWN

    @property
    def is_sure(self) -> bool:
        """Whether all lists can be asked."""
        lists = self.shelf.lists
        return self.shelf.is_current and (lists is None or lists.is_whole)

    @property
    def has_rules(self) -> bool:
        return bool(self.banned_hosts) or not self.shelf.sources.is_empty

    @property
    def digest(self) -> str:
        """Of all that it judges by."""
        lists = self.shelf.lists
        digest = blake2b(digest_size=16)
        digest.update(("" if lists is None else lists.digest).encode())
        for host in sorted(self.banned_hosts):
            digest.update(b"\0" + host.encode())
        return digest.hexdigest()

    @property
    def _knows_all(self) -> bool:
        """Whether what no list names is blocked by none."""
        lists = self.shelf.lists
        return self.shelf.is_current and (lists is None or lists.knows_blocked)
