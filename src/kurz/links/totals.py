"""Public numbers of the whole installation."""

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
        """Links and clicks as far as they are counted by now. Reads only a few rows."""


class RecentTotals:
    """Read at most once a second, however many callers there are."""

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
