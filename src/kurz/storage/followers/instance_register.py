"""Notes which version of kurz this instance is, and notices when it is too old for the database."""

import contextlib
import secrets

from kurz import __version__
from kurz.clock import Clock
from kurz.errors import ProgramOutdated, StoreUnavailable
from kurz.storage.engine.database import Database
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.engine.schema_state import find_state
from kurz.storage.jobs.instances import Instance, note_instance, remove_instance

BEAT_SECONDS = 10.0


class InstanceRegister(StoreRounds):
    """Renews the row of this instance, and removes it at the end. An instance that was cut off for
    longer than a minute may find that others have gone on without it."""

    def __init__(
        self, database: Database, clock: Clock, migrations: Migrations | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._migrations = migrations or Migrations()
        self._self = Instance(secrets.token_hex(8), __version__, self._migrations.head)
        self._refusal: ProgramOutdated | None = None
        super().__init__("noting this instance", self.note, BEAT_SECONDS)

    def check(self) -> None:
        """Raises `ProgramOutdated` if this instance must end."""
        if self._refusal is not None:
            raise self._refusal

    async def note(self) -> None:
        await self._database.write(note_instance, self._self, self._clock)
        try:
            self._migrations.refuse_newer(await self._database.read(find_state))
        except ProgramOutdated as refusal:
            self._refusal = refusal

    async def stop(self) -> None:
        await super().stop()
        with contextlib.suppress(StoreUnavailable):  # others notice a minute later
            await self._database.write(remove_instance, self._self.id)
