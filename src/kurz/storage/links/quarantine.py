"""Codes at the root whose link was purged: for a while only who had one gets it again.

Whoever takes a code asks afterwards, in the same transaction. On PostgreSQL a write waits for the
purge that frees its code, and looks at the rest of the database as it was before: only the next
statement sees that the code is kept."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros
from kurz.links.model import ROOT_WORKSPACE_ID, Change, Link, LinkType
from kurz.storage.batches import among
from kurz.storage.changes import note_changes, record_change
from kurz.storage.database import HotStatement
from kurz.storage.job_schema import code_quarantine
from kurz.storage.schema import changes

OPERATOR, NOBODY = 0, -1  # as keepers; others are accounts

_kept = code_quarantine.c


class CodeKept(Exception):
    """The code is kept for somebody else; whatever the transaction did is undone."""


def keeper_of(owner_id: int | None, link_type: str) -> int:
    if owner_id is not None:
        return owner_id
    return NOBODY if link_type == LinkType.TEMPORARY else OPERATOR


def _kept_from(
    code: sa.ColumnElement[str], keeper: sa.ColumnElement[int], now: sa.ColumnElement[int]
) -> sa.Exists:
    """As `is_refused`."""
    is_others = (_kept.keeper != keeper) | (_kept.keeper == sa.literal_column(f"{NOBODY}"))
    return sa.exists().where(_kept.short_code == code, _kept.until > now, is_others)


def _record_unless_kept() -> HotStatement:
    logged = ["link_id", "workspace_id", "short_code", "version", "changed_at"]
    values = [sa.bindparam(f"new_{name}", type_=changes.c[name].type) for name in logged]
    keeper = sa.bindparam("keeper", type_=sa.BigInteger)
    named = zip(values, logged, strict=True)
    new = sa.select(*(value.label(name) for value, name in named), keeper.label("keeper"))
    row = new.subquery("new")
    refused = _kept_from(row.c.short_code, row.c.keeper, row.c.changed_at)
    query = sa.select(*(row.c[name] for name in logged)).where(~refused)
    statement = sa.insert(changes).from_select(logged, query, include_defaults=False)
    return HotStatement(statement, [*(value.key for value in values), "keeper"])


_RECORD_UNLESS_KEPT = _record_unless_kept()


def record_new(connection: sa.Connection, link: Link, link_id: int) -> bool:
    """Puts a new link into the change log. False: its code is kept for somebody else."""
    values = link.workspace_id, link.short_code, link.version, to_micros(link.created_at)
    if link.workspace_id != ROOT_WORKSPACE_ID:
        record_change(connection, link_id, *values)
        return True
    keeper = keeper_of(link.owner_id, link.link_type)
    if not _RECORD_UNLESS_KEPT.rowcount(connection, (link_id, *values, keeper)):
        return False
    note_changes(connection, [Change(link_id, *values[:3])])
    return True


def is_kept(connection: sa.Connection, link: Link, code: str, now: int) -> bool:
    """Whether this link may not get the code."""
    keeper = keeper_of(link.owner_id, link.link_type)
    return is_kept_from(connection, link.workspace_id, keeper, code, now)


def is_kept_from(
    connection: sa.Connection, workspace_id: int, keeper: int, code: str, now: int
) -> bool:
    """Whether no link of this keeper may get the code in a workspace or at the root."""
    if workspace_id != ROOT_WORKSPACE_ID:
        return False
    who, at = sa.literal(keeper, sa.BigInteger), sa.literal(now, sa.BigInteger)
    refused = _kept_from(sa.literal(code), who, at)
    return connection.execute(sa.select(refused)).scalar_one()


def find_kept(connection: sa.Connection, codes: Sequence[str], now: int) -> dict[str, int]:
    """Those of the codes that are kept, and for whom."""
    query = sa.select(_kept.short_code, _kept.keeper)
    query = query.where(among(connection, _kept.short_code, codes), _kept.until > now)
    return {row.short_code: row.keeper for row in connection.execute(query)}


def is_refused(kept_for: int | None, owner_id: int | None, link_type: str) -> bool:
    """Whether a link may not get a code that is kept so; None: it is not kept. What was nobody's is
    kept from everybody."""
    if kept_for is None:
        return False
    return kept_for == NOBODY or kept_for != keeper_of(owner_id, link_type)


def quarantine(
    connection: sa.Connection, gone: Iterable[sa.Row[*tuple[Any, ...]]], until: int
) -> None:
    """After links were purged: rows with their workspace, code, owner and type."""
    rows = [
        {
            "short_code": row.short_code,
            "keeper": keeper_of(row.owner_id, row.link_type),
            "until": until,
        }
        for row in gone
        if row.workspace_id == ROOT_WORKSPACE_ID
    ]
    if not rows:
        return
    statement = insert(code_quarantine)
    kept = {name: statement.excluded[name] for name in ("keeper", "until")}
    connection.execute(
        statement.on_conflict_do_update(index_elements=[code_quarantine.c.short_code], set_=kept),
        rows,
    )
