"""The state of a link at an instant. Expiry is decided here, at every read."""

from datetime import datetime
from enum import StrEnum

from kurz.links.model import Link, Status


class Outcome(StrEnum):
    """What a visitor of a link gets."""

    REDIRECT = "redirect"
    MISSING = "missing"
    EXPIRED = "expired"
    EXHAUSTED = "exhausted"
    BANNED = "banned"
    HELD = "held"


def is_expired(link: Link, now: datetime) -> bool:
    return link.expires_at is not None and link.expires_at <= now


def status(link: Link, now: datetime) -> Status:
    """The link's status at `now`, whatever the row says about expiry."""
    if link.status in (Status.BANNED, Status.DELETED):
        return link.status
    if is_expired(link, now):
        return Status.EXPIRED
    if link.status is Status.PAUSED:
        return Status.PAUSED
    if link.max_clicks is not None and link.clicks_used >= link.max_clicks:
        return Status.EXHAUSTED
    return Status.ACTIVE


_OUTCOMES = {
    Status.ACTIVE: Outcome.REDIRECT,
    Status.EXPIRED: Outcome.EXPIRED,
    Status.DELETED: Outcome.MISSING,
    Status.PAUSED: Outcome.MISSING,
    Status.EXHAUSTED: Outcome.EXHAUSTED,
    Status.BANNED: Outcome.BANNED,
}


def outcome(link: Link, now: datetime) -> Outcome:
    if link.status is Status.BANNED:
        return Outcome.BANNED
    if link.starts_at is not None and now < link.starts_at:
        return Outcome.MISSING
    if link.swept_at is not None and is_expired(link, now):
        return Outcome.EXPIRED  # as before it was moved to the trash
    outcome = _OUTCOMES[status(link, now)]
    return Outcome.HELD if outcome is Outcome.REDIRECT and link.held_at is not None else outcome
