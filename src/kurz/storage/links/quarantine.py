"""Codes at the root whose link was purged: for a while, only the former owner gets one again.

A write that takes a code checks it afterwards, in the same transaction. On PostgreSQL, the write
waits for the purge that frees its code, but still sees the rest of the database as before. Only the
next statement sees that the code is reserved."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.freshness.routes import Change
from kurz.links.model import ROOT_WORKSPACE_ID, Link, LinkType
from kurz.storage.engine.batches import among
from kurz.storage.engine.changes import note_changes, record_change
from kurz.storage.engine.database import HotStatement
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.links import changes

OPERATOR, NOBODY = 0, -1  # whom a code can be reserved for; other values are accounts

_reserved = code_quarantine.c

# Like `is_refused`, for rows of `links` at the root.
RESERVED_FOR_OTHERS = (
    "EXISTS (SELECT 1 FROM code_quarantine WHERE code_quarantine.short_code = links.short_code"  # noqa: S608
    " AND code_quarantine.until > links.created_at"
    f" AND (code_quarantine.reserved_for = {NOBODY}"
    " OR code_quarantine.reserved_for <> coalesce(links.owner_id,"
    f" CASE links.link_type WHEN '{LinkType.TEMPORARY.value}' THEN {NOBODY} ELSE {OPERATOR} END)))"
)


class CodeReserved(Exception):
    """The code is reserved for somebody else; the transaction is undone."""


def holder_of(owner_id: int | None, link_type: str) -> int:
    if owner_id is not None:
        return owner_id
    return NOBODY if link_type == LinkType.TEMPORARY else OPERATOR


def _reserved_for_others(
    code: sa.ColumnElement[str], reserved_for: sa.ColumnElement[int], now: sa.ColumnElement[int]
) -> sa.Exists:
    """As `is_refused`."""
    is_others = (_reserved.reserved_for != reserved_for) | (
        _reserved.reserved_for == sa.literal_column(f"{NOBODY}")
    )
    return sa.exists().where(_reserved.short_code == code, _reserved.until > now, is_others)


def _record_unless_reserved() -> HotStatement:
    logged = ["link_id", "workspace_id", "short_code", "version", "changed_at"]
    values = [sa.bindparam(f"new_{name}", type_=changes.c[name].type) for name in logged]
    reserved_for = sa.bindparam("reserved_for", type_=sa.BigInteger)
    named = zip(values, logged, strict=True)
    new = sa.select(
        *(value.label(name) for value, name in named), reserved_for.label("reserved_for")
    )
    row = new.subquery("new")
    refused = _reserved_for_others(row.c.short_code, row.c.reserved_for, row.c.changed_at)
    query = sa.select(*(row.c[name] for name in logged)).where(~refused)
    statement = sa.insert(changes).from_select(logged, query, include_defaults=False)
    return HotStatement(statement, [*(value.key for value in values), "reserved_for"])


_RECORD_UNLESS_RESERVED = _record_unless_reserved()


def record_new(connection: sa.Connection, link: Link, link_id: int) -> bool:
    """Adds a new link to the change log. False: its code is reserved for somebody else."""
    values = link.workspace_id, link.short_code, link.version, to_micros(link.created_at)
    if link.workspace_id != ROOT_WORKSPACE_ID:
        record_change(connection, link_id, *values)
        return True
    reserved_for = holder_of(link.owner_id, link.link_type)
    if not _RECORD_UNLESS_RESERVED.rowcount(connection, (link_id, *values, reserved_for)):
        return False
    note_changes(connection, [Change(link_id, *values[:3])])
    return True


def is_reserved(connection: sa.Connection, link: Link, code: str, now: int) -> bool:
    """Whether this link may not get the code."""
    reserved_for = holder_of(link.owner_id, link.link_type)
    return is_reserved_for_others(connection, link.workspace_id, reserved_for, code, now)


def is_reserved_for_others(
    connection: sa.Connection, workspace_id: int, reserved_for: int, code: str, now: int
) -> bool:
    """Whether no link of this holder may get the code in a workspace or at the root."""
    if workspace_id != ROOT_WORKSPACE_ID:
        return False
    who, at = sa.literal(reserved_for, sa.BigInteger), sa.literal(now, sa.BigInteger)
    refused = _reserved_for_others(sa.literal(code), who, at)
    return connection.execute(sa.select(refused)).scalar_one()


def find_reserved(connection: sa.Connection, codes: Sequence[str], now: int) -> dict[str, int]:
    """The codes that are reserved, and for whom."""
    query = sa.select(_reserved.short_code, _reserved.reserved_for)
    query = query.where(among(connection, _reserved.short_code, codes), _reserved.until > now)
    return {row.short_code: row.reserved_for for row in connection.execute(query)}


def is_refused(reserved_for: int | None, owner_id: int | None, link_type: str) -> bool:
    """Whether a link is refused a code that is reserved for this holder; None: it is not reserved.
    A code that had no owner is refused to everyone."""
    if reserved_for is None:
        return False
    return reserved_for == NOBODY or reserved_for != holder_of(owner_id, link_type)


def quarantine(
    connection: sa.Connection, gone: Iterable[sa.Row[*tuple[Any, ...]]], until: int
) -> None:
    """After links were purged: rows with their workspace, code, owner and type."""
    rows = [
        {
            "short_code": row.short_code,
            "reserved_for": holder_of(row.owner_id, row.link_type),
            "until": until,
        }
        for row in gone
        if row.workspace_id == ROOT_WORKSPACE_ID
    ]
    if rows:
        connection.execute(upsert(code_quarantine, "reserved_for", "until"), rows)
