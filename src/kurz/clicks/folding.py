"""Old days of a subject, folded into a row for each month. Breakdowns are then known for the whole
month only; clicks, people and visitors are still known for each day, and clicks for each hour."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kurz.clicks.series import Day, Hours

_ALL_HOURS = 48  # of people, then of bots
_MAX_BYTES = 1024 * 1024  # of a packed month: less than 64 KiB, if kurz wrote it
_MAX_COUNTS_BYTES = 4 * 1024 * 1024  # of its counts: less than 1 MiB, if kurz wrote them


class _Packed(msgspec.Struct, array_like=True):
    """What `Day.month` contains, as MessagePack. `days` has a list for each day: its number in the
    month, its clicks, people and visitors, and each hour that has clicks, followed by their number.
    `counts` is the JSON of the month's counts, compressed: half of it are names of hosts."""

    days: list[list[int]]
    counts: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode
_decode_counts = msgspec.json.Decoder(dict[str, int]).decode


class FoldedDay(NamedTuple):
    day: Day  # without counts
    hours: Hours


def pack(
    first_day: int, days: Iterable[Day], hours: Mapping[int, Hours], counts: Mapping[str, int]
) -> bytes:
    """`counts` are those of the whole month."""
    rows = []
    for it in days:
        row = [it.day - first_day, it.clicks, it.people, it.visitors]
        for hour, clicks in enumerate(hours[it.day]):
            if clicks:
                row += hour, clicks
        rows.append(row)
    return _encode(_Packed(rows, zlib.compress(msgspec.json.encode(counts))))


def unpack(first_day: int, month: bytes) -> Iterator[FoldedDay]:
    for number, clicks, people, visitors, *rest in _decode(month).days:
        hours = [0] * _ALL_HOURS
        for at in range(0, len(rest), 2):
            hours[rest[at]] = rest[at + 1]
        yield FoldedDay(Day(first_day + number, clicks, people, visitors, b""), hours)


def unpack_counts(month: bytes) -> dict[str, int]:
    return _decode_counts(zlib.decompress(_decode(month).counts))


def with_added(rows: Iterable[Day]) -> Iterator[Day]:
    """These rows, and a day for what the previous version has added to a folded one: it takes the
    row for that of the first day, and adds clicks and counts to it."""
    for row in rows:
        if row.month is None:
            yield row
            continue
        days = _decode(row.month).days
        clicks, people = sum(day[1] for day in days), sum(day[2] for day in days)
        yield row._replace(clicks=clicks, people=people)
        if row.clicks != clicks:
            yield Day(row.day, row.clicks - clicks, row.people - people, 0, row.counts)


def spread(rows: Iterable[Day]) -> list[Day]:
    """The days in these rows, in order and without counts. Of a month, there may be rows of late
    clicks beside the folded one."""
    found: dict[int, Day] = {}
    for row in with_added(rows):
        days = [row] if row.month is None else [it.day for it in unpack(row.day, row.month)]
        for each in days:
            clicks, people, visitors = each[1:4]
            if known := found.get(each.day):
                clicks += known.clicks
                people += known.people
                visitors += known.visitors
            found[each.day] = Day(each.day, clicks, people, visitors, b"")
    return [found[day] for day in sorted(found)]


def read_strictly(month: bytes, days: int, totals: Sequence[int]) -> bytes | None:
    """The JSON of the counts, which is not checked. None: these bytes are not a month of so many
    days, as `pack` makes it, or they have more than these clicks and people."""
    if len(month) > _MAX_BYTES:
        return None
    unpacking = zlib.decompressobj()
    try:
        found = _decode(month)
        counts = unpacking.decompress(found.counts, _MAX_COUNTS_BYTES)
    except (msgspec.MsgspecError, zlib.error):
        return None
    is_sound = unpacking.eof and _are_sound(found.days, days, totals)
    return counts if is_sound else None


def _are_sound(rows: Sequence[Sequence[int]], days: int, totals: Sequence[int]) -> bool:
    for row in rows:
        hours = row[4::2]
        if len(row) < 4 or len(row) % 2 or min(row) < 0 or row[0] >= days:
            return False
        if any(hour >= _ALL_HOURS for hour in hours) or len({*hours}) < len(hours):
            return False
    numbers = [row[0] for row in rows]
    are_within = all(sum(row[at] for row in rows) <= most for at, most in enumerate(totals, 1))
    return numbers == sorted({*numbers}) and are_within
