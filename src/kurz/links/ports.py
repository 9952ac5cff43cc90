"""What the links service needs from a store."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from kurz.links.model import (
    OPERATORS_EDIT,
    Act,
    Cached,
    Change,
    Filter,
    HistoryEntry,
    Link,
    PageEnd,
    Route,
    Scope,
)
from kurz.paging import WHOLE, Part
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt


class LinkStore(Protocol):
    """Keeps links. Every write is durable when it returns, and leaves its row in the change log in
    the same transaction. An outage raises `StoreUnavailable`, never "not found"."""

    async def insert(
        self,
        link: Link,
        claim_hash: bytes | None = None,
        *,
        allowances: tuple[Allowance, ...] = (),
        receipt: Receipt | None = None,
    ) -> int | None:
        """Stores a new link and returns the id it got. None: its code is taken in its workspace or
        kept for somebody else who had it, or, for a deterministic link, its canonical URL is taken.
        In the same transaction the allowances are spent (`QuotaExceeded` undoes it all) and the
        receipt kept (`AlreadyAnswered` does); it is handed the id."""

    async def find(self, link_id: int, scope: Scope) -> Link | None: ...

    async def find_by_code(self, workspace_id: int, short_code: str) -> Link | None: ...

    async def is_free(self, link: Link, short_code: str, now: datetime) -> bool:
        """Whether an existing link could get this code, which no other has, and which is not kept
        for somebody else."""

    async def is_kept(
        self, workspace_id: int, short_code: str, owner_id: int | None, now: datetime
    ) -> bool:
        """Whether a new link of this owner could not get a code that no link has, because it is
        kept for somebody else."""

    async def find_deterministic(self, workspace_id: int, canonical_url: str) -> Link | None: ...

    async def list(
        self,
        scope: Scope,
        wanted: Filter,
        now: datetime,
        *,
        after: PageEnd | None = None,
        limit: int,
    ) -> tuple[list[Link], int]:
        """Up to `limit` links behind `after` in the order of `wanted`, and the number of all that
        fit it: exact, a link written a moment ago included, but never above `COUNTED_LINKS` + 1."""

    async def update(
        self,
        link: Link,
        changes: Mapping[str, Any],
        updated_at: datetime,
        act: Act = OPERATORS_EDIT,
        *,
        receipt: Receipt | None = None,
    ) -> Link | None:
        """Writes `changes` (fields of `Link`) if the stored version is still `link.version`, and
        returns the link with its next version. None: somebody else wrote first, or the new code
        is taken, or kept for somebody else. The act is kept in the link's history, and the receipt
        as by `insert`; it is handed the link."""

    async def history(self, link_id: int, part: Part = WHOLE) -> Sequence[HistoryEntry]:
        """The last 1000 entries, newest first."""

    async def claim(
        self,
        short_code: str,
        claim_hash: bytes,
        account_id: int,
        now: datetime,
        allowances: tuple[Allowance, ...] = (),
        *,
        admit: Callable[[str], bool],
    ) -> Link | None:
        """Makes a live anonymous link the account's, for ever. None, whatever the reason: it is
        not theirs to claim. `admit` is asked about where it leads once that is proved: False holds
        the link, True releases it, and what it raises undoes it all."""

    async def find_claimed(self, account_id: int, claim_hash: bytes) -> Link | None:
        """The link that an account got by a claim before."""

    async def spend_click(self, link_id: int) -> bool:
        """Uses up one of a link's `max_clicks`; False when none is left. Exact however many
        workers ask at once. Only the last one is told to the change log: until then nobody needs
        to know."""


class Screen(Protocol):
    """What judges where links may lead, by lists and bans."""

    def admit(self, location: str) -> bool:
        """`DestinationRefused`: no link may lead there. False: that cannot be told at the moment,
        and visitors of the link are to be warned. Neither waits nor raises anything else."""


class NullScreen:
    """No lists, no bans."""

    def admit(self, location: str) -> bool:  # noqa: ARG002
        return True


class NotNow(Exception):
    """The answer is not to be had without waiting."""


class RouteStore(Protocol):
    """The read path's view of links. None: there is no such link. An outage raises
    `StoreUnavailable`."""

    def peek(self, workspace_id: int, short_code: str) -> Route | None:
        """Without waiting for anything, or `NotNow`."""

    async def find(self, workspace_id: int, short_code: str) -> Route | None: ...


class RouteCache(Protocol):
    """The second tier, between a worker's memory and the store. Never raises: an outage reads as a
    miss and is counted."""

    async def find(self, workspace_id: int, short_code: str) -> Cached | None: ...

    def keep(self, workspace_id: int, short_code: str, found: Route | None, position: int) -> None:
        """Told in the background what the store said when the change log stood at `position`; what
        is newer there stays."""

    def forget(self, changes: Sequence[Change]) -> None:
        """Told in the background what this process has written: nothing older is kept from then
        on."""


class FeedListener(Protocol):
    def hear(self, changes: Sequence[tuple[int, Change]]) -> None:
        """Rows of the change log with their numbers, and before that what this process has written
        itself, with number 0. Neither waits nor raises."""

    def start_over(self, position: int) -> None:
        """Changes up to this number may have been missed: nothing from before is to be believed.
        Those behind it are told next."""

    def settle(self, position: int) -> None:
        """Every row up to this number has been told."""


class ChangeLog(Protocol):
    """Every committed write of a link, in numbered rows. Rows may become visible in another order
    than that of their numbers. An outage raises `StoreUnavailable`."""

    async def last(self) -> int:
        """The highest number so far, 0 if there is none."""

    async def read(self, after: int, limit: int) -> Sequence[tuple[int, Change]]:
        """The next rows behind a number."""

    async def read_some(self, numbers: Collection[int]) -> Sequence[tuple[int, Change]]:
        """Those of the rows that exist."""

    async def writers(self) -> frozenset[str]:
        """Names of the transactions that may have taken numbers, and have not ended. What others
        have committed is there to read afterwards."""


class Counter(Protocol):
    async def next(self) -> int:
        """A number that no other caller of the installation ever gets."""
