"""Numbers of the whole installation, for everybody to see."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

FRESH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Totals:
    active_links: int
    redirects: int
    avg_redirect_ms: float | None


class TotalsStore(Protocol):
    async def count(self) -> Totals:
        """Reads every link."""


class RecentTotals:
    """Counted once a minute at most, however many ask."""

    def __init__(self, store: TotalsStore) -> None:
        self._store = store
        self._totals: Totals | None = None
        self._counted_at = 0.0
        self._counting = asyncio.Lock()

    async def get(self) -> Totals:
        async with self._counting:
            is_old = time.monotonic() - self._counted_at >= FRESH_SECONDS
            if self._totals is None or is_old:
                self._totals = await self._store.count()
                self._counted_at = time.monotonic()
            return self._totals
