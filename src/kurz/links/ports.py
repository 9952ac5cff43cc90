"""What the links service needs from a store."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from kurz.links.model import Filter, Link, Scope


class LinkStore(Protocol):
    """Keeps links. Every write is durable when it returns, and each but `spend_click` leaves its
    row in the change log in the same transaction. An outage raises `StoreUnavailable`, never "not
    found"."""

    async def insert(self, link: Link, claim_hash: bytes | None = None) -> int | None:
        """Stores a new link and returns the id it got. None: its code is taken in its workspace or,
        for a deterministic link, its canonical URL is."""

    async def find(self, link_id: int, scope: Scope) -> Link | None: ...

    async def find_by_code(self, workspace_id: int, short_code: str) -> Link | None: ...

    async def find_deterministic(self, workspace_id: int, canonical_url: str) -> Link | None: ...

    async def list(
        self, scope: Scope, wanted: Filter, now: datetime, *, before_id: int | None, limit: int
    ) -> tuple[list[Link], int]:
        """Up to `limit` links with ids below `before_id`, newest first, and the number of all
        links that fit `wanted`."""

    async def update(
        self, link: Link, changes: Mapping[str, Any], updated_at: datetime
    ) -> Link | None:
        """Writes `changes` (fields of `Link`) if the stored version is still `link.version`, and
        returns the link with its next version. None: somebody else wrote first, or the new code
        is taken."""

    async def spend_click(self, link_id: int) -> bool:
        """Uses up one of a link's `max_clicks`; False when none is left. Exact however many
        workers ask at once."""


class Counter(Protocol):
    async def next(self) -> int:
        """A number that no other caller of the installation ever gets."""
