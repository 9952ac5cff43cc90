"""Entries for tests of the links in memory."""

from kurz.links.model import Status
from kurz.redirect.entry import Entry
from kurz.redirect.hot import HotSet, Load
from kurz.redirect.packed import size_of
from support.clock import FrozenClock
from support.links import route

NOW = FrozenClock().micros()
ENDLESS = 10**12


def entry(
    key: bytes,
    version: int = 1,
    link_id: int = 1,
    status: Status = Status.ACTIVE,
    length: int = 20,
    space: int = 0,
) -> Entry:
    location = "https://e.example/".ljust(length, "x")
    found = route(link_id, version, status=status, location=location, space=space)
    return Entry.of(key, 0, found, NOW)


def store(hot: HotSet, found: Entry) -> None:
    hot.finish(Load(found.key), found)


def sizes(entries: dict[bytes, bytes]) -> int:
    return sum(size_of(key, packed) for key, packed in entries.items())
