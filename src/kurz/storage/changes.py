"""The change log: one row per write of a link, left by that write's own transaction."""

import sqlalchemy as sa

from kurz.storage.database import HotStatement
from kurz.storage.schema import changes

_RECORD = HotStatement(
    sa.insert(changes), ["link_id", "workspace_id", "short_code", "version", "changed_at"]
)


def record_change(
    connection: sa.Connection,
    link_id: int,
    workspace_id: int,
    short_code: str,
    version: int,
    changed_at: int,
) -> None:
    _RECORD.scalar(connection, (link_id, workspace_id, short_code, version, changed_at))
