"""What the read path needs from the store, the second tier and the feed of changes."""

from collections.abc import Collection, Sequence
from typing import Protocol

from kurz.freshness.routes import Cached, Change, Route


class NotNow(Exception):
    """There is no answer without waiting."""


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
        """Stores, in the background, what the store said at `position` of the change log. A newer
        value stays."""

    def forget(self, changes: Sequence[Change]) -> None:
        """Drops, in the background, values older than what this process has written, and refuses
        such values from then on."""


class FeedListener(Protocol):
    def on_changes(self, changes: Sequence[tuple[int, Change]]) -> None:
        """Rows of the change log with their numbers; what this process has written itself comes
        earlier, with number 0. Neither waits nor raises."""

    def reset(self, position: int) -> None:
        """Changes up to this number may have been missed: nothing from before may be used. Later
        changes follow."""

    def on_caught_up(self, position: int) -> None:  # noqa: ARG002
        """Every row up to this number has been passed on. Most do not wait for that."""
        return


class ChangeLog(Protocol):
    """Every committed write of a link, in numbered rows. Rows may become visible in another order
    than that of their numbers. An outage raises `StoreUnavailable`."""

    async def last(self) -> int:
        """The highest number so far, 0 if there is none."""

    async def read(self, after: int, limit: int) -> Sequence[tuple[int, Change]]:
        """The next rows after a number."""

    async def read_some(self, numbers: Collection[int]) -> Sequence[tuple[int, Change]]:
        """The rows with these numbers that exist."""

    async def writers(self) -> frozenset[str]:
        """The transactions that may have taken numbers and have not ended. After this call,
        everything that other transactions committed can be read."""
