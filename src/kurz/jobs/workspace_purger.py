"""The end of workspaces that nobody can restore any more."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from kurz.clock import Clock
from kurz.people.workspaces import GRACE, WorkspaceEnds

BUFFER = timedelta(hours=1)  # clocks may differ by that, and somebody may be restoring it just now
BATCH = 1000
PAUSE_SECONDS = 0.1
RUN_SECONDS = 300.0


class WorkspacePurger:
    """Purges what is left of workspaces a while after their grace is over. Several at once, or one
    that was interrupted, do no harm: the next run goes on."""

    def __init__(
        self,
        store: WorkspaceEnds,
        clock: Clock,
        *,
        batch: int = BATCH,
        pause_seconds: float = PAUSE_SECONDS,
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self._pause_seconds = pause_seconds
        self._run_seconds = run_seconds

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """How many workspaces and links were purged. It ends after a batch when its time is over,
        or it is to stop."""
        now = self._clock.now()
        before, until = now - GRACE - BUFFER, time.monotonic() + self._run_seconds
        counts = {"workspaces": 0, "links": 0}
        for workspace_id in await self._store.find_gone(before):
            while True:
                done = await self._store.purge_links(workspace_id, before, now, self._batch)
                counts["links"] += done
                if is_stopping() or time.monotonic() >= until:
                    return counts
                if done < self._batch:
                    break
                await asyncio.sleep(self._pause_seconds)
            counts["workspaces"] += await self._store.purge(workspace_id, before)
        return counts
