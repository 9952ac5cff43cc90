"""The end of a page: an instant and a number, as one opaque word."""

import re
from datetime import datetime

from kurz.clock import from_micros, to_micros
from kurz.links.errors import CursorRefused

_CURSOR = re.compile(r"([0-9a-f]{1,14})-([0-9a-f]{1,16})")
_LARGEST = 2**53


def write_cursor(instant: datetime, number: int) -> str:
    return f"{to_micros(instant):x}-{number:x}"


def read_cursor(cursor: str | None) -> tuple[datetime, int] | None:
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor)
    if match is None or any(int(part, 16) > _LARGEST for part in match.groups()):
        raise CursorRefused("This cursor belongs to another list. Start without a cursor.")
    return from_micros(int(match[1], 16)), int(match[2], 16)
