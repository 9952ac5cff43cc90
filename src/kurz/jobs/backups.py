"""Makes backups from time to time, and removes old ones after a new one is complete."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

import structlog

from kurz.errors import BackupRefused, StoreUnavailable, Unavailable
from kurz.rounds import wait_at_most
from kurz.scheduling import LeaseStore, Result, Run, RunContext, RunOutcome, RunStore

JOB = "backup"
BYTES, DAMAGED = "bytes", "damaged"  # in the counts of a run
STOPPED = "The backup was stopped."
LOST = "Another process makes the backup, because this one made no progress for too long."
LOOKED_AT = 20  # runs: if none of them was good, somebody has to look into it anyway
# After an outage of the folder or bucket: the next run may be a day away.
PAUSES_SECONDS = (60.0, 600.0)
RENEWED_SECONDS = 60.0


_log = structlog.get_logger(__name__)


class Made(NamedTuple):
    """`damaged_links` differ from their checksums. Without the key, none could be compared."""

    size: int
    damaged_links: int = 0
    has_key: bool = True


class BackupWork:
    """`create` gets a function that says whether to stop, and calls it often; `prune` returns how
    many old backups it has removed. Both may wait. While links are damaged, or may be, no backup is
    removed: an older one may contain them undamaged."""

    def __init__(
        self,
        create: Callable[[Callable[[], bool]], Made],
        prune: Callable[[], int],
        leases: LeaseStore,
        runs: RunStore,
        *,
        pauses_seconds: Sequence[float] = PAUSES_SECONDS,
        renewed_seconds: float = RENEWED_SECONDS,
    ) -> None:
        self._create = create
        self._prune = prune
        self._leases = leases
        self._runs = runs
        self._pauses_seconds = pauses_seconds
        self._renewed_seconds = renewed_seconds
        self._last_at = 0
        self._last_bytes = 0
        self._damaged = 0

    def counts(self) -> dict[str, int]:
        return {
            "backup_last_success_timestamp_seconds": self._last_at,
            "backup_last_size_bytes": self._last_bytes,
            "backup_damaged_links": self._damaged,
        }

    async def look(self, now: datetime) -> None:  # noqa: ARG002  it is due by the schedule
        runs = await self._runs.last(JOB, LOOKED_AT)
        for run in runs:
            if run.outcome is RunOutcome.DONE and run.ended_at is not None:
                self._last_at = int(run.ended_at.timestamp())
                self._last_bytes = run.counts.get(BYTES, 0)
                self._damaged = run.counts.get(DAMAGED, 0)
                break
        if _was_stopped(runs):  # by a restart, which should not cost a day
            await self._leases.ask(JOB)

    async def run(self, context: RunContext) -> Result:
        made = await self._create_patiently(context)
        context.add(BYTES, made.size)
        if made.damaged_links:
            context.add(DAMAGED, made.damaged_links)
            _log.error(
                "the backup contains damaged links, so older backups are kept",
                links=made.damaged_links,
                hint="run: kurz doctor --deep",
            )
            return Result()
        if not made.has_key:
            _log.error(
                "the key of the checksums is damaged, so older backups are kept",
                hint="run: kurz doctor --deep",
            )
            return Result()
        context.add("removed", await asyncio.to_thread(self._prune))
        return Result()

    async def _create_patiently(self, context: RunContext) -> Made:
        for pause_seconds in self._pauses_seconds:
            try:
                return await self._create_renewing(context)
            except Unavailable:
                await wait_at_most(context.stopping, pause_seconds)
                if context.stopping.is_set():
                    raise
        return await self._create_renewing(context)

    async def _create_renewing(self, context: RunContext) -> Made:
        """A large backup takes longer than a lease, so the lease is renewed while the backup makes
        progress. Otherwise, another process takes over, as from a dead one."""
        steps = _Steps(context.stopping.is_set)
        work = asyncio.create_task(asyncio.to_thread(self._create, steps))
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=self._renewed_seconds)
                if not work.done() and steps.were_made():
                    steps.is_lost = steps.is_lost or not await _is_renewed(context)
            return work.result()
        except asyncio.CancelledError:  # it did not stop in time: it is not a good one
            raise BackupRefused(STOPPED) from None
        except BackupRefused:
            if steps.is_lost:
                raise BackupRefused(LOST) from None
            raise
        finally:
            work.cancel()


class _Steps:
    """Says whether to stop, and notes that it was asked."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self.is_lost = False
        self._is_stopping = is_stopping
        self._was_asked = False

    def __call__(self) -> bool:
        self._was_asked = True
        return self.is_lost or self._is_stopping()

    def were_made(self) -> bool:
        """Since the last call."""
        asked, self._was_asked = self._was_asked, False
        return asked


async def _is_renewed(context: RunContext) -> bool:
    try:
        return await context.renew()
    except StoreUnavailable:  # until the lease ends, there are more attempts
        return True


def failure_of(runs: Sequence[Run]) -> str | None:
    """Why the last attempt failed; None if it did not, or was only stopped. `runs` are the newest
    first."""
    ended = next((run for run in runs if run.outcome is not None), None)
    if ended is None or ended.outcome is not RunOutcome.FAILED or ended.reason == STOPPED:
        return None
    return ended.reason


def _was_stopped(runs: Sequence[Run]) -> bool:
    return bool(runs) and runs[0].reason == STOPPED
