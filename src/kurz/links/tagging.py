"""Tags of all links: listing, renaming and merging them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kurz.clock import Clock
from kurz.links import fields
from kurz.links.errors import TagNotFound
from kurz.links.model import LinkAction
from kurz.paging import WHOLE, Part

COUNTED_LINKS = 1000  # of each tag: so a page of 200 tags takes at most about 20 ms


@dataclass(frozen=True, slots=True)
class TagCount:
    tag: str
    links: int
    is_exact: bool = True


class TagStore(Protocol):
    async def list(self, space: int, part: Part = WHOLE) -> list[TagCount]:
        """By name, with the number of links that have each, including the trash: at most
        `COUNTED_LINKS`."""

    async def count(self, space: int, tag: str) -> int:
        """How many links have it, including the trash."""

    async def rename(
        self, space: int, old: str, new: str | None, now: datetime, action: LinkAction
    ) -> int:
        """Renames it in every link of the space, several per transaction; returns in how many. None
        removes it. A link that has both tags keeps one. After an outage, running it again finishes
        the work."""


class Tagging:
    def __init__(self, store: TagStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, space: int, part: Part = WHOLE) -> list[TagCount]:
        return await self._store.list(space, part)

    async def count(self, space: int, tag: str) -> int:
        fields.check(tags=(tag,))
        return await self._store.count(space, tag)

    async def rename(self, space: int, old: str, new: str | None, account_id: int | None) -> int:
        """Also merges: `new` may be a tag that exists."""
        fields.check(tags=(old,) if new is None else (old, new))
        if old == new:
            return 0
        action = LinkAction("tags", account_id)
        count = await self._store.rename(space, old, new, self._clock.now(), action)
        if count == 0:
            raise TagNotFound(f"No link has the tag “{old}”.")
        return count


def renamed(tags: tuple[str, ...], old: str, new: str | None) -> tuple[str, ...]:
    """The tags with one renamed or, without a new name, removed; no duplicates."""
    changed = (new if tag == old else tag for tag in tags)
    return tuple(dict.fromkeys(tag for tag in changed if tag is not None))
