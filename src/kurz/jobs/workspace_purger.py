"""Purges workspaces that can no longer be restored."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from kurz.clock import Clock
from kurz.jobs.periodic import USUAL_PACE, TaskPace
from kurz.people.workspaces import GRACE, WorkspaceEnds

BUFFER = timedelta(hours=1)  # for clock differences, and restores in progress


class WorkspacePurger:
    """Purges workspaces a while after they can no longer be restored. Several at once, or an
    interrupted one, do no harm: the next run continues."""

    def __init__(self, store: WorkspaceEnds, clock: Clock, pace: TaskPace = USUAL_PACE) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """How many workspaces and links were purged. It ends after a batch when its time is up or
        it must stop."""
        now = self._clock.now()
        before, until = now - GRACE - BUFFER, time.monotonic() + self._pace.run_seconds
        counts = {"workspaces": 0, "links": 0}
        for workspace_id in await self._store.find_gone(before):
            while True:
                done = await self._store.purge_links(workspace_id, before, now, self._pace.batch)
                counts["links"] += done
                if is_stopping() or time.monotonic() >= until:
                    return counts
                if done < self._pace.batch:
                    break
                await asyncio.sleep(self._pace.pause_seconds)
            counts["workspaces"] += await self._store.purge(workspace_id, before)
        return counts
