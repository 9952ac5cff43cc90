"""How long links stay after they have ended, and what happens then."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kurz.links.model import Link, Status


class EndedKind(StrEnum):
    """How a link has ended. Banned links are not included: they are kept."""

    TEMPORARY = "temporary"  # expired, without an owner
    PERMANENT = "permanent"  # expired, with an owner
    SWEPT = "swept"  # in the trash, where the reaper moved it
    DELETED = "deleted"  # in the trash, where its owner moved it


class RetentionAction(StrEnum):
    TRASH = "trash"
    PURGE = "purge"
    ARCHIVE = "archive"  # then purge; without an archive it stays


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """`after` counts from when the link ended or came to the trash. None: it stays permanently."""

    after: timedelta | None
    action: RetentionAction


Retention = dict[EndedKind, RetentionRule]

_AT_ONCE, _HOUR = timedelta(), timedelta(hours=1)
_WEEK, _MONTH, _SEASON = timedelta(days=7), timedelta(days=30), timedelta(days=90)

DEFAULT: Retention = {
    EndedKind.TEMPORARY: RetentionRule(
        _HOUR, RetentionAction.PURGE
    ),  # clocks may differ by as much
    EndedKind.PERMANENT: RetentionRule(_WEEK, RetentionAction.TRASH),
    EndedKind.SWEPT: RetentionRule(_SEASON, RetentionAction.ARCHIVE),
    EndedKind.DELETED: RetentionRule(_MONTH, RetentionAction.PURGE),
}
PRESETS: dict[str, Retention] = {
    "default": DEFAULT,
    "immediate": {ended: RetentionRule(_AT_ONCE, RetentionAction.PURGE) for ended in EndedKind},
    "buffered": DEFAULT
    | {
        EndedKind.PERMANENT: RetentionRule(_HOUR, RetentionAction.PURGE),
        EndedKind.SWEPT: RetentionRule(_HOUR, RetentionAction.PURGE),
    },
    "archival": {
        EndedKind.TEMPORARY: RetentionRule(_WEEK, RetentionAction.TRASH),
        EndedKind.PERMANENT: RetentionRule(_WEEK, RetentionAction.TRASH),
        EndedKind.SWEPT: RetentionRule(_SEASON, RetentionAction.ARCHIVE),
        EndedKind.DELETED: RetentionRule(_SEASON, RetentionAction.ARCHIVE),
    },
    "keep": DEFAULT
    | {
        EndedKind.PERMANENT: RetentionRule(None, RetentionAction.TRASH),
        EndedKind.SWEPT: RetentionRule(None, RetentionAction.PURGE),
    },
}

_USUALLY = timedelta(minutes=15)
INTERVALS = dict.fromkeys(PRESETS, _USUALLY) | {"archival": timedelta(hours=24)}


def without_archive(retention: Retention) -> Retention:
    """The rules without an archive: links that would go there stay."""
    return {
        ended: RetentionRule(None, rule.action) if rule.action is RetentionAction.ARCHIVE else rule
        for ended, rule in retention.items()
    }


def purged_at(link: Link, retention: Retention) -> datetime | None:
    """When a link in the trash is due to be purged; None: never, or it is not in the trash."""
    if link.status is not Status.DELETED:
        return None
    came_at = link.swept_at or link.deleted_at
    after = retention[EndedKind.DELETED if link.swept_at is None else EndedKind.SWEPT].after
    return None if came_at is None or after is None else came_at + after
