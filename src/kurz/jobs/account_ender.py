"""Ends the links of deleted accounts."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from kurz.clock import Clock
from kurz.jobs.periodic import TaskPace
from kurz.links.ending.ports import AccountEnds
from kurz.scheduling import LeaseStore, Result, RunContext

JOB = "accounts"
# A run is short, because the lease of a killed process is held for a few minutes more.
PACE = TaskPace(batch=200, pause_seconds=0.02, run_seconds=120.0)


class AccountEnder:
    """Moves the personal links of deleted accounts to the trash, and removes the owner from their
    links in workspaces. It may run several times at once, or be interrupted: the next run
    continues."""

    def __init__(self, store: AccountEnds, clock: Clock, pace: TaskPace = PACE) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace

    async def pending(self) -> bool:
        return bool(await self._store.find())

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """Returns how many accounts and links it has ended. It stops after a batch if its time is
        up or it is asked to."""
        until = time.monotonic() + self._pace.run_seconds
        counts = {"accounts": 0, "links": 0}

        def is_over() -> bool:
            return is_stopping() or time.monotonic() >= until

        while not is_over() and (ending := await self._store.find()):
            for account_id in ending:
                if not await self._end_links(account_id, counts, is_over):
                    return counts
                counts["accounts"] += await self._store.end(account_id)
            await asyncio.sleep(self._pace.pause_seconds)
        return counts

    async def _end_links(
        self, account_id: int, counts: dict[str, int], is_over: Callable[[], bool]
    ) -> bool:
        """False: there are more, but it must stop."""
        batch, store = self._pace.batch, self._store

        def trash() -> Awaitable[int]:
            return store.trash_links(account_id, self._clock.now(), batch)

        def disown() -> Awaitable[int]:
            return store.disown_links(account_id, batch)

        for step in trash, disown:
            done = batch
            while done >= batch:
                if is_over():
                    return False
                done = await step()
                counts["links"] += done
                await asyncio.sleep(self._pace.pause_seconds)
        return True


class AccountWork:
    """The `Work` of ending accounts. It is not a periodic task. Nothing here depends on age, so a
    wrong clock does no harm, and a deletion must not wait for the next hour."""

    def __init__(self, ender: AccountEnder, leases: LeaseStore) -> None:
        self._ender = ender
        self._leases = leases

    async def look(self, now: datetime) -> None:  # noqa: ARG002  see above
        """Requests a run while there is something to do."""
        if await self._ender.pending():
            await self._leases.ask(JOB)

    async def run(self, context: RunContext) -> Result:
        for name, count in (await self._ender.run(context.stopping.is_set)).items():
            context.add(name, count)
        return Result()
