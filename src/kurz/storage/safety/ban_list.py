"""Bans of hosts and accounts. Those of links are in `bans`."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.paging import WHOLE, Part
from kurz.safety.bans import STRENGTH, Ban, BanKind, Cause
from kurz.storage.accounts import find_account, set_disabled
from kurz.storage.changes import record_move
from kurz.storage.database import Database
from kurz.storage.pages import part_of
from kurz.storage.patience import LIST_SECONDS, LONG_SECONDS, patience
from kurz.storage.safety_schema import bans, link_bans
from kurz.storage.schema import links

_PUT = insert(bans)
_PUT = _PUT.on_conflict_do_update(
    index_elements=[bans.c.kind, bans.c.subject],
    set_={
        name: _PUT.excluded[name]
        for name in ("reason", "banned_by", "banned_at", "is_pending", "lifted_at", "was_disabled")
    },
)
_STANDS = bans.c.lifted_at.is_(None)
_STRONGER = [str(cause) for cause in Cause if STRENGTH[cause] >= STRENGTH[Cause.ACCOUNT]]


def put_ban(connection: sa.Connection, ban: Ban) -> None:
    row = {
        "kind": ban.kind,
        "subject": ban.subject,
        "reason": ban.reason,
        "banned_by": ban.banned_by,
        "banned_at": to_micros(ban.banned_at),
        "is_pending": ban.is_pending,
        "lifted_at": to_micros_or_none(ban.lifted_at),
        "was_disabled": ban.was_disabled,
    }
    connection.execute(_PUT, row)
    _tell(connection, ban.kind)


def put_account_ban(connection: sa.Connection, ban: Ban) -> Ban | None:
    # The account first: if somebody's ban is just being written, it is seen with what it has done.
    account = find_account(connection, int(ban.subject))
    is_disabled = account is not None and account.disabled_at is not None
    earlier = find_standing(connection, {ban.subject}).get(ban.subject)
    if not is_disabled and set_disabled(connection, int(ban.subject), ban.banned_at) is None:
        return None
    was_disabled = is_disabled if earlier is None else earlier.was_disabled
    ban = replace(ban, was_disabled=was_disabled)
    put_ban(connection, ban)
    return ban


def lift_ban(connection: sa.Connection, kind: BanKind, subject: str, now: int) -> bool:
    these = (bans.c.kind == kind, bans.c.subject == subject, _STANDS)
    if kind is BanKind.HOST:  # what it did to links is found by screening them
        is_lifted = connection.execute(sa.delete(bans).where(*these)).rowcount > 0
    else:
        lift = sa.update(bans).where(*these).values(lifted_at=now, is_pending=True)
        is_lifted = connection.execute(lift).rowcount > 0
    if is_lifted:
        _tell(connection, kind)
    return is_lifted


def _tell(connection: sa.Connection, kind: BanKind) -> None:
    """Every process hears of rows that are about no link, and reads such things anew."""
    if kind is BanKind.HOST:
        record_move(connection, ROOT_WORKSPACE_ID)


def settle_ban(connection: sa.Connection, ban: Ban) -> None:
    """Only if it is still the same."""
    these = (
        bans.c.kind == ban.kind,
        bans.c.subject == ban.subject,
        bans.c.banned_at == to_micros(ban.banned_at),
        bans.c.lifted_at.is_not_distinct_from(to_micros_or_none(ban.lifted_at)),
    )
    if ban.lifted_at is None:
        connection.execute(sa.update(bans).where(*these).values(is_pending=False))
    else:
        connection.execute(sa.delete(bans).where(*these))


def find_bans(
    connection: sa.Connection,
    *conditions: sa.ColumnElement[bool],
    part: Part = WHOLE,
    keeps: bool = False,
) -> list[Ban]:
    """`keeps`: they stay as they are until the end of the transaction."""
    query = part_of(sa.select(bans).where(*conditions), part, bans.c.kind, bans.c.subject)
    if keeps:
        query = query.with_for_update(read=True)
    return [
        Ban(
            kind=BanKind(row.kind),
            subject=row.subject,
            reason=row.reason,
            banned_by=row.banned_by,
            banned_at=from_micros(row.banned_at),
            is_pending=row.is_pending,
            lifted_at=from_micros_or_none(row.lifted_at),
            was_disabled=row.was_disabled,
        )
        for row in connection.execute(query)
    ]


def list_bans(connection: sa.Connection, kind: BanKind, part: Part) -> list[Ban]:
    return find_bans(connection, bans.c.kind == kind, _STANDS, part=part)


def find_standing(connection: sa.Connection, accounts: Collection[str]) -> dict[str, Ban]:
    """Of accounts, by their ids. Who writes by them holds them until it is done, as SQLite's only
    writer does anyway."""
    if not accounts:
        return {}
    of_these = (bans.c.kind == BanKind.ACCOUNT, bans.c.subject.in_(sorted(accounts)), _STANDS)
    return {ban.subject: ban for ban in find_bans(connection, *of_these, keeps=True)}


def find_hosts(connection: sa.Connection) -> frozenset[str]:
    query = sa.select(bans.c.subject).where(bans.c.kind == BanKind.HOST, _STANDS)
    return frozenset(connection.execute(query).scalars())


def find_links_of(
    connection: sa.Connection, account_id: int, after: int, window: int
) -> tuple[list[int], int | None]:
    """By windows of ids: no index has the owners of links in workspaces."""
    last = connection.execute(sa.select(sa.func.max(links.c.id))).scalar() or 0
    is_banned = sa.exists().where(
        link_bans.c.link_id == links.c.id, link_bans.c.cause.in_(_STRONGER)
    )
    query = sa.select(links.c.id).where(
        links.c.id > after,
        links.c.id <= after + window,
        links.c.owner_id == account_id,
        ~is_banned,
    )
    found = [*connection.execute(query.order_by(links.c.id)).scalars()]
    return found, after + window if after + window < last else None


class SqlBanStore:
    """The `BanStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, ban: Ban) -> None:
        await self._database.write(put_ban, ban)

    async def put_account(self, ban: Ban) -> Ban | None:
        return await self._database.write(put_account_ban, ban)

    async def lift(self, kind: BanKind, subject: str, now: datetime) -> bool:
        return await self._database.write(lift_ban, kind, subject, to_micros(now))

    async def settle(self, ban: Ban) -> None:
        await self._database.write(settle_ban, ban)

    async def find(self, kind: BanKind, subject: str) -> Ban | None:
        found = await self._database.read(
            find_bans, bans.c.kind == kind, bans.c.subject == subject, _STANDS
        )
        return found[0] if found else None

    async def list(self, kind: BanKind, part: Part = WHOLE) -> list[Ban]:
        with patience(LIST_SECONDS):
            return await self._database.read(list_bans, kind, part)

    async def pending(self) -> Sequence[Ban]:
        is_account = bans.c.kind == BanKind.ACCOUNT
        return await self._database.read(find_bans, is_account, bans.c.is_pending)

    async def hosts(self) -> frozenset[str]:
        with patience(LIST_SECONDS):
            return await self._database.read(find_hosts)

    async def links_of(
        self, account_id: int, after: int, window: int
    ) -> tuple[Sequence[int], int | None]:
        with patience(LONG_SECONDS):
            return await self._database.read(find_links_of, account_id, after, window)
