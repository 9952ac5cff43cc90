"""What the reaper needs from a store, and what becomes of links there."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from kurz.links.model import Scope
from kurz.links.retention import Ended, Fate

JOB = "reaper"  # its name among scheduled jobs

IsStopping = Callable[[], bool]


def never() -> bool:
    return False


class ReaperStore(Protocol):
    """Ends links, a batch at a time. What is done to a link is one transaction with its row in
    the change log. Every write says by its own condition which links it is for: several reapers at
    once, or one that was asleep for hours, do nothing twice and touch nothing that lives. `now` and
    `before` are instants of the store's own clock. A batch may be several transactions, and ends
    between two when it is to stop. An outage raises `StoreUnavailable`."""

    async def now(self) -> datetime:
        """By the store's clock, which all instances share."""

    async def mark(self, now: datetime, limit: int, is_stopping: IsStopping = never) -> int:
        """Active links that have expired are called so in their rows; tells how many. Nobody sees a
        difference: there is no new version, and no change to hear of."""

    async def sweep(
        self,
        ended: Ended,
        fate: Fate,
        before: datetime,
        now: datetime,
        limit: int,
        is_stopping: IsStopping = never,
    ) -> int:
        """Moves links to the trash or purges them, that ended before an instant; tells how many.
        `Fate.ARCHIVE` is not for here."""

    async def count(self, ended: Ended, before: datetime, limit: int) -> int:
        """How many there are to sweep; no more than `limit` are counted."""

    async def count_unmarked(self, before: datetime, limit: int, ended: Ended | None = None) -> int:
        """How many there are to mark that expired before, in the same way: all, or those that are
        TEMPORARY or PERMANENT."""


class TrashStore(Protocol):
    """Ends links in the trash before their time. As in the reaper's batches, a purge leaves its row
    in the change log and keeps strangers from a code at the root. An outage raises
    `StoreUnavailable`."""

    async def purge(self, scope: Scope, link_id: int, version: int, now: datetime) -> bool:
        """False: it is not in the trash of this scope, or not in this version any more."""

    async def empty(self, scope: Scope, now: datetime, limit: int) -> int:
        """Purges links in the trash of a scope, those first that were written longest ago; tells
        how many. Fewer than `limit`: none is left but what somebody is just writing."""


class HousekeepingStore(Protocol):
    """Removes what is of no use to anybody any more, a batch at a time. Each tells how many rows
    it has removed; 0: there are no more. An outage raises `StoreUnavailable`."""

    async def trim_codes(self, now: datetime, limit: int) -> int:
        """Codes of purged links that anybody may have by now."""

    async def trim_receipts(self, now: datetime, limit: int) -> int:
        """Answers to requests that are too old to be repeated."""

    async def trim_passes(self, now: datetime, limit: int) -> int:
        """One-time links that have expired."""

    async def trim_reports(self, now: datetime, limit: int) -> int:
        """Reports of abuse that were decided long ago."""

    async def trim_limits(self, now: datetime, limit: int) -> int:
        """Rate limits that are whole again."""

    async def trim_clicks(self, after: int, limit: int) -> tuple[int, int | None]:
        """Looks at the next so many changes behind a number, and removes what was counted for links
        that are gone: some clicks are counted after a purge. Tells for how many, and behind which
        number to go on; None: that was all."""
