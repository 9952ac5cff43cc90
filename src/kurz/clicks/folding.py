"""Old days of a subject, folded into a row for each month. Breakdowns are then known for the whole
month only; clicks, people and visitors are still known for each day, and clicks for each hour."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kurz.clicks.series import Day, Hours

_ALL_HOURS = 48  # of people, then of bots
_MAX_BYTES = 64 * 1024  # of a month: less than 32 KiB, if kurz wrote it

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[list[int]]).decode


class FoldedDay(NamedTuple):
    day: Day  # without counts
    hours: Hours


def pack(first_day: int, days: Iterable[Day], hours: Mapping[int, Hours]) -> bytes:
    """What `Day.month` contains of these days: a list for each, with its number in the month, its
    clicks, people and visitors, and each hour that has clicks, followed by their number."""
    rows = []
    for it in days:
        row = [it.day - first_day, it.clicks, it.people, it.visitors]
        for hour, clicks in enumerate(hours[it.day]):
            if clicks:
                row += hour, clicks
        rows.append(row)
    return _encode(rows)


def unpack(first_day: int, month: bytes) -> Iterator[FoldedDay]:
    for number, clicks, people, visitors, *rest in _decode(month):
        hours = [0] * _ALL_HOURS
        for at in range(0, len(rest), 2):
            hours[rest[at]] = rest[at + 1]
        yield FoldedDay(Day(first_day + number, clicks, people, visitors, b""), hours)


def spread(rows: Iterable[Day]) -> list[Day]:
    """The days in these rows, in order and without counts. Of a month, there may be rows of late
    clicks beside the folded one."""
    found: dict[int, Day] = {}
    for row in rows:
        days = [row] if row.month is None else [it.day for it in unpack(row.day, row.month)]
        for each in days:
            clicks, people, visitors = each[1:4]
            if known := found.get(each.day):
                clicks, people, visitors = (
                    clicks + known.clicks,
                    people + known.people,
                    visitors + known.visitors,
                )
            found[each.day] = Day(each.day, clicks, people, visitors, b"")
    return [found[day] for day in sorted(found)]


def are_sound(month: bytes, days: int, totals: Sequence[int]) -> bool:
    """Whether these bytes are the days of a month of this length, as `pack` makes them, with these
    clicks, people and visitors in total."""
    if len(month) > _MAX_BYTES:
        return False
    try:
        rows = _decode(month)
    except msgspec.MsgspecError:
        return False
    for row in rows:
        hours = row[4::2]
        if len(row) < 4 or len(row) % 2 or min(row) < 0 or row[0] >= days:
            return False
        if any(hour >= _ALL_HOURS for hour in hours) or len({*hours}) < len(hours):
            return False
    numbers = [row[0] for row in rows]
    sums = [sum(row[at] for row in rows) for at in (1, 2, 3)]
    return numbers == sorted({*numbers}) and sums == [*totals]
