"""A loader that is stopped at any point, or meets an error there: the next one counts the rest."""

import errno
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kurz.clicks.ports import ClickStore
from kurz.errors import StoreUnavailable
from kurz.jobs.clicks.journals import KEPT, REMEMBERED, JournalFolder
from kurz.jobs.clicks.loader import Loader
from support.clicks import LinkCounting, MemoryClickStore, click, write_segment
from support.clock import FrozenClock
from support.failpoints import FailingStore, Failpoints, Stopped, watch_files

CLICKS = Counter({1: 12, 2: 7, 3: 2})
JUNK = b"\0" * 1000


def fill(journal: Path) -> None:
    """Several batches, a torn end, damage."""
    write_segment(journal, *[click(1)] * 12)
    write_segment(journal, *[click(2)] * 7, click(2)[:-3])
    write_segment(journal, click(3), JUNK, click(3))


def make_loader(store: ClickStore, clock: FrozenClock, journal: Path) -> Loader:
    folder = JournalFolder(journal, "0123456789abcdef", is_own=True)
    loader = Loader([folder], store, LinkCounting(), clock)
    loader._pace.records = 5
    return loader


async def live_through(store: ClickStore, clock: FrozenClock, journal: Path) -> None:
    """All that becomes of segments: each loader meets them in another state."""
    for later in (timedelta(), KEPT, REMEMBERED):
        clock.advance(seconds=later.total_seconds())
        await make_loader(store, clock, journal).load_all()


@pytest.mark.parametrize("are_files", [False, True], ids=["store", "files"])
async def test_stopped_at_any_point_it_has_lost_nothing(tmp_path, monkeypatch, are_files):
    for at in count():
        store, journal = MemoryClickStore(), tmp_path / str(at)
        clock = FrozenClock(datetime.now(UTC))  # files have the time of day
        fill(journal)
        failpoints = Failpoints(at)
        with monkeypatch.context() as patch:
            if are_files:
                watch_files(patch, journal, failpoints)
            with suppress(Stopped):
                await live_through(
                    store if are_files else FailingStore(store, failpoints), clock, journal
                )
        await live_through(store, clock, journal)
        assert store.clicks == CLICKS, at
        assert store.offsets == {}, at
        left = {path.suffix for path in journal.iterdir()}
        assert left == {"", ".corrupt"}, at
        if failpoints.is_over:
            break
    assert at > 20


@pytest.mark.parametrize(
    ("are_files", "error"),
    [
        (False, partial(StoreUnavailable, "away")),
        (False, partial(RuntimeError, "a bug")),
        (True, partial(OSError, errno.EIO, "broken")),
        (True, partial(FileNotFoundError, errno.ENOENT, "gone")),
        (True, partial(OSError, errno.ENOSPC, "full")),
    ],
    ids=["outage", "bug", "broken", "gone", "full"],
)
async def test_the_same_loader_goes_on_after_an_error_at_any_point(
    tmp_path, monkeypatch, are_files, error
):
    for at in count():
        store, journal = MemoryClickStore(), tmp_path / str(at)
        clock = FrozenClock(datetime.now(UTC))  # files have the time of day
        fill(journal)
        failpoints = Failpoints(at, error)
        loader = make_loader(
            store if are_files else FailingStore(store, failpoints), clock, journal
        )
        with monkeypatch.context() as patch:
            if are_files:
                watch_files(patch, journal, failpoints)
            with capture_logs():
                await loader.attempt(loader.load_all)
        await loader.attempt(loader.load_all)
        assert store.clicks == CLICKS, at
        if failpoints.is_over:
            break
    assert at > 10
