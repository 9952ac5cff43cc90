"""Slows down visitors who try many unknown codes. Links that work are never limited."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from kurz.people.limits import LimitClass, Limits, TooManyRequests

MAX_REFUSED = 10_000  # addresses in memory; beyond that, the oldest are forgotten


class Misses:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._refused: dict[str, tuple[float, asyncio.Lock]] = {}  # until when, and their queue

    def is_slowed(self, subject: str) -> bool:
        """Whether this visitor has missed too often and gets one lookup at a time."""
        refused = self._refused.get(subject)
        return refused is not None and refused[0] >= time.monotonic()

    @contextlib.asynccontextmanager
    async def turn(self, subject: str) -> AsyncIterator[None]:
        """Around a lookup: one at a time for a visitor who has missed too often."""
        refused = self._refused.get(subject)
        if refused is None:
            yield
        elif refused[0] < time.monotonic():
            self._refused.pop(subject, None)
            yield
        else:
            async with refused[1]:
                yield

    async def charge(self, subject: str) -> None:
        """Counts a miss, or raises `TooManyRequests`."""
        try:
            await self._limits.check(LimitClass.MISS, subject)
        except TooManyRequests as refusal:
            self._refuse(subject, refusal.retry_after_seconds)
            raise

    def _refuse(self, subject: str, seconds: int) -> None:
        _, queue = self._refused.pop(subject, (0.0, asyncio.Lock()))
        self._refused[subject] = (time.monotonic() + seconds, queue)
        if len(self._refused) > MAX_REFUSED:
            del self._refused[next(iter(self._refused))]
