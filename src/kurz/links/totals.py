"""Numbers of the whole installation, for everybody to see."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Totals:
    active_links: int
    redirects: int
    avg_redirect_ms: float | None


class TotalsStore(Protocol):
    async def get(self) -> Totals:
        """As far as links and clicks are counted by now. Reads a few rows, however many there
        are."""


class RecentTotals:
    """Read once a second at most, however many ask."""

    def __init__(self, store: TotalsStore) -> None:
        self._store = store
        self._totals: Totals | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def get(self) -> Totals:
        async with self._reading:
            is_old = time.monotonic() - self._read_at >= FRESH_SECONDS
            if self._totals is None or is_old:
                self._totals = await self._store.get()
                self._read_at = time.monotonic()
            return self._totals
