"""Carries out the bans of people, and undoes those that were taken back, as the runner runs it."""

from datetime import datetime

from kurz.safety.banning import JOB, Bans
from kurz.scheduling import LeaseStore, Result, Turn


class BanWork:
    """The `Work` of bans. It is no chore: nothing here is too old, so no clock stands in the way,
    and nobody is to wait for the next hour because a run failed, or was ending just then."""

    def __init__(self, bans: Bans, leases: LeaseStore) -> None:
        self._bans = bans
        self._leases = leases

    async def look(self, now: datetime) -> None:  # noqa: ARG002  see above
        """Has it run while there is something to do."""
        if await self._bans.store.pending():
            await self._leases.ask(JOB)

    async def run(self, turn: Turn) -> Result:
        for name, count in (await self._bans.run(turn.stopping.is_set)).items():
            turn.add(name, count)
        return Result()
