"""Many links at a time, for import and export. An insert is one native statement for a whole batch:
SQLite's thread then releases the interpreter while it works."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, to_micros
from kurz.errors import KurzError
from kurz.freshness.routes import Change
from kurz.links.bulk import Holder, Position, Stored
from kurz.links.model import ROOT_WORKSPACE_ID, Link, Scope, space_of
from kurz.people.quotas import Allowance, exceeded
from kurz.storage.clicks.totals import add_imported
from kurz.storage.engine.changes import note_changes
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads
from kurz.storage.links.ended_accounts import IS_ENDING
from kurz.storage.links.inserting import insert_together
from kurz.storage.links.quarantine import find_reserved, is_refused
from kurz.storage.links.quota_usage import find_spent, spend
from kurz.storage.links.tags import add_tags_of
from kurz.storage.schema.link_rows import INSERTED, select_links, to_link, to_row
from kurz.storage.schema.links import links, usage

_WORKSPACE, _CODE, _VERSION, _HASH, _OWNER, _SPACE, _TYPE, _CLICKS = (
    INSERTED.index(name)
    for name in (
        "workspace_id",
        "short_code",
        "version",
        "canonical_hash",
        "owner_id",
        "space",
        "link_type",
        "redirect_count",
    )
)

# Imports that share a process with visitors store batches of this size. Each statement then stores
# few rows, and other threads can run after each; otherwise they would wait for 3 ms.
SMALL_BATCH, FEW = 32, 4

_Row = tuple[Any, ...]


def insert_rows(
    connection: sa.Connection, rows: Sequence[_Row], allowances: tuple[Allowance, ...], now: int
) -> list[Stored]:
    is_sqlite = connection.dialect.name == "sqlite"
    ids = insert_together(connection, rows, FEW if len(rows) <= SMALL_BATCH else len(rows))
    results: list[Stored] = [*_without_reserved(connection, ids, rows, now)]
    if allowances:
        _trim(connection, results, allowances, now)
    reserved = {
        found: row for found, row in zip(results, rows, strict=True) if isinstance(found, int)
    }
    if reserved:
        (_follow_on_sqlite if is_sqlite else _follow_on_postgres)(connection, [*reserved], now)
        add_tags_of(connection, [*reserved])
        note_changes(
            connection,
            (
                Change(id_, row[_WORKSPACE], row[_CODE], row[_VERSION])
                for id_, row in reserved.items()
            ),
        )
    missing = [place for place, found in enumerate(results) if found is None]
    if missing:
        holders = find_holders(connection, [rows[place] for place in missing], now)
        for place, holder in zip(missing, holders, strict=True):
            results[place] = holder  # None: a duplicate of a trimmed row, or it is gone by now
    # Last: all counting waits for the installation's row.
    add_imported(connection, ((id_, row[_SPACE], row[_CLICKS]) for id_, row in reserved.items()))
    return results


def _trim(
    connection: sa.Connection, results: list[Stored], allowances: tuple[Allowance, ...], now: int
) -> None:
    """Removes the links that would exceed a quota, and spends the rest. The links are inserted
    first, as in a create: a transaction that waits for a code must not hold a quota that the other
    one waits for."""
    created = [place for place, found in enumerate(results) if isinstance(found, int)]
    if not created:
        return
    left, tightest = min(
        (
            (allowance.limit - _lock_usage(connection, allowance), allowance)
            for allowance in allowances
        ),
        key=lambda pair: pair[0],
    )
    reserved = max(0, min(left, len(created)))
    if reserved:
        spend(connection, allowances, now, reserved)
    if reserved == len(created):
        return
    beyond = exceeded(tightest, from_micros(now))
    surplus = created[reserved:]
    _take_back(connection, [results[place] for place in surplus])
    for place in surplus:
        results[place] = beyond


def _without_reserved(
    connection: sa.Connection, ids: Sequence[int | None], rows: Sequence[_Row], now: int
) -> list[int | None]:
    """Removes links whose code is reserved for somebody else, as a create does."""
    reserved = _find_reserved(connection, rows, now)
    pairs = zip(ids, rows, strict=True)
    refused = {
        link_id for link_id, row in pairs if link_id is not None and _is_reserved(row, reserved)
    }
    if refused:
        _take_back(connection, refused)
    return [None if link_id in refused else link_id for link_id in ids]


def _take_back(connection: sa.Connection, link_ids: Collection[Any]) -> None:
    connection.execute(sa.delete(links).where(links.c.id.in_(link_ids)))


def _find_reserved(connection: sa.Connection, rows: Sequence[_Row], now: int) -> dict[str, int]:
    codes = [row[_CODE] for row in rows if row[_WORKSPACE] == ROOT_WORKSPACE_ID]
    return find_reserved(connection, codes, now) if codes else {}


def _is_reserved(row: _Row, reserved: dict[str, int]) -> bool:
    if row[_WORKSPACE] != ROOT_WORKSPACE_ID:
        return False
    return is_refused(reserved.get(row[_CODE]), row[_OWNER], row[_TYPE])


def _lock_usage(connection: sa.Connection, allowance: Allowance) -> int:
    """What was spent; the row stays locked until the transaction ends."""
    statement = (
        insert(usage)
        .values(subject=allowance.subject, month=allowance.month, links=0)
        .on_conflict_do_update(
            index_elements=[usage.c.subject, usage.c.month], set_={"links": usage.c.links}
        )
        .returning(usage.c.links)
    )
    spent: int = connection.execute(statement).scalar_one()
    return spent


def _follow_on_sqlite(connection: sa.Connection, ids: Sequence[int], now: int) -> None:
    """The change log of the new links, which have the highest ids."""
    driver: Any = connection.connection.driver_connection
    driver.execute(
        "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
        " SELECT id, workspace_id, short_code, version, ? FROM links WHERE id >= ?",
        (now, ids[0]),
    )


def _follow_on_postgres(connection: sa.Connection, ids: Sequence[int], now: int) -> None:
    connection.exec_driver_sql(
        "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
        " SELECT id, workspace_id, short_code, version, $1 FROM links"
        " WHERE id = ANY($2::bigint[]) ORDER BY id",
        (now, list(ids)),
    )


def find_holders(connection: sa.Connection, rows: Sequence[_Row], now: int) -> list[Holder | None]:
    reserved = _find_reserved(connection, rows, now)
    by_code = _lookup(connection, rows, "short_code", _CODE)
    by_url = _lookup(connection, [row for row in rows if row[_HASH]], "canonical_hash", _HASH)
    return [
        by_code.get((row[_WORKSPACE], row[_CODE]))
        or by_url.get((row[_WORKSPACE], row[_HASH]))
        or (Holder(row[_CODE], "", "") if _is_reserved(row, reserved) else None)
        for row in rows
    ]


def _lookup(
    connection: sa.Connection, rows: Sequence[_Row], name: str, place: int
) -> dict[tuple[int, Any], Holder]:
    """The links that have the rows' values in a unique column of their workspace."""
    wanted: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        wanted[row[_WORKSPACE]].append(row[place])
    found = {}
    for workspace_id, values in wanted.items():
        query = sa.select(
            links.c[name], links.c.short_code, links.c.original_url, links.c.canonical_url
        ).where(links.c.workspace_id == workspace_id, links.c[name].in_(values))
        for value, *parts in connection.execute(query):
            found[workspace_id, value] = Holder(*parts)
    return found


def find_left(
    connection: sa.Connection, allowances: tuple[Allowance, ...], now: datetime
) -> tuple[int, KurzError]:
    def left(allowance: Allowance) -> int:
        return allowance.limit - find_spent(connection, allowance)

    tightest = min(allowances, key=left)
    return left(tightest), exceeded(tightest, now)


def list_page(
    connection: sa.Connection,
    scope: Scope,
    after: Position | None,
    limit: int,
    *,
    with_trash: bool,
    link_ids: Sequence[int] | None = None,
) -> tuple[list[Link], Position | None]:
    conditions, order = _within(scope, is_walked=link_ids is None)
    if link_ids is not None:
        conditions.append(links.c.id.in_(link_ids))
    if not with_trash:
        conditions.append(links.c.deleted_at.is_(None))
    if after is not None:
        conditions.append(sa.tuple_(*order) > sa.tuple_(*map(sa.literal, after)))
    query = select_links().where(*conditions).order_by(*order).limit(limit)
    rows = connection.execute(query).mappings().all()
    is_last = len(rows) < limit
    position = None if is_last else tuple(rows[-1][column.name] for column in order)
    return [to_link(row) for row in rows], position


def _within(
    scope: Scope, *, is_walked: bool
) -> tuple[list[sa.ColumnElement[bool] | sa.TextClause], list[sa.Column[int]]]:
    """A scope's links, and the columns of an index that has them in order of age. If that index is
    not to be walked, the conditions are written so that no engine chooses it."""
    space = 0 if scope.workspace_id is None else space_of(scope.workspace_id, scope.owner_id)
    conditions: list[sa.ColumnElement[bool] | sa.TextClause] = []
    if space and not is_walked:
        conditions = [links.c.space + 0 == space]
    elif space:
        # The second condition is the index's own: SQLite does not conclude it from a parameter.
        conditions = [links.c.space == space, sa.text("space <> 0")]
    elif scope.workspace_id is not None:
        # The sum avoids the index of codes, which is not in the order of age.
        conditions = [links.c.workspace_id + 0 == scope.workspace_id]
    if not space:
        conditions.append(~IS_ENDING)
    if scope.owner_id is not None and space >= 0:
        conditions.append(links.c.owner_id == scope.owner_id)
    return conditions, [links.c.created_at, links.c.id] if space else [links.c.id]


class SqlBulkStore(SqlStore):
    """The `BulkStore` of both engines."""

    async def insert(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...], now: datetime
    ) -> list[Stored]:
        rows = [to_row(link) for link in links]  # here, not inside the transaction
        with deadline(LONG_SECONDS):
            return await self._database.write(insert_rows, rows, allowances, to_micros(now))

    async def find_holders(self, links: Sequence[Link], now: datetime) -> list[Holder | None]:
        rows = [to_row(link) for link in links]
        with deadline(LIST_SECONDS):
            return await self._database.read(find_holders, rows, to_micros(now))

    find_left = reads(find_left)
    page = reads(list_page, LONG_SECONDS)
