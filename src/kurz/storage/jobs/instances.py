"""The servers that use the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from kurz.clock import Clock
from kurz.storage.engine.instants import now_in, read_now
from kurz.storage.engine.rows import to_object, upsert
from kurz.storage.engine.schema_state import SEEN_SECONDS
from kurz.storage.schema.jobs import instances

MICROS = 1_000_000
KEPT_SECONDS = 86_400

_seen_at = instances.c.seen_at


class Instance(NamedTuple):
    id: str
    version: str
    schema: str


@dataclass(frozen=True, slots=True)
class SeenInstance:
    id: str
    version: str
    schema: str
    seen_at: datetime


def note_instance(connection: sa.Connection, found: Instance, clock: Clock) -> None:
    """It is running now."""
    now = now_in(connection, clock)
    noted = upsert(instances, "version", "schema", "seen_at")
    connection.execute(noted.values(**found._asdict(), seen_at=now))
    connection.execute(sa.delete(instances).where(_seen_at < now - KEPT_SECONDS * MICROS))


def running_instances(connection: sa.Connection, clock: Clock) -> list[SeenInstance]:
    """Those of the last minute, the newest version first."""
    since = read_now(connection, clock) - SEEN_SECONDS * MICROS
    query = sa.select(instances).where(_seen_at > since)
    query = query.order_by(instances.c.version.desc(), instances.c.id)
    return [to_object(SeenInstance, row) for row in connection.execute(query).mappings()]


def remove_instance(connection: sa.Connection, instance_id: str) -> None:
    connection.execute(sa.delete(instances).where(instances.c.id == instance_id))
