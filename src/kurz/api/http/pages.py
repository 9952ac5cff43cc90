"""Lists in pages: `cursor` and `limit` of a request, and the cursor of the next page."""

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query

from kurz.links.errors import CursorRefused
from kurz.paging import Key, Part

MAX_LIMIT = 200
DEFAULT_LIMIT = 50
MAX_CURSOR_LENGTH = 1000
_BEYOND = 2**63  # too large for the databases' integers

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRequest:
    after: Key | None
    limit: int

    async def fetch(
        self, get: Callable[[Part], Awaitable[Sequence[T]]], key: Callable[[T], Key]
    ) -> tuple[list[T], str | None]:
        """The items, and the cursor of the next page; None: there is none. `key` is what the list
        is sorted by."""
        found = await get(Part(self.after, self.limit + 1))
        items = [*found[: self.limit]]
        return items, write_key(key(items[-1])) if len(found) > self.limit else None


def page_by(*kinds: type) -> Any:
    """The dependency of a list that is sorted by values of these kinds."""

    async def read(
        cursor: Annotated[
            str | None,
            Query(
                max_length=MAX_CURSOR_LENGTH, description="The `next_cursor` of the previous page."
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    ) -> PageRequest:
        return PageRequest(None if cursor is None else read_key(cursor, kinds), limit)

    return Depends(read)


def write_key(key: Key) -> str:
    text = json.dumps(key, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_key(cursor: str, kinds: tuple[type, ...]) -> Key:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not isinstance(parts, list) or [type(part) for part in parts] != [*kinds]:
            raise ValueError("a cursor of another list")
        for part in parts:
            _check(part)
    except (ValueError, RecursionError):
        raise CursorRefused(
            "This cursor belongs to another list. Start without a cursor."
        ) from None
    return tuple(parts)


def _check(part: str | int) -> None:
    """`ValueError`: no database can store this value."""
    if isinstance(part, int):
        if not -_BEYOND <= part < _BEYOND:
            raise ValueError("out of range")
    elif "\0" in part or not part.encode():
        raise ValueError("no text that is stored")
