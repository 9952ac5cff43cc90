"""Lists of links: checks what is asked for, and turns the end of a page into a cursor."""

import base64
import json

from kurz.clock import Clock
from kurz.links import fields
from kurz.links.codes.permutation import Permutation
from kurz.links.errors import CursorRefused, FieldRefused
from kurz.links.model import Filter, LinkPage, PageEnd, Scope, Sort
from kurz.links.ports import LinkStore

MIN_SEARCH_LENGTH = 3  # the text index holds runs of three characters
MAX_CURSOR_LENGTH = 200  # three times what the longest one takes
_BEYOND = 2**63  # what the engines' integers cannot hold


class Listing:
    def __init__(self, store: LinkStore, ids: Permutation, clock: Clock) -> None:
        self._store = store
        self._ids = ids
        self._clock = clock

    async def page(self, scope: Scope, wanted: Filter, cursor: str | None, limit: int) -> LinkPage:
        check(wanted)
        after = None if cursor is None else self._page_end(cursor, wanted.sort)
        found = await self._store.list(
            scope, wanted, self._clock.now(), after=after, limit=limit + 1
        )
        page = found.links[:limit]
        has_more = len(found.links) > limit
        end = PageEnd(found.values[limit - 1], page[-1].id) if has_more else found.stopped_at
        if wanted.sort.field == Sort.CLICKS.field:
            # The store sorts long lists only nearly by the clicks that the page shows.
            page = sorted(
                page, key=lambda it: (it.redirect_count, it.id), reverse=wanted.sort.is_descending
            )
        return LinkPage(
            tuple(page),
            max(found.total, len(page)),
            None if end is None else self._cursor(end, wanted.sort),
            found.is_total_exact,
            is_complete=found.stopped_at is None or len(page) == limit,
        )

    def _cursor(self, end: PageEnd, sort: Sort) -> str:
        """Opaque. It has the public id: the row's id would reveal how many links there are."""
        parts = [sort, end.value, self._ids.apply(end.link_id)]
        text = json.dumps(parts, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def _page_end(self, cursor: str, sort: Sort) -> PageEnd:
        try:
            value, public_id = _read(cursor, sort)
            return PageEnd(value, self._ids.invert(public_id))
        except ValueError:
            raise CursorRefused(
                "Use the `next_cursor` of the previous page, unchanged and with the same `sort`."
            ) from None


def check(wanted: Filter) -> None:
    """Raises `FieldRefused` for a filter that no list can have."""
    if wanted.search is not None:
        fields.check_search(wanted.search)
        if len(wanted.search) < MIN_SEARCH_LENGTH:
            raise FieldRefused(
                f"`search` must have at least {MIN_SEARCH_LENGTH} characters.", field="search"
            )
    if wanted.tag is not None:
        fields.check(tags=(wanted.tag,))


def _read(cursor: str, sort: Sort) -> tuple[int | None, int]:
    """The value and the public id in a cursor; ValueError if it is not a cursor of this order."""
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        raise ValueError("no cursor")
    padded = cursor + "=" * (-len(cursor) % 4)
    parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if not isinstance(parts, list) or len(parts) != 3 or parts[0] != sort:
        raise ValueError("a cursor of another order")
    _, value, public_id = parts
    if type(public_id) is not int or not _is_possible(value, sort):
        raise ValueError("a place outside of any list")
    return value, public_id


def _is_possible(value: object, sort: Sort) -> bool:
    if value is None:
        return sort.field == Sort.EXPIRY
    return type(value) is int and -_BEYOND <= value < _BEYOND
