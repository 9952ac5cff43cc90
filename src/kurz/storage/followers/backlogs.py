"""How far the followers of the change log are behind."""

import sqlalchemy as sa

from kurz.storage.engine.changes import last_change
from kurz.storage.engine.database import Database
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.schema.base import NEVER
from kurz.storage.schema.links import count_position, links, search_position
from kurz.storage.schema.safety import destination_position

WAKE_SECONDS = 5.0


def read_backlogs(connection: sa.Connection, *, are_followed: bool) -> dict[str, int]:
    """By the name of the metric: changes that are not processed yet, and links from before the log
    began."""
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


class Backlogs(StoreRounds):
    """Reads them every few seconds, for the metrics."""

    def __init__(
        self, database: Database, *, are_followed: bool, wake_seconds: float = WAKE_SECONDS
    ) -> None:
        self._database = database
        self._are_followed = are_followed
        self._found: dict[str, int] = {}
        super().__init__("measuring backlogs", self.look, wake_seconds)

    async def look(self) -> None:
        self._found = await self._database.read(read_backlogs, are_followed=self._are_followed)

    def counts(self) -> dict[str, int]:
        return self._found
