"""The servers that use the database."""

from typing import NamedTuple

import sqlalchemy as sa

from kurz.clock import Clock
from kurz.storage.engine.instants import now_in
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.jobs import instances

MICROS = 1_000_000
KEPT_SECONDS = 86_400

_seen_at = instances.c.seen_at


class Instance(NamedTuple):
    id: str
    version: str
    schema: str


def note_instance(connection: sa.Connection, found: Instance, clock: Clock) -> None:
    """It is running now."""
    now = now_in(connection, clock)
    noted = upsert(instances, "version", "schema", "seen_at")
    connection.execute(noted.values(**found._asdict(), seen_at=now))
    connection.execute(sa.delete(instances).where(_seen_at < now - KEPT_SECONDS * MICROS))


def remove_instance(connection: sa.Connection, instance_id: str) -> None:
    connection.execute(sa.delete(instances).where(instances.c.id == instance_id))
