"""What state a link is in, for every row that can exist."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from kurz.links import lifecycle
from kurz.links.lifecycle import Outcome
from kurz.links.model import Link, Status
from support.links import NOW, link

MOMENT = timedelta(microseconds=1)
EXPIRIES = {
    "no end": None,
    "a moment left": NOW + MOMENT,
    "ends now": NOW,
    "ended": NOW - MOMENT,
    "ended long ago": NOW - timedelta(days=400),
}
STARTS = {
    "no start": None,
    "began": NOW - MOMENT,
    "begins now": NOW,
    "not yet": NOW + MOMENT,
}
CLICKS = {
    "unlimited": (None, 0),
    "unlimited but spent": (None, 9),
    "some left": (3, 2),
    "last one gone": (3, 3),
    "overspent": (3, 4),
}
every_status_and_expiry = pytest.mark.parametrize(
    ("status", "expiry"), list(product(Status, EXPIRIES))
)


def row(status: Status, expiry: str, start: str, clicks: str) -> Link:
    limit, used = CLICKS[clicks]
    return link(
        status=status,
        expires_at=EXPIRIES[expiry],
        starts_at=STARTS[start],
        max_clicks=limit,
        clicks_used=used,
    )


def expected_status(status: Status, expiry: str, clicks: str) -> Status:
    if status in (Status.BANNED, Status.DELETED):
        return status
    if expiry in ("ends now", "ended", "ended long ago"):
        return Status.EXPIRED
    if status is Status.PAUSED:
        return Status.PAUSED
    return Status.EXHAUSTED if clicks in ("last one gone", "overspent") else Status.ACTIVE


def expected_outcome(status: Status, expiry: str, start: str, clicks: str) -> Outcome:
    if status is Status.BANNED:
        return Outcome.BANNED
    if start == "not yet":
        return Outcome.MISSING
    return {
        Status.ACTIVE: Outcome.REDIRECT,
        Status.PAUSED: Outcome.MISSING,
        Status.DELETED: Outcome.MISSING,
        Status.EXPIRED: Outcome.EXPIRED,
        Status.EXHAUSTED: Outcome.EXHAUSTED,
    }[expected_status(status, expiry, clicks)]


@every_status_and_expiry
def test_the_status_of_every_row(status, expiry):
    for start, clicks in product(STARTS, CLICKS):
        found = lifecycle.status(row(status, expiry, start, clicks), NOW)
        assert found is expected_status(status, expiry, clicks), (start, clicks)


@every_status_and_expiry
def test_what_a_visitor_of_every_row_gets(status, expiry):
    for start, clicks in product(STARTS, CLICKS):
        found = lifecycle.outcome(row(status, expiry, start, clicks), NOW)
        assert found is expected_outcome(status, expiry, start, clicks), (start, clicks)


def test_a_link_is_expired_from_the_very_instant_on():
    ends = link(expires_at=NOW)
    assert not lifecycle.is_expired(ends, NOW - MOMENT)
    assert lifecycle.is_expired(ends, NOW)
    assert lifecycle.is_expired(ends, NOW + MOMENT)


def test_a_link_answers_from_the_very_instant_it_starts():
    starts = link(starts_at=NOW)
    assert lifecycle.outcome(starts, NOW - MOMENT) is Outcome.MISSING
    assert lifecycle.outcome(starts, NOW) is Outcome.REDIRECT


def test_a_link_without_end_never_expires():
    assert not lifecycle.is_expired(link(), datetime.max.replace(tzinfo=UTC))


@pytest.mark.parametrize("status", [Status.EXPIRED, Status.EXHAUSTED])
def test_bookkeeping_in_the_row_does_not_end_a_link(status):
    assert lifecycle.status(link(status=status), NOW) is Status.ACTIVE
