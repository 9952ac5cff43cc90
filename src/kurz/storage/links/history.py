"""The history of links: what was changed, by whom. One row per write, in its transaction."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import HistoryEntry, Link, LinkAction
from kurz.paging import WHOLE, Part
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import to_object
from kurz.storage.schema.links import history, links

FIELDS = (
    "original_url",
    "short_code",
    "status",
    "link_type",
    "starts_at",
    "expires_at",
    "title",
    "tags",
    "notes",
    "redirect_status",
    "forward_query",
    "max_clicks",
)


def add_history_entry(
    connection: sa.Connection, before: Link | None, after: Link, action: LinkAction
) -> None:
    """Without an earlier state of the link, only the action is recorded."""
    add_history_entries(connection, [(before, after)], action)


def add_history_entries(
    connection: sa.Connection, changed: Iterable[tuple[Link | None, Link]], action: LinkAction
) -> None:
    """For one action on many links, each with its state before and after."""
    connection.execute(
        sa.insert(history), [_row(before, after, action) for before, after in changed]
    )


def record_sweep(connection: sa.Connection, condition: sa.ColumnElement[bool], now: int) -> None:
    """For links that the reaper is about to move to the trash, in one statement."""
    changed = sa.literal('{"status": ["') + links.c.status + sa.literal('", "DELETED"]}')
    entries = sa.select(
        links.c.id,
        links.c.version + 1,
        sa.literal(now, sa.BigInteger),
        sa.literal("sweep"),
        changed,
    ).where(condition)
    columns = ["link_id", "version", "changed_at", "action", "changes"]
    connection.execute(sa.insert(history).from_select(columns, entries))


def _row(before: Link | None, after: Link, action: LinkAction) -> dict[str, Any]:
    changes = {
        name: [getattr(before, name), getattr(after, name)]
        for name in FIELDS
        if before is not None and getattr(before, name) != getattr(after, name)
    }
    return {
        "link_id": after.id,
        "version": after.version,
        "changed_at": to_micros(after.updated_at),
        "account_id": action.account_id,
        "action": action.name,
        "changes": json.dumps(changes, ensure_ascii=False, default=_plain),
    }


def list_history(connection: sa.Connection, link_id: int, part: Part = WHOLE) -> list[HistoryEntry]:
    """By version, newest first."""
    found = sa.select(history).where(history.c.link_id == link_id)
    query = part_of(found, part, history.c.version, is_descending=True)
    return [
        to_object(
            HistoryEntry,
            row,
            changes={name: (old, new) for name, (old, new) in json.loads(row["changes"]).items()},
        )
        for row in connection.execute(query).mappings()
    ]


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
