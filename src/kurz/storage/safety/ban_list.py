"""Bans of hosts and accounts. Bans of links are in `bans`."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from kurz.clock import to_micros, to_micros_or_none
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.paging import WHOLE, Part
from kurz.safety.bans import STRENGTH, Ban, BanCause, BanKind
from kurz.storage.engine.changes import record_move
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import find_all, to_values, upsert
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.people.accounts import find_account, set_disabled
from kurz.storage.schema.links import links
from kurz.storage.schema.safety import bans, link_bans

_PUT = upsert(bans, "reason", "banned_by", "banned_at", "is_pending", "lifted_at", "was_disabled")
_STANDS = bans.c.lifted_at.is_(None)
_STRONGER = [str(cause) for cause in BanCause if STRENGTH[cause] >= STRENGTH[BanCause.ACCOUNT]]


def put_ban(connection: sa.Connection, ban: Ban) -> None:
    connection.execute(_PUT, to_values(ban))
    _tell(connection, ban.kind)


def put_account_ban(connection: sa.Connection, ban: Ban) -> Ban | None:
    # The account is read first: a ban that is written in between is then found below.
    account = find_account(connection, int(ban.subject))
    is_disabled = account is not None and account.disabled_at is not None
    earlier = find_standing(connection, {ban.subject}).get(ban.subject)
    if not is_disabled and set_disabled(connection, int(ban.subject), ban.banned_at) is None:
        return None
    was_disabled = is_disabled if earlier is None else earlier.was_disabled
    ban = replace(ban, was_disabled=was_disabled)
    put_ban(connection, ban)
    return ban


def lift_ban(connection: sa.Connection, kind: BanKind, subject: str, now: datetime) -> bool:
    these = (bans.c.kind == kind, bans.c.subject == subject, _STANDS)
    if kind is BanKind.HOST:  # its effect on links is undone by screening them
        is_lifted = connection.execute(sa.delete(bans).where(*these)).rowcount > 0
    else:
        lift = sa.update(bans).where(*these).values(lifted_at=to_micros(now), is_pending=True)
        is_lifted = connection.execute(lift).rowcount > 0
    if is_lifted:
        _tell(connection, kind)
    return is_lifted


def _tell(connection: sa.Connection, kind: BanKind) -> None:
    """Every process gets rows for link 0, and then reads the bans again."""
    if kind is BanKind.HOST:
        record_move(connection, ROOT_WORKSPACE_ID)


def confirm_ban(connection: sa.Connection, ban: Ban) -> None:
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
    """`keeps`: locks them until the end of the transaction."""
    query = part_of(sa.select(bans).where(*conditions), part, bans.c.kind, bans.c.subject)
    if keeps:
        query = query.with_for_update(read=True)
    return find_all(connection, query, Ban)


def list_bans(connection: sa.Connection, kind: BanKind, part: Part = WHOLE) -> list[Ban]:
    return find_bans(connection, bans.c.kind == kind, _STANDS, part=part)


def find_standing(connection: sa.Connection, accounts: Collection[str]) -> dict[str, Ban]:
    """Bans of accounts, by their ids. A write that depends on them locks them until its end;
    SQLite's only writer needs no lock."""
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
    """In ranges of ids: no index has the owners of links in workspaces."""
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


class SqlBanStore(SqlStore):
    """The `BanStore` of both engines."""

    put = writes(put_ban)
    put_account = writes(put_account_ban)
    lift = writes(lift_ban)
    confirm = writes(confirm_ban)

    async def find(self, kind: BanKind, subject: str) -> Ban | None:
        found = await self._database.read(
            find_bans, bans.c.kind == kind, bans.c.subject == subject, _STANDS
        )
        return found[0] if found else None

    list = reads(list_bans, LIST_SECONDS)

    async def pending(self) -> Sequence[Ban]:
        is_account = bans.c.kind == BanKind.ACCOUNT
        return await self._database.read(find_bans, is_account, bans.c.is_pending)

    hosts = reads(find_hosts, LIST_SECONDS)
    links_of = reads(find_links_of, LONG_SECONDS)
