"""What the links service needs from a store."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from kurz.links.model import (
    OPERATORS_EDIT,
    Filter,
    FoundLinks,
    HistoryEntry,
    Link,
    LinkAction,
    PageEnd,
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
        reserved for its former owner, or, for a deterministic link, its canonical URL is taken. The
        same transaction spends the allowances and stores the receipt, which gets the id;
        `QuotaExceeded` or `AlreadyAnswered` undoes everything."""

    async def insert_many(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...]
    ) -> list[int | None]:
        """Stores new links in one transaction and returns their ids, in order. None: this one was
        not stored, and `insert` finds out why. If a quota has too little left for all, or another
        transaction holds a code that is needed, none is stored."""

    async def find(self, link_id: int, scope: Scope) -> Link | None: ...

    async def find_by_code(self, workspace_id: int, short_code: str) -> Link | None: ...

    async def is_free(self, link: Link, short_code: str, now: datetime) -> bool:
        """Whether an existing link could get this code: no other link has it, and it is not
        reserved for another owner."""

    async def is_reserved(
        self, workspace_id: int, short_code: str, owner_id: int | None, now: datetime
    ) -> bool:
        """Whether a code that no link has is reserved for another owner."""

    async def find_deterministic(self, workspace_id: int, canonical_url: str) -> Link | None: ...

    async def list(
        self,
        scope: Scope,
        wanted: Filter,
        now: datetime,
        *,
        after: PageEnd | None = None,
        limit: int,
    ) -> FoundLinks:
        """Up to `limit` links after `after` in the order of `wanted`, and the number of all that
        match, including the latest writes, but never above `COUNTED_LINKS`. Where no index leads to
        the matches, it reads up to `READ_LINKS` links and says where it stopped."""

    async def update(
        self,
        link: Link,
        changes: Mapping[str, Any],
        updated_at: datetime,
        action: LinkAction = OPERATORS_EDIT,
        *,
        receipt: Receipt | None = None,
    ) -> Link | None:
        """Writes `changes` (fields of `Link`) if the stored version is still `link.version`, and
        returns the link with its next version. None: another write came first, or the new code is
        taken or reserved. The action is added to the link's history. The receipt is stored as by
        `insert`, and gets the link."""

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
        """Gives an active anonymous link to the account, permanently. None, whatever the reason:
        the account cannot claim it. `admit` is then asked about the destination: False holds the
        link, True releases it, and an exception undoes everything."""

    async def find_claimed(self, account_id: int, claim_hash: bytes) -> Link | None:
        """The link that an account has claimed before."""

    async def spend_click(self, link_id: int) -> bool:
        """Uses up one of a link's `max_clicks`; False when none is left. Exact, however many
        workers ask at once. Only the last click is written to the change log: until then no other
        process needs to know."""


class Screen(Protocol):
    """What judges where links may lead, by lists and bans."""

    def admit(self, location: str) -> bool:
        """`DestinationRefused`: no link may lead there. False: it cannot be judged at the moment,
        and visitors of the link must be warned. Neither waits nor raises anything else."""


class NullScreen:
    """No lists, no bans."""

    def admit(self, location: str) -> bool:  # noqa: ARG002
        return True


class Counter(Protocol):
    async def next(self) -> int:
        """A number that no other caller of the installation ever gets."""
