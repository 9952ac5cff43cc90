"""The packed form of an entry loses nothing, tells the lane what the entry would, and is small."""

import random
import string
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.record import link_tag_of
from kurz.freshness.routes import Route
from kurz.links.fields import REDIRECT_STATUSES
from kurz.links.model import Status
from kurz.redirect.entry import Entry, absence, key_of
from kurz.redirect.hot import HotSet, Load
from kurz.redirect.packed import (
    ASGI_ONLY,
    ENDS,
    FORWARDS_QUERY,
    LATE_TAIL,
    SPACE,
    TAIL,
    UNTIL_AT,
    identity_of,
    lane_part,
    pack,
    pack_space,
    size_of,
    slot_of,
    unpack,
    until_part,
)
from support.clock import FrozenClock
from support.links import route

NOW = FrozenClock().micros()
HOUR = 3600 * 1_000_000
LINKS = 15_000
MOST_BYTES = 300  # per link, of memory

bigints = st.integers(0, 2**63 - 1)
instants = st.none() | st.integers(-2 * HOUR, 2 * HOUR).map(lambda distance: NOW + distance)
slots = st.integers(0, 10**9)


@st.composite
def routes(draw: st.DrawFn) -> Route:
    location = "https://e.example/" + draw(st.text(string.ascii_letters + "?&=#%/", max_size=40))
    return Route(
        link_id=draw(bigints),
        version=draw(bigints),
        status=draw(st.sampled_from(Status)),
        location=draw(st.sampled_from([location, location.ljust(4096, "x")])),
        redirect_status=draw(st.sampled_from(REDIRECT_STATUSES)),
        forward_query=draw(st.booleans()),
        max_clicks=draw(st.none() | st.integers(0, 4)),
        clicks_used=draw(st.integers(0, 4)),
        created_at=draw(st.integers(-(2**62), 2**62)),
        starts_at=draw(instants),
        expires_at=draw(instants),
        is_held=draw(st.booleans()),
        space=draw(bigints) - draw(bigints),
    )


def workspaces() -> st.SearchStrategy[int]:
    return st.sampled_from([0, 7, 2**32 - 1])


def entry_of(workspace_id: int, found: Route) -> Entry:
    return Entry.of(key_of(workspace_id, "abc"), workspace_id, found, NOW)


@given(workspaces(), routes(), slots)
def test_a_link_of_any_kind_is_unpacked_as_it_was_packed(workspace_id, found, slot):
    entry = entry_of(workspace_id, found)
    packed = pack(entry, slot)
    assert unpack(entry.key, packed) == entry
    assert slot_of(packed) == slot
    assert identity_of(packed) == (found.link_id, found.version) == (entry.link_id, entry.version)


def test_an_absence_is_unpacked_as_it_was_packed():
    entry = absence(b"/none", NOW)
    assert unpack(b"/none", pack(entry, 3)) == entry


@given(workspaces(), routes(), slots, st.integers(-3 * HOUR, 3 * HOUR))
def test_the_lane_reads_what_the_entry_says(workspace_id, found, slot, later):
    entry = entry_of(workspace_id, found)
    packed = pack(entry, slot)
    flags, status, read_slot, link_tag = lane_part(packed)
    assert (read_slot, link_tag) == (slot, link_tag_of(found.link_id, workspace_id))
    assert REDIRECT_STATUSES[status] == found.redirect_status
    assert bool(flags & FORWARDS_QUERY) == found.forward_query
    assert (not flags & ASGI_ONLY) == entry.is_lane_servable
    if entry.is_lane_servable:
        assert packed[LATE_TAIL if flags & ENDS else TAIL] == entry.tail
        is_over = bool(flags & ENDS) and NOW + later >= until_part(packed, UNTIL_AT)[0]
        until = entry.servable_until
        assert is_over == (until is not None and NOW + later >= until)


@given(routes(), bigints)
def test_a_link_is_in_its_space_and_in_no_other(found, other):
    packed = pack(entry_of(0, found), 0)
    assert packed[SPACE] == pack_space(found.space)
    assert (packed[SPACE] == pack_space(other)) == (found.space == other)


def some_routes(count: int, expires_at: int | None) -> list[tuple[bytes, Route]]:
    """Of links that are as different as real ones; their URLs have 60 to 90 bytes."""
    chance = random.Random(6)
    letters = string.ascii_letters + string.digits
    found = []
    for number in range(count):
        path = "".join(chance.choices(letters, k=chance.randint(36, 66)))
        fields = {
            "location": f"https://www.example.com/{path}",
            "created_at": NOW - number,
            "space": -number,
            "expires_at": None if expires_at is None else expires_at + number,
        }
        key = key_of(0, "".join(chance.choices(letters, k=7)))
        found.append((key, route(10_000 + number, number % 5 + 1, **fields)))
    return found


@pytest.mark.parametrize("expires_at", [None, NOW + HOUR])
def test_a_link_takes_little_memory_and_no_more_than_is_counted(expires_at):
    found = some_routes(LINKS, expires_at)
    tracemalloc.start()
    try:
        hot = HotSet(LINKS, 10**9)
        for key, one in found:
            own_key = bytes(bytearray(key))  # as the memory gets it: nobody else has it
            hot.finish(Load(own_key), Entry.of(own_key, 0, one, NOW))
        taken = tracemalloc.get_traced_memory()[0] / LINKS
    finally:
        tracemalloc.stop()
    assert len(hot.entries) == LINKS
    assert taken <= MOST_BYTES
    # What is counted includes what the allocator rounds up, which is not traced.
    assert taken <= hot.size / LINKS <= 1.15 * taken


def test_the_size_of_a_link_grows_with_its_key_and_url():
    short = pack(entry_of(0, route(location="https://e.example/")), 0)
    long = pack(entry_of(0, route(location="https://e.example/".ljust(1000, "x"))), 0)
    grown = size_of(b"/abcdefgh", long) - size_of(b"/abc", short)
    assert grown == 1000 - len("https://e.example/") + len("defgh")
