"""From journals to the store: every click is counted once.

How far a segment is counted stands in the database and is moved by the transaction that counts.
Whatever happens in between, and however many loaders there are, a batch that does not start there
is refused, and the loader looks again.
"""

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import structlog

from kurz import metrics
from kurz.clicks.batch import Batch, Home, Kind, Position
from kurz.clicks.ports import ClickStore
from kurz.clicks.segments import Corrupt, Damage, check_end, quarantine
from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.jobs.homes import Homes
from kurz.jobs.journals import JournalFolder, Segment
from kurz.jobs.pace import Pace
from kurz.jobs.survey import Survey

WAKE_SECONDS = 1.0
STOP_SECONDS = 10.0  # for what is left at the end; the next start goes on

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Counting(Protocol):
    """From the bytes of a segment to what they add. Pure, but for reading the file."""

    def read(self, path: Path, offset: int, limit: int) -> tuple[Sequence[Any], int]:
        """At most so many whole records from there on, and where they end. None at the end, or at
        what is not whole yet. Raises `Corrupt` at damage, when all records before it are given."""

    def link_ids(self, records: Sequence[Any]) -> Collection[int]:
        """Those that the records are clicks of."""

    def tally(
        self, records: Sequence[Any], homes: Mapping[int, Home], start: Position, end: Position
    ) -> Batch: ...


class Loader:
    """Counts the journals in these folders; of a segment that is held what is there by now.
    `on_counted` is told the links whose clicks were counted; `copies_waiting` tells how many of
    them do not show that yet. `max_held_seconds` is how long a batch
    may keep others from writing, where it does."""

    def __init__(
        self,
        folders: Iterable[JournalFolder],
        store: ClickStore,
        counting: Counting,
        clock: Clock,
        *,
        on_counted: Callable[[Collection[int]], None] = lambda _: None,
        copies_waiting: Callable[[], int] = lambda: 0,
        max_held_seconds: float | None = None,
        wake_seconds: float = WAKE_SECONDS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self.clicks = 0
        self.homes = Homes(store)
        self._survey = Survey(folders, store, clock)
        self._store = store
        self._counting = counting
        self._on_counted = on_counted
        self._copies_waiting = copies_waiting
        self._pace = Pace(max_held_seconds)
        self._wake_seconds = wake_seconds
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._turns = count(1)
        self._is_down = False
        self._batches = 0
        self._refused = 0
        self._damaged_bytes = 0
        self._errors = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._stopping.clear()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Counts what is there, as far as the time suffices."""
        self._stopping.set()
        if self._task is not None:
            await self._task
            self._task = None
            await self._try(partial(self.load_all, self._stop_seconds))

    async def load_all(self, seconds: float = math.inf) -> int:
        """Counts all that is there by now, if the time suffices; gives the number of clicks. Raises
        `StoreUnavailable`."""
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
            "clicks_load_errors": self._errors + self._survey.errors,
            "clicks_backlog_bytes": self._survey.backlog_bytes,
            "clicks_backlog_segments": self._survey.backlog_segments,
            "click_copies_waiting": self._copies_waiting(),
            metrics.WAITING_SINCE: 0 if waiting_since is None else waiting_since // 1_000_000,
        }

    async def _run(self) -> None:
        while not self._stopping.is_set():
            is_done = await self._try(partial(self._load, time.monotonic() + self._wake_seconds))
            if is_done is not False:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._wake_seconds):
                        await self._stopping.wait()

    async def _try(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """None if it failed: the next turn may succeed."""
        try:
            result = await work()
        except StoreUnavailable as outage:
            if not self._is_down:
                _log.warning("clicks waiting for the database", detail=outage.detail)
            self._is_down = True
        except Exception:  # noqa: BLE001  see above
            self._errors += 1
            _log.exception("clicks cannot be counted")
        else:
            self._is_down = False
            return result
        return None

    async def _load(self, until: float) -> bool:
        """Looks what there is, and counts until then. True if nothing is left that can be counted
        now."""
        waiting = deque(await self._survey.look())
        applying: asyncio.Future[None] | None = None
        is_done = True
        try:
            while waiting and time.monotonic() < until:
                segment = waiting.popleft()  # each has its turn: a large one holds nobody up
                segment.turn = next(self._turns)
                # While the store works on a batch, the next one is made.
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
                    if self._pace.is_bounded:
                        await applying
                    waiting.append(segment)
        finally:
            if applying is not None:
                await applying
        await self._survey.tidy()
        return is_done and not waiting

    async def _attempt(self, segment: Segment, work: Awaitable[T]) -> T | None:
        """Whatever is wrong with a segment, the others go on. An outage of the store is raised."""
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
        """The next batch of the segment, behind those that are being counted; None at its end."""
        start = Position(segment.id, segment.read_to)
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
        homes = await self.homes.get(self._counting.link_ids(records))
        end = Position(segment.id, offset)
        batch = await asyncio.to_thread(self._counting.tally, records, homes, start, end)
        segment.read_to = offset
        return batch

    async def _pass_by(self, segment: Segment, start: Position, corrupt: Corrupt) -> Batch:
        """A batch of nothing, that moves the position behind the damage."""
        offset = max(corrupt.offset, start.offset)  # a header is read again before its end
        damage = await asyncio.to_thread(quarantine, segment.path, offset)
        segment.read_to = damage.next_offset
        return Batch(start, Position(segment.id, damage.next_offset), damage=damage)

    async def _apply(self, segment: Segment, batch: Batch) -> None:
        if not await self._store.apply(batch):
            self._refused += 1
            segment.doubt()
            return
        self._batches += 1
        self.clicks += batch.clicks
        self._pace.note(batch.clicks, self._store.held_seconds)
        self._on_counted({subject.id for subject, _ in batch.days if subject.kind is Kind.LINK})
        self._survey.move(segment, batch.end.offset)
        if batch.damage is not None and batch.damage.skipped:
            self._tell(segment, batch.damage)

    def _tell(self, segment: Segment, damage: Damage) -> None:
        """Once it is passed by: until then it is found again at every turn."""
        self._damaged_bytes += damage.skipped
        _log.error(
            "journal is damaged",
            path=str(segment.path),
            offset=damage.next_offset - damage.skipped,
            skipped_bytes=damage.skipped,
            kept=str(damage.kept),
        )
