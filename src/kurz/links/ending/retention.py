"""How long links stay when they have ended, and what becomes of them then."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kurz.links.model import Link, Status


class Ended(StrEnum):
    """What has ended, and how. A banned link never ends: its record is kept."""

    TEMPORARY = "temporary"  # expired, and nobody's
    PERMANENT = "permanent"  # expired, and somebody's
    SWEPT = "swept"  # in the trash, where the reaper moved it
    DELETED = "deleted"  # in the trash, where its owner moved it


class Fate(StrEnum):
    TRASH = "trash"
    PURGE = "purge"
    ARCHIVE = "archive"  # then purge; without an archive it stays


@dataclass(frozen=True, slots=True)
class Rule:
    """`after` counts from when the link ended or came to the trash. None: it stays for ever."""

    after: timedelta | None
    fate: Fate


Retention = dict[Ended, Rule]

_AT_ONCE, _HOUR = timedelta(), timedelta(hours=1)
_WEEK, _MONTH, _SEASON = timedelta(days=7), timedelta(days=30), timedelta(days=90)

DEFAULT: Retention = {
    Ended.TEMPORARY: Rule(_HOUR, Fate.PURGE),  # clocks may differ by that
    Ended.PERMANENT: Rule(_WEEK, Fate.TRASH),
    Ended.SWEPT: Rule(_SEASON, Fate.ARCHIVE),
    Ended.DELETED: Rule(_MONTH, Fate.PURGE),
}
PRESETS: dict[str, Retention] = {
    "default": DEFAULT,
    "immediate": {ended: Rule(_AT_ONCE, Fate.PURGE) for ended in Ended},
    "buffered": DEFAULT
    | {
        Ended.PERMANENT: Rule(_HOUR, Fate.PURGE),
        Ended.SWEPT: Rule(_HOUR, Fate.PURGE),
    },
    "archival": {
        Ended.TEMPORARY: Rule(_WEEK, Fate.TRASH),
        Ended.PERMANENT: Rule(_WEEK, Fate.TRASH),
        Ended.SWEPT: Rule(_SEASON, Fate.ARCHIVE),
        Ended.DELETED: Rule(_SEASON, Fate.ARCHIVE),
    },
    "keep": DEFAULT
    | {
        Ended.PERMANENT: Rule(None, Fate.TRASH),
        Ended.SWEPT: Rule(None, Fate.PURGE),
    },
}

_USUALLY = timedelta(minutes=15)
INTERVALS = dict.fromkeys(PRESETS, _USUALLY) | {"archival": timedelta(hours=24)}


def without_archive(retention: Retention) -> Retention:
    """What becomes of links where no archive is configured: those for it stay."""
    return {
        ended: Rule(None, rule.fate) if rule.fate is Fate.ARCHIVE else rule
        for ended, rule in retention.items()
    }


def purged_at(link: Link, retention: Retention) -> datetime | None:
    """From when on a link in the trash is purged; None: never, or it is not there."""
    if link.status is not Status.DELETED:
        return None
    came_at = link.swept_at or link.deleted_at
    after = retention[Ended.DELETED if link.swept_at is None else Ended.SWEPT].after
    return None if came_at is None or after is None else came_at + after
