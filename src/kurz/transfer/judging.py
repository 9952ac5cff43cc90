"""A link from an archive file → the link that may be restored. The rules of an import apply: what
could not be a new link is not restored, no matter who wrote the file."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, date, datetime

import msgspec

from kurz.clicks import counts, folding, sketch
from kurz.clicks.months import month_of
from kurz.clock import EPOCH
from kurz.links import urls
from kurz.links.ending.archives import ArchivedLink, CountedDay
from kurz.links.errors import FieldRefused, InstantRefused
from kurz.links.model import Link, Status, Strategy
from kurz.links.transfers import ImportTarget
from kurz.transfer import rows
from kurz.transfer.archive_format import UNREADABLE
from kurz.transfer.writing import record

CLAIM_HASH_BYTES = 32
_LETTERS = frozenset(of.value for of in counts.Of)
_MAX_VALUES = len(_LETTERS) * counts.SLACK * counts.MAX_OF_LINK
_MAX_QUOTES = 8 * _MAX_VALUES  # two per value, and some inside: more need not be unpacked
_MAX_COUNTS_BYTES = 4 * 1024 * 1024  # of a day: less than 1 MiB, if kurz wrote it
_MAX_VALUE_LENGTH = 1024  # of a referrer, the longest there are
_decode_counts = msgspec.json.Decoder(dict[str, int]).decode


def judge(
    archived: ArchivedLink, own_hosts: tuple[Collection[str], ...], now: datetime
) -> ArchivedLink:
    """Raises the `KurzError` that a new link would get."""
    found = archived.link
    url = urls.judge(found.original_url, *own_hosts)
    target = ImportTarget(workspace_id=found.workspace_id, owner_id=found.owner_id)
    # How it ended does not matter, because the restore undoes it.
    alive = replace(found, status=Status.ACTIVE, deleted_at=None, swept_at=None)
    line = record(alive, "", now) | {"tags": [*alive.tags]}
    like_new = rows.to_link(line, target, url, now)
    if not like_new.short_code:
        raise FieldRefused("The link has no code.", field="short_code")
    if archived.claim_hash is not None and len(archived.claim_hash) != CLAIM_HASH_BYTES:
        raise FieldRefused("`claim_hash` is not the hash of a claim token.", field="claim_hash")
    _check_days(archived.days, now)
    link = replace(
        like_new,
        id=found.id,
        version=found.version,
        strategy=_strategy(found, like_new),
        status=found.status,
        destination_status=found.destination_status,
        destination_http_status=found.destination_http_status,
        last_checked_at=_utc(found.last_checked_at),
    )
    return replace(archived, link=link)


def _strategy(found: Link, like_new: Link) -> Strategy:
    """A code is deterministic only if it is computed from the URL."""
    is_claimed = found.strategy is Strategy.DETERMINISTIC
    return like_new.strategy if is_claimed else found.strategy


def _check_days(days: Collection[CountedDay], now: datetime) -> None:
    seen: set[date] = set()
    last = (now + rows.CLOCK_SKEW).date()
    for day in days:
        if not EPOCH.date() <= day.day <= last or day.day in seen:
            raise FieldRefused(
                f"`days` has {day.day}, which is in the future or listed twice.", field="days"
            )
        seen.add(day.day)
        if not _are_counts(day.counts):
            raise FieldRefused(f"`counts` of {day.day} are not valid.", field="days")
        if not sketch.is_sound(day.sketch):
            raise FieldRefused(f"`sketch` of {day.day} is not valid.", field="days")
        if day.month is not None and not _is_month(day, day.month):
            raise FieldRefused(f"`month` of {day.day} is not valid.", field="days")


def _is_month(day: CountedDay, month: bytes) -> bool:
    days = month_of((day.day - EPOCH.date()).days)
    totals = day.clicks, day.people
    found = folding.read_strictly(month, len(days), totals)
    return day.day.day == 1 and found is not None and _are_counts(found)


def _are_counts(data: bytes) -> bool:
    if len(data) > _MAX_COUNTS_BYTES or data.count(b'"') > _MAX_QUOTES:
        return False
    try:
        found = _decode_counts(data)
    except UNREADABLE:
        return False
    return len(found) <= _MAX_VALUES and all(
        key[:1] in _LETTERS
        and len(key) <= _MAX_VALUE_LENGTH
        and key.isprintable()
        and 0 <= number <= rows.MAX_COUNT
        for key, number in found.items()
    )


def _utc(instant: datetime | None) -> datetime | None:
    try:
        return None if instant is None else instant.astimezone(UTC)
    except OverflowError:
        raise InstantRefused(
            "`last_checked_at` is before year 1 or after 9999.", field="last_checked_at"
        ) from None
