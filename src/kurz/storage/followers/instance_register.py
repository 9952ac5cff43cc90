"""Notes which version of kurz this instance is, for those that upgrade the schema."""

import contextlib
import secrets

from kurz import __version__
from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.storage.engine.database import Database
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.jobs.instances import Instance, note_instance, remove_instance

BEAT_SECONDS = 10.0


class InstanceRegister(StoreRounds):
    """Renews the row of this instance, and removes it at the end."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._self = Instance(secrets.token_hex(8), __version__, Migrations().head)
        super().__init__("noting this instance", self.note, BEAT_SECONDS)

    async def note(self) -> None:
        await self._database.write(note_instance, self._self, self._clock)

    async def stop(self) -> None:
        await super().stop()
        with contextlib.suppress(StoreUnavailable):  # others notice a minute later
            await self._database.write(remove_instance, self._self.id)
