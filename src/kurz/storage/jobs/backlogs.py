"""How far what follows the change log is behind it."""

import sqlalchemy as sa

from kurz.storage.changes import last_change
from kurz.storage.database import Database
from kurz.storage.rounds import Rounds
from kurz.storage.safety_schema import destination_position
from kurz.storage.schema import NEVER, count_position, links, search_position

WAKE_SECONDS = 5.0


def read_backlogs(connection: sa.Connection, *, are_followed: bool) -> dict[str, int]:
    """By the name of the metric: changes that are not taken in yet, and links from before there
    were changes."""
    last = last_change(connection)
    tables = {"count_backlog": count_position}
    if are_followed:
        tables["destinations_backlog"] = destination_position
    if connection.dialect.name == "sqlite":
        tables["search_backlog"] = search_position
    found = {}
    for name, table in tables.items():
        position = connection.execute(sa.select(table)).mappings().one()
        found[name] = max(last - position["change_id"], 0)
        if position.get("link_id", NEVER) < NEVER:
            newest = connection.execute(sa.select(sa.func.max(links.c.id))).scalar() or 0
            found[name] += max(newest - position["link_id"], 0)
    return found


class Backlogs:
    """Looks at them every few seconds, for the metrics."""

    def __init__(
        self, database: Database, *, are_followed: bool, wake_seconds: float = WAKE_SECONDS
    ) -> None:
        self._database = database
        self._are_followed = are_followed
        self._found: dict[str, int] = {}
        self._rounds = Rounds("looking at backlogs", self.look, wake_seconds)

    def start(self) -> None:
        self._rounds.start()

    async def stop(self) -> None:
        await self._rounds.stop()

    async def look(self) -> None:
        self._found = await self._database.read(read_backlogs, are_followed=self._are_followed)

    def counts(self) -> dict[str, int]:
        return self._found
