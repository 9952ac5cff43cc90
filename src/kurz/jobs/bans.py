"""Carries out bans of people, and undoes those that were lifted. The runner runs it."""

from datetime import datetime

from kurz.safety.banning import JOB, Bans
from kurz.scheduling import LeaseStore, Result, RunContext


class BanWork:
    """The `Work` of bans. It is not a periodic task: nothing here depends on age, so the clock does
    not matter, and a ban must not wait for the next hour because a run failed or was just
    ending."""

    def __init__(self, bans: Bans, leases: LeaseStore) -> None:
        self._bans = bans
        self._leases = leases

    async def look(self, now: datetime) -> None:  # noqa: ARG002  see above
        """Requests a run while there is something to do."""
        if await self._bans.pending():
            await self._leases.ask(JOB)

    async def run(self, context: RunContext) -> Result:
        for name, count in (await self._bans.run(context.stopping.is_set)).items():
            context.add(name, count)
        return Result()
