"""A store of ends in memory: for the reaper's own ways, whose time and troubles a test decides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kurz.links.ending.archives import BatchDone
from kurz.links.ending.ports import IsStopping, never
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.errors import ArchiveUnavailable
from support.clock import FrozenClock


@dataclass
class Item:
    """A link that has ended, or is about to; of the two that expire, `is_marked` tells the rows
    that say so."""

    ended: EndedKind
    ended_at: datetime
    is_marked: bool = True


class MemoryReaperStore:
    """A `ReaperStore`; its clock is the test's. `before_batch` is called at every write."""

    def __init__(self, clock: FrozenClock) -> None:
        self.clock = clock
        self.items: list[Item] = []
        self.batches: list[tuple[str, int]] = []
        self.before_batch: Callable[[], None] = lambda: None

    def add(self, ended: EndedKind, number: int, *, is_marked: bool = True, **ago: float) -> None:
        at = self.clock.now() - timedelta(**ago)
        self.items += [Item(ended, at, is_marked) for _ in range(number)]

    async def now(self) -> datetime:
        return self.clock.now()

    async def mark_expired(self, now: datetime, limit: int, is_stopping: IsStopping = never) -> int:
        self.before_batch()
        found = [it for it in self.items if not it.is_marked and it.ended_at <= now][:limit]
        for item in found:
            item.is_marked = True
        return self._noted("mark", len(found))

    async def sweep(
        self,
        ended: EndedKind,
        action: RetentionAction,
        before: datetime,
        now: datetime,
        limit: int,
        is_stopping: IsStopping = never,
    ) -> int:
        self.before_batch()
        found = self._due(ended, before)[:limit]
        self.items = [item for item in self.items if not any(item is it for it in found)]
        if action is RetentionAction.TRASH:
            self.items += [replace(it, ended=EndedKind.SWEPT, ended_at=now) for it in found]
        return self._noted(f"{action} {ended}", len(found))

    async def count(self, ended: EndedKind, before: datetime, limit: int) -> int:
        return len(self._due(ended, before)[:limit])

    async def count_unmarked(
        self, before: datetime, limit: int, ended: EndedKind | None = None
    ) -> int:
        found = [
            item
            for item in self.items
            if not item.is_marked and item.ended_at <= before and ended in (None, item.ended)
        ]
        return len(found[:limit])

    def _due(self, ended: EndedKind, before: datetime) -> list[Item]:
        return [
            it for it in self.items if it.is_marked and it.ended is ended and it.ended_at <= before
        ]

    def _noted(self, what: str, number: int) -> int:
        if number:
            self.batches.append((what, number))
        return number


class MemoryArchiver:
    """Archives from such a store."""

    def __init__(self, store: MemoryReaperStore) -> None:
        self._store = store
        self.archived = 0
        self.given_up = 0  # so many of the next files are
        self.trouble: ArchiveUnavailable | None = None

    async def run(self, ended: EndedKind, before: datetime, now: datetime, limit: int) -> BatchDone:
        if self.trouble is not None:
            raise self.trouble
        if self.given_up:
            self.given_up -= 1
            return BatchDone(0, is_more=True)
        number = await self._store.sweep(ended, RetentionAction.ARCHIVE, before, now, limit)
        self.archived += number
        return BatchDone(number, is_more=number > 0)
