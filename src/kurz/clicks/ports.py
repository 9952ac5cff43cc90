"""What clicks need from outside."""

from datetime import date
from typing import Protocol


class SaltStore(Protocol):
    """The salts of days, one for the whole installation. Raises `StoreUnavailable` on an outage."""

    async def keep(self, day: date, salt: bytes) -> bytes:
        """Keeps this salt for the day unless there is one, and gives the one that is kept, the same
        to everybody. Whoever is first for a day erases, in the same transaction, the salts of all
        days up to the second before it. Called for a day ahead of its beginning, this erases every
        salt at the latest 48 hours after its own day began."""
