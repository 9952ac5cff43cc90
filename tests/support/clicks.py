"""Clicks for tests of the loader: segments, a store in memory, and a count of links alone."""

import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from kurz.clicks.batch import (
    Batch,
    DayCounts,
    JournalPosition,
    LinkOwner,
    SegmentProgress,
    Subject,
    SubjectKind,
)
from kurz.clicks.header import Header, path_of
from kurz.clicks.record import UNKNOWN_VISITOR, encode, link_tag_of, visit_of
from kurz.clicks.segments import Corrupt
from kurz.settings.model import Settings
from kurz.storage.schema.clicks import click_days, click_events, click_totals
from kurz.wiring.core import open_kurz
from support.journal_reader import Click, read
from support.program import Program

DEADLINE_SECONDS = 60.0
AT_MICROS = 1_772_366_400_000_000  # 2026-03-01 12:00 UTC, where the frozen clock begins
DAY_MICROS = 86_400_000_000


def click(link_id: int, at_micros: int = AT_MICROS, user_agent: bytes = b"test") -> bytes:
    visit = visit_of(b"", UNKNOWN_VISITOR, 0, user_agent, b"", b"")
    return encode(at_micros, 100_000, link_tag_of(link_id, 0), visit)


def write_segment(folder: Path, *records: bytes, identity: bytes | None = None) -> Path:
    """A segment that nobody holds."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    header = Header(identity or secrets.token_bytes(16), AT_MICROS)
    path = path_of(folder, header.id)
    path.write_bytes(header.encode() + b"".join(records))
    return path


class Counted(NamedTuple):
    """What the tables say: by links in the totals and in the days, the installation's total, and
    single clicks."""

    by_links: Counter[int]
    by_days: Counter[int]
    in_all: int
    events: int


async def count_all(settings: Settings) -> Counted:
    def query(connection: sa.Connection) -> Counted:
        def find(table: sa.Table, kind: SubjectKind) -> Counter[int]:
            found: Counter[int] = Counter()
            columns = table.c.subject, table.c.clicks
            for subject, clicks in connection.execute(
                sa.select(*columns).where(table.c.kind == kind.value)
            ):
                found[subject] += clicks
            return found

        return Counted(
            find(click_totals, SubjectKind.LINK),
            find(click_days, SubjectKind.LINK),
            find(click_totals, SubjectKind.INSTALLATION).total(),
            connection.execute(sa.select(sa.func.count()).select_from(click_events)).scalar_one(),
        )

    async with open_kurz(settings) as kurz:
        return await kurz.database.read(query)


def loaded(program: Program) -> int:
    """By its own count: `KURZ_METRICS` is "public"."""
    with program.client() as client:
        text = client.get("/metrics").text
    [number] = re.findall(r"^kurz_clicks_loaded_total (\S+)$", text, re.MULTILINE)
    return int(float(number))


def wait_until(holds: Callable[[], object], pause_seconds: float = 0.05) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause_seconds)


class MemoryClickStore:
    """A `ClickStore` whose numbers can be looked at. What is in `failures` is raised instead of the
    next calls; `calls` are the names of all."""

    def __init__(self) -> None:
        self.offsets: dict[bytes, int] = {}
        self.clicks: Counter[int] = Counter()
        self.known: dict[int, LinkOwner] = {}
        self.failures: list[Exception] = []
        self.calls: list[str] = []
        self.sizes: list[int] = []

    async def positions(self, segments: Collection[bytes]) -> Mapping[bytes, SegmentProgress]:
        self._call("positions")
        known = self.offsets
        return {id_: SegmentProgress(known[id_]) for id_ in segments if id_ in known}

    async def owners(self, link_ids: Collection[int]) -> Mapping[int, LinkOwner]:
        self._call("owners")
        return {id_: self.known[id_] for id_ in link_ids if id_ in self.known}

    async def apply(self, batch: Batch) -> bool:
        self._call("apply")
        if self.offsets.get(batch.start.segment, 0) != batch.start.offset:
            return False
        self.offsets[batch.end.segment] = batch.end.offset
        self.sizes.append(batch.clicks)
        for (subject, _), day in batch.days.items():
            self.clicks[subject.id] += day.clicks
        return True

    async def forget(self, segments: Collection[bytes]) -> None:
        self._call("forget")
        for id_ in segments:
            self.offsets.pop(id_, None)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.failures:
            raise self.failures.pop(0)


class LinkCounting:
    """A `Counting` of links alone, over the reader that is simple rather than quick."""

    def read(
        self, path: Path, offset: int, limit: int, until: int | None = None
    ) -> tuple[Sequence[Click], int]:
        assert until is None, "no batch of this store is counted in part"
        found: list[tuple[Click, int]] = []
        try:
            found.extend(islice(read(path, offset), limit))
        except Corrupt:
            if not found:
                raise
        return [record for record, _ in found], found[-1][1] if found else offset

    def link_ids(self, records: Sequence[Click]) -> set[int]:
        return {record.link_id for record in records}

    def aggregate(
        self,
        records: Sequence[Click],
        owners: Mapping[int, LinkOwner],
        start: JournalPosition,
        end: JournalPosition,
    ) -> Batch:
        assert owners.keys() <= self.link_ids(records)
        batch = Batch(start, end, clicks=len(records))
        for record in records:
            key = Subject(SubjectKind.LINK, record.link_id), record.at_micros // DAY_MICROS
            batch.days.setdefault(key, DayCounts()).clicks += 1
        return batch
