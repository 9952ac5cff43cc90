"""The change log: one row per write of a link, left by that write's own transaction."""

from collections.abc import Iterable, Sequence
from typing import Any

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


def record_changes(
    connection: sa.Connection, written: Iterable[Sequence[Any]], changed_at: int
) -> None:
    """For a statement that wrote many: rows of id, workspace, code and version."""
    rows = [
        {
            "link_id": link_id,
            "workspace_id": workspace_id,
            "short_code": short_code,
            "version": version,
            "changed_at": changed_at,
        }
        for link_id, workspace_id, short_code, version in written
    ]
    if rows:
        connection.execute(sa.insert(changes), rows)
