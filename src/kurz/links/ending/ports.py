"""What the reaper, the trash and housekeeping need from a store."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Scope

JOB = "reaper"  # its name among scheduled jobs

IsStopping = Callable[[], bool]


def never() -> bool:
    return False


class ReaperStore(Protocol):
    """Ends links, in batches. Each write of a link is in one transaction with its row in the change
    log. Every write checks by its own condition which links are due. Several reapers at once, or
    one that was suspended for hours, therefore do nothing twice and touch no active link. `now` and
    `before` are instants of the store's own clock. A batch may have several transactions, and can
    be stopped between two of them. An outage raises `StoreUnavailable`."""

    async def now(self) -> datetime:
        """By the store's clock, which all instances share."""

    async def mark_expired(self, now: datetime, limit: int, is_stopping: IsStopping = never) -> int:
        """Marks active links that have expired as expired; returns how many. Readers see no
        difference, so there is no new version and no row in the change log."""

    async def sweep(
        self,
        ended: EndedKind,
        action: RetentionAction,
        before: datetime,
        now: datetime,
        limit: int,
        is_stopping: IsStopping = never,
    ) -> int:
        """Moves links that ended before an instant to the trash, or purges them; returns how many.
        `RetentionAction.ARCHIVE` is not allowed here."""

    async def count(self, ended: EndedKind, before: datetime, limit: int) -> int:
        """How many links there are to sweep, counted up to `limit`."""

    async def count_unmarked(
        self, before: datetime, limit: int, ended: EndedKind | None = None
    ) -> int:
        """How many links there are to mark, counted up to `limit`: all, or only TEMPORARY or
        PERMANENT ones."""


class TrashStore(Protocol):
    """Purges links in the trash early. As by the reaper, a purge leaves its row in the change log
    and reserves a code at the root for its owner. An outage raises `StoreUnavailable`."""

    async def purge(self, scope: Scope, link_id: int, version: int, now: datetime) -> bool:
        """False: it is not in the trash of this scope, or has another version by now."""

    async def empty(self, scope: Scope, now: datetime, limit: int) -> int:
        """Purges links in the trash of a scope, least recently written first; returns how many.
        Fewer than `limit`: none is left, except links that are being written."""


class AccountEnds(Protocol):
    """Ends the links of deleted accounts, in batches. Visitors see no difference. The condition of
    every write checks what is left to do. An outage raises `StoreUnavailable`."""

    async def find(self) -> list[int]:
        """The accounts whose links have not all ended, in the order of their deletion."""

    async def trash_links(self, account_id: int, now: datetime, limit: int) -> int:
        """Goes through the next personal links, and moves them to the trash with the time at which
        the account was deleted. Returns how many it has seen; fewer than `limit`: all."""

    async def disown_links(self, account_id: int, limit: int) -> int:
        """Removes the owner from links in workspaces; the links stay. Returns how many; fewer than
        `limit`: none is left, except links that are being written."""

    async def end(self, account_id: int) -> bool:
        """Notes that all links of the account have ended. False: some were created at the last
        moment, so its links must be gone through once more."""


class HousekeepingStore(Protocol):
    """Removes rows that are no longer needed, in batches. Each method returns how many it removed;
    0: there are no more. An outage raises `StoreUnavailable`."""

    async def trim_codes(self, now: datetime, limit: int) -> int:
        """Reservations of codes that have ended."""

    async def trim_receipts(self, now: datetime, limit: int) -> int:
        """Answers to requests that are too old to be repeated."""

    async def trim_one_time_tokens(self, now: datetime, limit: int) -> int:
        """One-time links that have expired."""

    async def trim_reports(self, now: datetime, limit: int) -> int:
        """Reports of abuse that were decided long ago."""

    async def trim_limits(self, now: datetime, limit: int) -> int:
        """Rate limits that have fully recovered."""

    async def trim_clicks(self, after: int, limit: int) -> tuple[int, int | None]:
        """Reads the next changes after a number and removes what was counted for purged links: some
        clicks are counted after a purge. Returns for how many links, and the number to continue
        after; None: that was all."""
