"""Which segments there are, how far each is counted, and when the counted ones are removed."""

import time
from collections.abc import Iterable
from pathlib import Path

import structlog

from kurz.clicks.batch import SegmentProgress
from kurz.clicks.ports import ClickStore
from kurz.clicks.segments import Corrupt, find_header, is_held, list_segments
from kurz.clock import Clock
from kurz.errors import SettingRefused
from kurz.jobs.clicks.journals import (
    KEPT,
    REMEMBERED,
    JournalFolder,
    Segment,
    find_instant,
    is_older,
    mark_counted,
)

# How often positions are read that should not have moved: an older backup may have been restored.
CHECK_SECONDS = 60.0
AT_A_TIME = 500  # positions
NOT_COUNTED = SegmentProgress(0)

_log = structlog.get_logger(__name__)


class Survey:
    def __init__(
        self,
        folders: Iterable[JournalFolder],
        store: ClickStore,
        clock: Clock,
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self.errors = 0
        self._folders = list(folders)
        self._store = store
        self._clock = clock
        self._check_seconds = check_seconds
        self._check_at = 0.0
        self._is_checking = False
        self._segments: dict[Path, Segment] = {}
        self._readable: list[JournalFolder] = []
        self._failing: set[JournalFolder] = set()

    async def look(self) -> list[Segment]:
        """The segments that have something to count, the one that waited longest first. Raises
        `StoreUnavailable`."""
        self._readable = [folder for folder in self._folders if self._is_readable(folder)]
        self._is_checking = time.monotonic() >= self._check_at
        segments = self._segments.values()
        await self._ask([s for s in segments if self._is_checking or s.offset is None])
        for segment in [*self._segments.values()]:
            if not segment.is_settled:
                self._look_at(segment)
        found = [s for s in self._segments.values() if s.offset is not None and s.backlog]
        return sorted(found, key=lambda segment: segment.turn)

    def move(self, segment: Segment, offset: int) -> None:
        """It is counted up to there."""
        segment.offset, segment.begun_end = offset, None
        segment.is_failing = False
        if segment.counted_file.exists():  # from before an older backup was restored
            segment.counted_file.unlink(missing_ok=True)

    def finish(self, segment: Segment) -> None:
        """Nothing more can be read from it; never again, if no writer held it before this
        attempt."""
        if segment.is_held or segment.is_settled:
            return
        try:
            mark_counted(segment, self._clock.micros())
        except OSError as error:
            self.fail(segment, error)
        else:
            segment.is_settled = True

    def drop(self, segment: Segment) -> None:
        """Its file was removed."""
        self._segments.pop(segment.path, None)
        segment.doubt()

    def fail(self, segment: Segment, error: Exception) -> None:
        """It is tried again; the error is logged once."""
        segment.doubt()
        self.errors += 1
        if not segment.is_failing:
            segment.is_failing = True
            trace = None if isinstance(error, OSError) else error
            _log.error(
                "journal cannot be counted",
                path=str(segment.path),
                reason=str(error),
                exc_info=trace,
            )

    async def tidy(self) -> None:
        """Removes segments that were counted long ago, if the database has just confirmed that.
        Raises `StoreUnavailable`."""
        if self._is_checking:
            self._remove_counted()
            await self._forget_removed()
            self._check_at = time.monotonic() + self._check_seconds

    @property
    def backlog_bytes(self) -> int:
        return sum(segment.backlog for segment in self._segments.values())

    @property
    def backlog_segments(self) -> int:
        return sum(segment.backlog > 0 for segment in self._segments.values())

    def waiting_since_micros(self) -> int | None:
        """The time of the oldest click that is not counted yet, as far as that can be read."""
        instants = []
        for segment in self._segments.values():
            if segment.backlog:
                try:
                    instants.append(find_instant(segment.path, segment.offset or 0))
                except OSError:  # gone, or counted as an error elsewhere
                    continue
        return min((instant for instant in instants if instant is not None), default=None)

    def _is_readable(self, folder: JournalFolder) -> bool:
        """Notes the segments in the folder, if they may be counted."""
        try:
            paths = list_segments(folder.path) if folder.check() else []
        except (OSError, SettingRefused) as error:
            self.errors += 1
            if folder not in self._failing:
                self._failing.add(folder)
                _log.error("journals cannot be counted", folder=str(folder.path), reason=str(error))
            return False
        self._failing.discard(folder)
        for path in paths:
            self._segments.setdefault(path, Segment(path))
        return True

    async def _ask(self, segments: list[Segment]) -> None:
        """Reads how far they are counted. A segment whose position has moved must be read again."""
        for start in range(0, len(segments), AT_A_TIME):
            some = segments[start : start + AT_A_TIME]
            found = await self._store.positions([segment.id for segment in some])
            for segment in some:
                offset, segment.begun_end = found.get(segment.id, NOT_COUNTED)
                if offset != segment.offset:
                    segment.offset, segment.is_settled = offset, False

    def _look_at(self, segment: Segment) -> None:
        try:
            if segment.offset == 0:
                _check_header(segment)
            segment.is_held = is_held(segment.path)
            segment.size = segment.path.stat().st_size
            segment.read_to = segment.offset or 0
            if not segment.backlog:
                self.finish(segment)
        except FileNotFoundError:
            self.drop(segment)
        except Exception as error:  # noqa: BLE001  whatever it is, the others go on
            self.fail(segment, error)

    def _remove_counted(self) -> None:
        now = self._clock.micros()
        for segment in [*self._segments.values()]:
            try:
                if segment.is_settled and is_older(segment.counted_file, KEPT, now):
                    segment.path.unlink(missing_ok=True)
                    self.drop(segment)
            except OSError as error:
                self.fail(segment, error)

    async def _forget_removed(self) -> None:
        now = self._clock.micros()
        for folder in self._readable:
            files = [
                file for file in folder.list_lone_counted_files() if is_older(file, REMEMBERED, now)
            ]
            for start in range(0, len(files), AT_A_TIME):
                some = files[start : start + AT_A_TIME]
                await self._store.forget([bytes.fromhex(file.stem) for file in some])
                for file in some:
                    file.unlink(missing_ok=True)


def _check_header(segment: Segment) -> None:
    try:
        header = find_header(segment.path)
    except Corrupt:  # a reader will see
        return
    if header is not None and header.id != segment.id:
        raise ValueError("it is a copy of another segment")
