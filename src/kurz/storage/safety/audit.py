"""The audit log. Rows are only ever added."""

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from kurz.safety.audit import Actor, AuditEntry, Via
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.rows import to_object
from kurz.storage.engine.store import ClockedStore, reads
from kurz.storage.schema.safety import audit


def add_entry(connection: sa.Connection, row: Mapping[str, Any]) -> None:
    connection.execute(sa.insert(audit).values(row))


def list_entries(
    connection: sa.Connection,
    *,
    before: int | None = None,
    limit: int,
    action: str | None = None,
    account_id: int | None = None,
    via: Via | None = None,
) -> list[AuditEntry]:
    query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    for name, value in (("action", action), ("account_id", account_id), ("via", via)):
        if value is not None:
            query = query.where(audit.c[name] == value)
    return [
        to_object(AuditEntry, row, details=json.loads(row["details"]))
        for row in connection.execute(query).mappings()
    ]


class SqlAuditStore(ClockedStore):
    """The `AuditStore` of both engines."""

    async def record(
        self,
        actor: Actor,
        action: str,
        subject: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        row = {
            "done_at": self._clock.micros(),
            "account_id": actor.account_id,
            "via": actor.via,
            "action": action,
            "subject": subject,
            "details": json.dumps(details or {}, ensure_ascii=False),
        }
        await self._database.write(add_entry, row)

    list = reads(list_entries, LIST_SECONDS)
