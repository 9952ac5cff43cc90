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
    """The link that has what a new one wanted: its code or, both being deterministic, its URL. No
    URL at all: the code is kept for somebody else who had it."""

    short_code: str
    original_url: str
    canonical_url: str


# A new link's row number; who has its place; why it may not be; None: try again.
Stored = int | Holder | KurzError | None
# Where the next page of an export begins.
Position = tuple[int, ...]


class BulkInserter(Protocol):
    async def insert(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...], now: datetime
    ) -> list[Stored]:
        """A result per link, in order; the first of two that want the same gets it. The allowances
        are spent in the same transaction: a link that would pass one is a `QuotaExceeded` in the
        list. Running it again doubles nothing."""


class BulkStore(BulkInserter, Protocol):
    """An outage raises `StoreUnavailable`."""

    async def find_holders(self, links: Sequence[Link], now: datetime) -> list[Holder | None]:
        """Whom `insert` would meet now."""

    async def find_left(
        self, allowances: tuple[Allowance, ...], now: datetime
    ) -> tuple[int, KurzError]:
        """How many new links the allowances (one or more) leave now, and the `QuotaExceeded` of the
        next one."""

    async def page(
        self, scope: Scope, after: Position | None, limit: int, *, with_trash: bool
    ) -> tuple[list[Link], Position | None]:
        """Up to `limit` links, oldest first, and where the next page begins (None: there is
        none)."""
