"""What clicks need from outside."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from datetime import date
from typing import Protocol

from kurz.clicks.batch import Batch, LinkOwner, SegmentProgress


class SaltStore(Protocol):
    """The salts of days, one for the whole installation. Raises `StoreUnavailable` on an outage."""

    async def keep(self, day: date, salt: bytes) -> bytes:
        """Stores this salt for the day unless there is one, and returns the stored one, the same
        for everyone. The first call for a day erases, in the same transaction, the salts of all
        days up to the second before it. Because this is called before the day begins, every salt is
        erased at most 48 hours after its own day began."""


class StreamSlots(Protocol):
    """How many streams each account has in all processes. Raises `StoreUnavailable` on an
    outage."""

    async def take(self, account_id: int) -> AbstractContextManager[None] | None:
        """A slot, which is held in the context and otherwise expires after a minute; None: the
        account has all its slots in use."""


class CountryFinder(Protocol):
    def find(self, network: bytes) -> str:
        """The country of a truncated address (3 bytes of IPv4, 6 of IPv6): two capital letters, or
        "" if unknown. Never raises."""


class ClickStore(Protocol):
    """Where clicks are counted. Raises `StoreUnavailable` on an outage; the batch may then be
    partly counted."""

    async def positions(self, segments: Collection[bytes]) -> Mapping[bytes, SegmentProgress]:
        """How far these segments are counted; a missing one is not counted at all."""

    async def owners(self, link_ids: Collection[int]) -> Mapping[int, LinkOwner]:
        """The owners of those links that exist."""

    async def apply(self, batch: Batch) -> bool:
        """Counts the batch and moves the segment's position; durable when it returns. Each
        transaction counts a part of the batch and stores that with the position, so that nothing
        is counted twice. False: another loader was faster. The segment's position is not where the
        batch starts, or a batch with another end is partly counted."""

    async def forget(self, segments: Collection[bytes]) -> None:
        """Deletes their positions, because their files are removed permanently."""
