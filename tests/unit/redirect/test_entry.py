"""An entry says what the link itself would say, at every instant it is believed."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.record import link_tag_of
from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.links import lifecycle
from kurz.links.fields import REDIRECT_STATUSES
from kurz.links.lifecycle import Outcome
from kurz.links.model import Link, Status
from kurz.redirect.answers import wire
from kurz.redirect.entry import ABSENCE_MICROS, Entry, absence, key_of, prefix_of
from support.clock import FrozenClock
from support.links import link, route, route_of

NOW = FrozenClock().micros()
SECOND = 1_000_000
HOUR = 3600 * SECOND
DATE = b"Sun, 01 Mar 2026 12:00:00 GMT"

# Near enough that the edges are met, by chance and on purpose.
distances = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([-HOUR, -60 * SECOND, 60 * SECOND, HOUR]),
    st.integers(-2 * HOUR, 2 * HOUR),
)
instants = distances.map(lambda distance: NOW + distance)
counts = st.integers(0, 4)


@st.composite
def links(draw: st.DrawFn, /, **fixed: Any) -> Link:
    drawn = {
        "status": draw(st.sampled_from(Status)),
        "starts_at": from_micros_or_none(draw(st.none() | instants)),
        "expires_at": from_micros_or_none(draw(st.none() | instants)),
        "max_clicks": draw(st.none() | counts),
        "clicks_used": draw(counts),
        "redirect_status": draw(st.sampled_from([301, 302, 307, 308])),
        "forward_query": draw(st.booleans()),
        "location": draw(st.sampled_from(["https://example.com/", "https://e.example/a?b=c#d"])),
        **fixed,
    }
    return link(
        id=draw(st.integers(1, 2**62)),
        workspace_id=draw(st.sampled_from([0, 7])),
        version=draw(st.integers(1, 5)),
        url=drawn["location"],
        **drawn,
    )


def entry_of(link: Link, now: int) -> Entry:
    key = key_of(link.workspace_id, link.short_code)
    return Entry.of(key, link.workspace_id, route_of(link), now)


def truth(link: Link, now: int) -> Outcome:
    return lifecycle.outcome(link, from_micros(now))


@given(links(), st.lists(instants, min_size=1, max_size=6))
def test_an_entry_gives_the_outcome_of_its_link_at_every_later_instant(link, moments):
    loaded_at, *later = sorted(moments)
    entry = entry_of(link, loaded_at)
    for now in [loaded_at, *later]:
        assert entry.outcome(now) is truth(link, now)


@given(links(), st.lists(st.tuples(instants, st.booleans()), min_size=1, max_size=8))
def test_settling_anew_changes_no_later_outcome(link, moments):
    (loaded_at, _), *later = sorted(moments)
    entry = entry_of(link, loaded_at)
    for now, settles in later:
        if settles:
            entry.derive(now)
        assert entry.outcome(now) is truth(link, now)


@given(links(status=Status.ACTIVE, max_clicks=3, clicks_used=2), st.lists(instants, min_size=2))
def test_a_link_that_is_used_up_meanwhile_is_as_if_it_had_been_loaded_so(link, moments):
    """As the ASGI path does it: only what redirects can be used up."""
    loaded_at, *later = sorted(moments)
    entry = entry_of(link, loaded_at)
    for now in later:
        if entry.outcome(now) is Outcome.REDIRECT:
            entry.settled = Outcome.EXHAUSTED
            entry.derive(now)
            link.clicks_used = 3
        assert entry.outcome(now) is truth(link, now)
        assert not entry.is_lane_servable


def lane_would_send(entry: Entry, now: int) -> bool:
    return entry.is_lane_servable and (entry.servable_until is None or now < entry.servable_until)


@given(
    links(status=Status.ACTIVE),
    st.lists(st.tuples(instants, st.booleans()), min_size=1, max_size=6),
    st.sampled_from(["", "x=1", "b=2&b=3"]),
)
def test_what_the_lane_sends_is_what_the_asgi_path_says(link, moments, query):
    (loaded_at, _), *later = sorted(moments)
    entry = entry_of(link, loaded_at)
    heads = wire.plain_heads(DATE)
    for now, settles in [(loaded_at, False), *later]:
        if settles:
            entry.derive(now)
        if not lane_would_send(entry, now):
            continue
        assert truth(link, now) is Outcome.REDIRECT
        forwards = bool(query) and entry.forward_query
        tail = wire.merged_tail(entry.tail, query) if forwards else entry.tail
        sent = heads[REDIRECT_STATUSES.index(entry.redirect_status)] + tail
        assert sorted(sent.splitlines()) == sorted(
            wire.to_bytes(wire.redirect(entry, query, now), DATE).splitlines()
        )
        assert sent.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("status", [301, 308])
@pytest.mark.parametrize("left", [1, SECOND, 60 * SECOND - 1, 60 * SECOND, 60 * SECOND + 1])
def test_a_permanent_redirect_is_the_lanes_while_it_may_be_kept_a_whole_minute(status, left):
    fixed = {"redirect_status": status, "expires_at": NOW + left}
    entry = Entry.of(b"/abc", 0, route(**fixed), NOW - HOUR)
    caching = dict(wire.redirect(entry, "", NOW).headers)[b"cache-control"]
    assert lane_would_send(entry, NOW) == (left > 60 * SECOND)
    assert left <= 60 * SECOND or caching == b"private, max-age=60"


@given(links(status=Status.ACTIVE, starts_at=None, expires_at=None, max_clicks=None), instants)
def test_an_ordinary_link_is_for_the_lane_at_every_instant(link, now):
    entry = entry_of(link, NOW)
    assert lane_would_send(entry, now)
    assert not entry.is_stale(now + 10**15)


@given(links(), instants)
def test_a_live_link_takes_the_asgi_path_only_for_a_reason(link, now):
    """Limited, or permanent with less than a minute to live."""
    entry = entry_of(link, now)
    ends_soon = link.expires_at is not None and link.expires_at - from_micros(now) <= timedelta(
        minutes=1
    )
    has_reason = link.max_clicks is not None or (ends_soon and link.redirect_status in (301, 308))
    is_live = truth(link, now) is Outcome.REDIRECT
    assert lane_would_send(entry, now) == (is_live and not has_reason)


@given(links(), instants)
def test_a_live_link_is_never_stale_and_a_dead_one_is_believed_for_an_hour(link, now):
    """A hidden one as long as one that never was."""
    entry = entry_of(link, now)
    ends_at = to_micros_or_none(link.expires_at)
    if truth(link, now) is Outcome.MISSING:
        assert not entry.is_stale(now + ABSENCE_MICROS - 1)
        assert entry.is_stale(now + ABSENCE_MICROS)
        return
    assert not entry.is_stale(now + HOUR - 1)
    if truth(link, now) in (Outcome.EXPIRED, Outcome.EXHAUSTED, Outcome.BANNED):
        is_final = link.status is Status.BANNED
        ends_at = None if is_final or entry.settled is not Outcome.REDIRECT else ends_at
        assert entry.is_stale(max(now, ends_at or now) + HOUR)
    if truth(link, now) is Outcome.REDIRECT and ends_at is not None:
        assert not entry.is_stale(ends_at + HOUR - 1)
        assert entry.is_stale(ends_at + HOUR)


@given(links(status=Status.BANNED))
def test_the_end_of_a_link_is_looked_up_again_after_an_hour(link):
    entry = entry_of(link, NOW)
    assert (entry.is_stale(NOW + HOUR - 1), entry.is_stale(NOW + HOUR)) == (False, True)


def test_an_absence_is_believed_for_half_a_minute_and_never_redirects():
    entry = absence(b"/nothing", NOW)
    assert ABSENCE_MICROS <= 30 * SECOND
    assert entry.outcome(NOW) is entry.outcome(NOW + HOUR) is Outcome.MISSING
    assert not entry.is_stale(NOW + ABSENCE_MICROS - 1)
    assert entry.is_stale(NOW + 30 * SECOND)
    assert not entry.is_lane_servable
    assert (entry.version, entry.link_id) == (0, 0)


@given(links())
def test_an_entry_knows_its_link(link):
    entry = entry_of(link, NOW)
    assert entry.link_id == link.id
    assert entry.link_tag == link_tag_of(link.id, link.workspace_id)
    assert entry.location == link.location
    assert entry.created_at == to_micros(link.created_at)
    assert entry.version == link.version


def test_keys_of_workspaces_do_not_meet():
    keys = {key_of(workspace_id, code) for workspace_id in (0, 1, 11) for code in ("a", "1", "1a")}
    assert len(keys) == 9
    assert key_of(0, "abc") == b"/abc"
    assert key_of(7, "abc") == prefix_of(7) + b"/abc"
