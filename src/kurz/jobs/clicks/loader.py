"""From journals to the store: every click is counted once.

The database holds how far a segment is counted, and each transaction that counts moves this
position. A batch that does not start there is refused, and the loader asks again. This holds
whatever happens, and however many loaders there are.
"""

import asyncio
import gc
import math
import time
from collections import deque
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import structlog

from kurz import metrics
from kurz.clicks.batch import Batch, JournalPosition, LinkOwner, SubjectKind
from kurz.clicks.ports import ClickStore
from kurz.clicks.segments import Corrupt, Damage, check_end, quarantine
from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.jobs.clicks.journals import JournalFolder, Segment
from kurz.jobs.clicks.owners import LinkOwners
from kurz.jobs.clicks.pace import MAX_RECORDS, CountingPace
from kurz.jobs.clicks.survey import Survey
from kurz.rounds import Rounds

WAKE_SECONDS = 1.0
STOP_SECONDS = 10.0  # for what is left at the end; the next start continues

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Counting(Protocol):
    """Turns the bytes of a segment into sums. Pure, except for reading the file."""

    def read(
        self, path: Path, offset: int, limit: int, until: int | None = None
    ) -> tuple[Sequence[Any], int]:
        """At most this many whole records from the offset, up to the offset `until`, and where they
        end. None at the end, or at an incomplete record. Raises `Corrupt` at damage, once all
        records before it were returned."""

    def link_ids(self, records: Sequence[Any]) -> Collection[int]:
        """The links of these clicks."""

    def aggregate(
        self,
        records: Sequence[Any],
        owners: Mapping[int, LinkOwner],
        start: JournalPosition,
        end: JournalPosition,
    ) -> Batch: ...


class CopyQueue(Protocol):
    """Brings the counts to the links themselves."""

    def note(self, link_ids: Collection[int]) -> None:
        """Clicks of these links were counted."""

    @property
    def waiting(self) -> int:
        """How many links do not show that yet."""


@contextmanager
def _collecting_garbage_later() -> Iterator[None]:
    """A batch has hundreds of thousands of objects and no cycles. Looking for cycles among them
    took a sixth of the time. The garbage of other work is collected seconds later."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Loader(Rounds):
    """Counts the journals in these folders; of a segment that is held what is there by now.
    `prepares_ahead`: the next batch is prepared while the store writes one."""

    def __init__(
        self,
        folders: Iterable[JournalFolder],
        store: ClickStore,
        counting: Counting,
        clock: Clock,
        *,
        copier: CopyQueue | None = None,
        prepares_ahead: bool = True,
        wake_seconds: float = WAKE_SECONDS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        super().__init__("counting clicks", self._load_some, wake_seconds)
        self.clicks = 0
        self.owners = LinkOwners(store)
        self._survey = Survey(folders, store, clock)
        self._store = store
        self._counting = counting
        self._copier = copier
        self._pace = CountingPace()
        self._prepares_ahead = prepares_ahead
        self._stop_seconds = stop_seconds
        self._turns = count(1)
        self._batches = 0
        self._refused = 0
        self._damaged_bytes = 0

    async def stop(self) -> None:
        """Counts what is there, until the time is up."""
        was_started = self._task is not None
        await super().stop()
        if was_started:
            await self.attempt(partial(self.load_all, self._stop_seconds))

    async def load_all(self, seconds: float = math.inf) -> int:
        """Counts everything that is there by now, if the time is enough; returns the number of
        clicks. Raises `StoreUnavailable`."""
        before, until = self.clicks, time.monotonic() + seconds
        while time.monotonic() < until and not await self._load(until):
            pass
        return self.clicks - before

    def counts(self) -> dict[str, int]:
        """What it has done so far, and what is left."""
        waiting_since = self._survey.waiting_since_micros()
        return {
            "clicks_loaded": self.clicks,
            "clicks_batches": self._batches,
            "clicks_refused_batches": self._refused,
            "clicks_damaged_bytes": self._damaged_bytes,
            "clicks_load_errors": self.failures + self._survey.errors,
            "clicks_backlog_bytes": self._survey.backlog_bytes,
            "clicks_backlog_segments": self._survey.backlog_segments,
            "click_copies_waiting": 0 if self._copier is None else self._copier.waiting,
            metrics.WAITING_SINCE: 0 if waiting_since is None else waiting_since // 1_000_000,
        }

    async def _load_some(self) -> None:
        """Until nothing is left, or it is to stop."""
        while not await self._load(time.monotonic() + self._wake_seconds):
            self._is_down = False
            if self.is_stopping:
                break

    async def _load(self, until: float) -> bool:
        """Finds what there is, and counts until the given time. True if nothing is left that can be
        counted now."""
        waiting = deque(await self._survey.look())
        with _collecting_garbage_later():
            is_done = await self._count(waiting, until)
        await self._survey.tidy()
        return is_done and not waiting

    async def _count(self, waiting: deque[Segment], until: float) -> bool:
        """Counts these segments in turn, each up to the size that it had when it was found. What is
        written meanwhile waits for the next round: a few large batches cost less than many small
        ones, and the pause between is for others. False if one must be read again."""
        applying: asyncio.Future[None] | None = None
        caught_up: list[Segment] = []
        is_done = True
        try:
            while waiting and time.monotonic() < until:
                segment = waiting.popleft()  # each in turn: a large one does not delay the others
                segment.turn = next(self._turns)
                batch = await self._attempt(segment, self._prepare(segment))
                applied, applying = applying, None
                if applied is not None:
                    await applied
                if segment.offset is None:
                    is_done = is_done and segment.is_failing
                elif batch is None:
                    self._survey.finish(segment)
                else:
                    apply = self._attempt(segment, self._apply(segment, batch))
                    applying = asyncio.ensure_future(apply)
                    if not self._prepares_ahead:
                        await applying
                    is_at_end = segment.is_held and segment.read_to >= segment.size
                    (caught_up if is_at_end else waiting).append(segment)
        finally:
            if applying is not None:
                await applying
        return is_done and not any(it.offset is None and not it.is_failing for it in caught_up)

    async def _attempt(self, segment: Segment, work: Awaitable[T]) -> T | None:
        """Whatever is wrong with a segment, the others continue. An outage of the store is
        raised."""
        try:
            return await work
        except StoreUnavailable:
            raise
        except FileNotFoundError:  # removed by another loader, or by a person
            self._survey.drop(segment)
        except Exception as error:  # noqa: BLE001  see above
            self._survey.fail(segment, error)
        return None

    async def _prepare(self, segment: Segment) -> Batch | None:
        """The next batch of the segment, after those that are being counted; None at its end."""
        start = JournalPosition(segment.id, segment.read_to)
        if segment.begun_end is not None:
            return await self._prepare_again(segment, start, segment.begun_end)
        try:
            records, offset = await asyncio.to_thread(
                self._counting.read, segment.path, start.offset, self._pace.records
            )
            if not records and not segment.is_held:
                await asyncio.to_thread(check_end, segment.path, start.offset)
        except Corrupt as corrupt:
            return await self._pass_by(segment, start, corrupt)
        if not records:
            return None
        return await self._aggregate(segment, records, start, offset)

    async def _prepare_again(self, segment: Segment, start: JournalPosition, end: int) -> Batch:
        """The batch that is partly counted, with the same clicks. Clicks that have become
        unreadable since are left out."""
        records: list[Any] = []
        offset, damage = start.offset, None
        while offset < end:
            try:
                more, next_offset = await asyncio.to_thread(
                    self._counting.read, segment.path, offset, MAX_RECORDS, end
                )
                records += more
            except Corrupt as corrupt:
                at = max(corrupt.offset, offset)
                damage = await asyncio.to_thread(quarantine, segment.path, at)
                next_offset = damage.next_offset
            if next_offset == offset:
                break
            offset = next_offset
        batch = await self._aggregate(segment, records, start, end)
        batch.damage = damage
        return batch

    async def _aggregate(
        self, segment: Segment, records: Sequence[Any], start: JournalPosition, offset: int
    ) -> Batch:
        owners = await self.owners.get(self._counting.link_ids(records))
        end = JournalPosition(segment.id, offset)
        batch = await asyncio.to_thread(self._counting.aggregate, records, owners, start, end)
        segment.read_to = offset
        return batch

    async def _pass_by(self, segment: Segment, start: JournalPosition, corrupt: Corrupt) -> Batch:
        """An empty batch that moves the position past the damage."""
        offset = max(corrupt.offset, start.offset)  # a header is read again before its end
        damage = await asyncio.to_thread(quarantine, segment.path, offset)
        segment.read_to = damage.next_offset
        return Batch(start, JournalPosition(segment.id, damage.next_offset), damage=damage)

    async def _apply(self, segment: Segment, batch: Batch) -> None:
        began_at = time.monotonic()
        try:
            is_counted = await self._store.apply(batch)
        except StoreUnavailable:
            self._pace.slow_down()  # perhaps the batch was too large for the time limit
            raise
        if not is_counted:
            self._refused += 1
            segment.doubt()
            return
        self._batches += 1
        self.clicks += batch.clicks
        self._pace.note(batch.clicks, time.monotonic() - began_at)
        if self._copier is not None:
            self._copier.note({it.id for it, _ in batch.days if it.kind is SubjectKind.LINK})
        self._survey.move(segment, batch.end.offset)
        if batch.damage is not None and batch.damage.skipped:
            self._tell(segment, batch.damage)

    def _tell(self, segment: Segment, damage: Damage) -> None:
        """Called once the damage is skipped: until then it is found again at every turn."""
        self._damaged_bytes += damage.skipped
        _log.error(
            "journal is damaged",
            path=str(segment.path),
            offset=damage.next_offset - damage.skipped,
            skipped_bytes=damage.skipped,
            kept=str(damage.kept),
        )
