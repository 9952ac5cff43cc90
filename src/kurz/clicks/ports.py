"""What clicks need from outside."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from datetime import date
from typing import Protocol

from kurz.clicks.batch import Batch, Home


class SaltStore(Protocol):
    """The salts of days, one for the whole installation. Raises `StoreUnavailable` on an outage."""

    async def keep(self, day: date, salt: bytes) -> bytes:
        """Keeps this salt for the day unless there is one, and gives the one that is kept, the same
        to everybody. Whoever is first for a day erases, in the same transaction, the salts of all
        days up to the second before it. Called for a day ahead of its beginning, this erases every
        salt at the latest 48 hours after its own day began."""


class StreamSlots(Protocol):
    """How many streams each account has in all processes. Raises `StoreUnavailable` on an
    outage."""

    async def take(self, account_id: int) -> AbstractContextManager[None] | None:
        """A slot, which is held in the context and lives for a minute otherwise; None: the account
        has as many as it can."""


class CountryFinder(Protocol):
    def find(self, network: bytes) -> str:
        """The country of a truncated address (3 bytes of IPv4, 6 of IPv6): two capital letters, or
        "" where it is not known. Never raises."""


class ClickStore(Protocol):
    """Where clicks are counted. Raises `StoreUnavailable` on an outage, and has changed nothing
    then. `held_seconds` is how long the last batch kept others from writing, where it does."""

    held_seconds: float

    async def offsets(self, segments: Collection[bytes]) -> Mapping[bytes, int]:
        """How far these segments are counted; one that is missing is not at all."""

    async def homes(self, link_ids: Collection[int]) -> Mapping[int, Home]:
        """Of the links that exist."""

    async def apply(self, batch: Batch) -> bool:
        """Counts all of it and moves the segment's position, in one transaction; durable when it
        returns. False, and nothing happens: the segment is not counted to where the batch starts,
        for another loader has been there."""

    async def forget(self, segments: Collection[bytes]) -> None:
        """Their files are gone for good: so are their positions."""
