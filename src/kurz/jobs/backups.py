"""Makes backups from time to time, and removes old ones after a new one is complete."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from kurz.scheduling import Result, RunContext, RunOutcome, RunStore

JOB = "backup"
BYTES = "bytes"  # in the counts of a run
LOOKED_AT = 20  # runs: the last good one is among them, or it is time that somebody looks


class BackupWork:
    """`create` gets what says whether to stop, and returns the size; `prune` returns how many old
    backups it has removed. Both may wait."""

    def __init__(
        self, create: Callable[[Callable[[], bool]], int], prune: Callable[[], int], runs: RunStore
    ) -> None:
        self._create = create
        self._prune = prune
        self._runs = runs
        self._last_at = 0
        self._last_bytes = 0

    def counts(self) -> dict[str, int]:
        return {
            "backup_last_success_timestamp_seconds": self._last_at,
            "backup_last_size_bytes": self._last_bytes,
        }

    async def look(self, now: datetime) -> None:  # noqa: ARG002  it is due by the schedule
        for run in await self._runs.last(JOB, LOOKED_AT):
            if run.outcome is RunOutcome.DONE and run.ended_at is not None:
                self._last_at = int(run.ended_at.timestamp())
                self._last_bytes = run.counts.get(BYTES, 0)
                break

    async def run(self, context: RunContext) -> Result:
        size = await asyncio.to_thread(self._create, context.stopping.is_set)
        context.add(BYTES, size)
        context.add("removed", await asyncio.to_thread(self._prune))
        return Result()
