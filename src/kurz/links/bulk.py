"""Many links at a time, as import and export need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kurz.errors import KurzError
from kurz.links.model import Link, Scope
from kurz.people.quotas import Allowance


@dataclass(slots=True)
class Holder:
    """The link that already has the code of a new one or, if both are deterministic, its URL. No
    URL at all: the code is reserved for its former owner."""

    short_code: str
    original_url: str
    canonical_url: str


# The new link's row number; the link that has its code; why it is refused; None: try again.
Stored = int | Holder | KurzError | None
# Where the next page of an export starts.
Position = tuple[int, ...]


class BulkInserter(Protocol):
    async def insert(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...], now: datetime
    ) -> list[Stored]:
        """A result per link, in order. If two want the same code, the first gets it. The allowances
        are spent in the same transaction: a link that would pass one is a `QuotaExceeded` in the
        list. Running it again creates no duplicates."""


class BulkStore(BulkInserter, Protocol):
    """An outage raises `StoreUnavailable`."""

    async def find_holders(self, links: Sequence[Link], now: datetime) -> list[Holder | None]:
        """The links that `insert` would conflict with now."""

    async def find_left(
        self, allowances: tuple[Allowance, ...], now: datetime
    ) -> tuple[int, KurzError]:
        """How many new links the allowances (one or more) leave now, and the `QuotaExceeded` of the
        next one."""

    async def page(
        self,
        scope: Scope,
        after: Position | None,
        limit: int,
        *,
        with_trash: bool,
        link_ids: Sequence[int] | None = None,
    ) -> tuple[list[Link], Position | None]:
        """Up to `limit` links, oldest first, and where the next page begins (None: there is none).
        `link_ids`: only these, as far as they are in the scope."""
