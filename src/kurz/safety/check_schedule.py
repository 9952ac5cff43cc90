"""What several checks in a row say about a destination, and when the next one is due. A single
failure does not mark a destination as broken, except for a link whose check was requested."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kurz.links.model import DestinationStatus
from kurz.safety.checks import (
    KEPT_CHECKS,
    NOT_PUBLIC,
    Check,
    CheckVerdict,
    Clicks,
    Destination,
    Finding,
    Reason,
    Standing,
    key_of,
)

# Failures in a row until links are shown as broken, and how long they must last at least.
NEEDED = 3
LASTING = timedelta(hours=1)
# For a server that itself says that there is nothing.
GONE = (404, 410)
NEEDED_OF_GONE = 2

FIRST_AFTER = timedelta(minutes=5)  # since a link leads there
ONCE_FOR_ALL = timedelta(days=1)  # over which links are spread if there are many at once
RETRIES = (timedelta(minutes=10), timedelta(hours=1))
USUALLY = timedelta(days=1)
BUSY = ((1000, timedelta(hours=1)), (100, timedelta(hours=6)))  # by clicks a day
IDLE_AFTER = timedelta(days=90)  # without a click
RARELY = timedelta(days=7)
SHORTEST = timedelta(hours=1)  # that clicks are counted over: a few in a minute are not many
MOST_DOUBLINGS = 3

_MOST_OFF = 0.1  # of an interval, so that checks spread
_DAY = timedelta(days=1)


def conclude(
    destination: Destination, finding: Finding, started_at: datetime, now: datetime
) -> CheckVerdict:
    """The result of a check with this start and end. Only the start is shown: how long a server
    took is private."""
    standing = judge(destination.standing, finding, started_at)
    clicks = destination.clicks
    if destination.standing.status is None:  # they may span years
        clicks = replace(clicks, before=clicks.now)
    clicked_at = now if clicks.now > clicks.before else clicks.clicked_at
    interval = interval_of(standing, replace(clicks, clicked_at=clicked_at), now)
    return CheckVerdict(
        check=Check(started_at, finding, destination.requested_at is not None),
        standing=standing,
        clicks=clicks.now,
        clicked_at=clicked_at,
        concluded_at=now,
        requested_at=destination.requested_at,
        due_at=now + spread(interval, key_of(destination.location)),
    )


def as_seen(checks: Sequence[Check]) -> list[Check]:
    """Evaluates checks in their order, as if there were none before them."""
    seen, was_ok = [], len(checks) >= KEPT_CHECKS  # earlier checks are not known any more
    for check in checks:
        was_ok = was_ok or check.finding.result is DestinationStatus.OK
        is_told = was_ok or check.finding.reason is not Reason.NO_NAME
        seen.append(check if is_told else replace(check, finding=NOT_PUBLIC))
    return seen


def stand(checks: Sequence[Check], answered_at: datetime | None = None) -> Standing:
    """What these checks alone, in their order, say for a link whose requested check began at
    `answered_at`."""
    standing = Standing()
    for check in as_seen(checks):
        is_requested = check.checked_at == answered_at
        standing = judge(standing, check.finding, check.checked_at, is_requested=is_requested)
    return standing


def judge(
    before: Standing, finding: Finding, now: datetime, *, is_requested: bool = False
) -> Standing:
    """The status to show. A destination is broken only after several failures, or for a link whose
    check was requested; until then the status stays. Name servers that do not answer say nothing
    about a destination, unless that lasts."""
    if finding.reason is Reason.NAME_SERVERS:
        unanswered = before.unanswered + 1
        if before.status is not None and unanswered < NEEDED:
            return replace(before, unanswered=unanswered)
        unknown = DestinationStatus.UNKNOWN
        return replace(before, status=unknown, http_status=None, unanswered=unanswered)
    if finding.result is not DestinationStatus.BROKEN:
        was_ok = before.was_ok or finding.result is DestinationStatus.OK
        return Standing(finding.result, finding.http_status, was_ok)
    failing = replace(
        before,
        failures=before.failures + 1,
        failing_since=before.failing_since or now,
        unanswered=0,
    )
    if is_requested or _is_broken(failing, finding, now):
        broken = DestinationStatus.BROKEN
        return replace(failing, status=broken, http_status=finding.http_status)
    if before.status is None:
        unknown = DestinationStatus.UNKNOWN
        return replace(failing, status=unknown, http_status=finding.http_status)
    return failing


def _is_broken(failing: Standing, finding: Finding, now: datetime) -> bool:
    if failing.status is DestinationStatus.BROKEN:
        return True
    if finding.http_status in GONE:
        return failing.failures >= NEEDED_OF_GONE
    since = failing.failing_since or now
    return failing.failures >= NEEDED and now - since >= LASTING


def interval_of(standing: Standing, clicks: Clicks, now: datetime) -> timedelta:
    """Until the next check."""
    if standing.status is DestinationStatus.BROKEN:
        doublings = min(max(standing.failures - NEEDED, 0), MOST_DOUBLINGS)
        return min(USUALLY * float(2**doublings), RARELY)
    if 0 < standing.unanswered < NEEDED:
        return RETRIES[standing.unanswered - 1]
    if standing.failures and not standing.unanswered:
        return RETRIES[min(standing.failures, len(RETRIES)) - 1]
    if standing.status is DestinationStatus.NOT_CHECKED or now - clicks.clicked_at >= IDLE_AFTER:
        return RARELY
    a_day = (clicks.now - clicks.before) / (max(now - clicks.counted_at, SHORTEST) / _DAY)
    return next((interval for least, interval in BUSY if a_day >= least), USUALLY)


def spread(interval: timedelta, key: bytes) -> timedelta:
    """Varies it by up to a tenth, always in the same way for the same key."""
    return interval * (1 + _MOST_OFF * (2 * fraction(key) - 1))


def fraction(key: bytes) -> float:
    """From 0 to 1."""
    return int.from_bytes(key[:4]) / 2**32
