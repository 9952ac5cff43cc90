"""Folds old days of clicks into months."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import groupby

import sqlalchemy as sa

from kurz.clicks.batch import Subject
from kurz.clicks.months import first_open_day
from kurz.rounds import paced, rest_after
from kurz.storage.clicks.folding import (
    FoldedMonth,
    FoldPosition,
    find_due,
    find_fold_position,
    forget_sums,
    move_fold_position,
    prepare_slice,
    write_folded,
)
from kurz.storage.clicks.slices import SlicePace
from kurz.storage.clicks.store import lock_counting
from kurz.storage.engine.database import Database

STRETCH = 2000  # subjects that are looked at in one read
AT_ONCE = 200  # subjects whose days are read together
ROWS = 1000  # a transaction, where only loaders wait for it
FIRST_ROWS = 250  # on SQLite: most of them are on a page of their own
ATTEMPTS = 5  # for a slice whose rows change meanwhile


class _Changed(Exception):
    """A row has changed since it was read: nothing of the slice is written."""


def write_slice(connection: sa.Connection, months: Sequence[FoldedMonth]) -> float:
    """Returns when it began to write, by the monotonic clock."""
    began_at = time.monotonic()
    lock_counting(connection)
    if not write_folded(connection, months):
        raise _Changed
    forget_sums(connection, months)
    return began_at


class DayFolder:
    """Folds days of months that ended at least `kept_days` ago. The days of all subjects are folded
    once after that time; late clicks are added to their month by `fold`. A run continues where the
    last one stopped. Several at once are harmless: a month replaces exactly the rows that it was
    made of, in one transaction.

    `max_held_seconds`: how long a write may block other writers; None: that does not matter."""

    def __init__(
        self, database: Database, kept_days: int, max_held_seconds: float | None = None
    ) -> None:
        self._database = database
        self._kept_days = kept_days
        self._pace = None if max_held_seconds is None else SlicePace(max_held_seconds, FIRST_ROWS)

    def first_kept(self, today: int) -> int:
        """Days before this one are folded."""
        return first_open_day(today, self._kept_days)

    async def run(self, today: int, is_over: Callable[[], bool]) -> int:
        """Returns how many days it folded."""
        position = await self._database.read(find_fold_position)
        before = self.first_kept(today)
        if position.after is None:
            if before <= position.before:
                return 0
            position = FoldPosition(position.before, before, None)
        days, after, folded = range(position.since, position.before), position.after, 0
        while not is_over():
            found = await paced(self._database.read(find_due, after, STRETCH, days))
            folded += await self.fold(found.due, days, is_over)
            if is_over():  # the next run looks at this stretch again
                break
            after = found.end
            await self._database.write(move_fold_position, position._replace(after=after))
            if after is None:
                break
        return folded

    async def fold(
        self, subjects: Sequence[Subject], days: range, is_over: Callable[[], bool]
    ) -> int:
        """Folds these days of some subjects, which are in order; returns how many."""
        folded = 0
        for _, of_kind in groupby(subjects, key=lambda subject: subject.kind):
            same = [*of_kind]
            for start in range(0, len(same), AT_ONCE):
                folded += await self._fold_some(same[start : start + AT_ONCE], days, is_over)
        return folded

    async def _fold_some(
        self, subjects: Sequence[Subject], days: range, is_over: Callable[[], bool]
    ) -> int:
        folded = attempts = 0
        while subjects and not is_over():
            limit = ROWS if self._pace is None else self._pace.size
            started = time.monotonic()
            slice_ = await self._database.read(prepare_slice, subjects, days, limit)
            if not slice_.months:
                break
            try:
                began_at = await self._database.write(write_slice, slice_.months)
            except _Changed:
                attempts += 1
                if attempts == ATTEMPTS:
                    raise
                continue
            if self._pace is not None:  # the commit takes as long as the rest
                self._pace.note(time.monotonic() - began_at, is_full=slice_.days >= limit // 2)
            attempts, folded = 0, folded + slice_.days
            subjects = [it for it in subjects if it >= slice_.months[-1].subject]
            await asyncio.sleep(rest_after(started))
        return folded
