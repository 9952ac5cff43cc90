"""Bans of links. While a link is banned, another row says why, and what its state was before."""

import asyncio
import functools
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clock import from_micros, to_micros
from kurz.links.model import Link, LinkAction, Status
from kurz.rounds import rest_after
from kurz.safety.bans import STRENGTH, BanCause, LinkBan
from kurz.storage.engine.batches import REST_SECONDS, among
from kurz.storage.engine.changes import record_changes
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS, deadline
from kurz.storage.engine.rows import find_all, upsert
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.links.history import add_history_entries
from kurz.storage.links.tags import follow_tags
from kurz.storage.safety.ban_list import find_standing
from kurz.storage.schema.link_rows import to_link
from kurz.storage.schema.links import LOCATION, links
from kurz.storage.schema.people import accounts, workspaces
from kurz.storage.schema.safety import link_bans

BATCH = 100  # links a transaction, so that none takes long

_KEEP = upsert(link_bans, "cause", "subject", "reason", "banned_by", "banned_at")


def ban_some(connection: sa.Connection, bans: Sequence[LinkBan], now: int) -> int:
    wanted = {ban.link_id: ban for ban in bans}
    found = _lock(connection, wanted)
    wanted = _without_lifted(connection, wanted)
    causes = _find_causes(connection, wanted)
    before = [
        link
        for link in found
        if link.id in wanted
        and (
            link.status is not Status.BANNED
            or _is_stronger(wanted[link.id].cause, causes.get(link.id))
        )
    ]
    if not before:
        return 0
    rows = [
        {
            "link_id": link.id,
            "cause": wanted[link.id].cause,
            "subject": wanted[link.id].subject,
            "reason": wanted[link.id].reason,
            # Only for a link that was not banned: the row of a banned link stays unchanged.
            "status_before": Status.ACTIVE if link.status is Status.BANNED else link.status,
            "banned_by": wanted[link.id].banned_by,
            "banned_at": now,
        }
        for link in before
    ]
    connection.execute(_KEEP, rows)
    by: dict[int | None, list[Link]] = defaultdict(list)
    for link in before:
        by[wanted[link.id].banned_by].append(link)
    for account_id, group in by.items():
        _write(connection, group, Status.BANNED, now, LinkAction("ban", account_id))
    return len(before)


def unban_some(
    connection: sa.Connection,
    link_ids: Sequence[int],
    causes: Sequence[BanCause],
    now: int,
    account_id: int | None,
    *,
    are_held: bool = False,
) -> int:
    banned = {link.id: link for link in _lock(connection, link_ids)}
    of_causes = (among(connection, link_bans.c.link_id, [*banned]), link_bans.c.cause.in_(causes))
    statement = (
        sa.delete(link_bans)
        .where(*of_causes)
        .returning(link_bans.c.link_id, link_bans.c.status_before)
    )
    statuses = {row.link_id: Status(row.status_before) for row in connection.execute(statement)}
    if BanCause.ADMIN in causes:
        known = _find_causes(connection, banned)
        statuses |= {
            link.id: Status.ACTIVE
            for link in banned.values()
            if link.status is Status.BANNED and link.id not in {*known, *statuses}
        }
    statuses |= dict.fromkeys(_find_nobodys(connection, [*statuses]), Status.DELETED)
    kept = _keep_for_owners(connection, statuses, banned, now)
    by: dict[Status, list[Link]] = defaultdict(list)
    for link_id in sorted(statuses.keys() - kept):
        by[statuses[link_id]].append(banned[link_id])
    for status, group in by.items():
        action = LinkAction("unban", account_id)
        _write(connection, group, status, now, action, are_held=are_held)
    return len(statuses)


def _without_lifted(connection: sa.Connection, wanted: dict[int, LinkBan]) -> dict[int, LinkBan]:
    """The ban of a person may have been lifted since its execution began. If it still holds, it
    cannot be lifted before the end of this transaction."""
    subjects = {str(ban.subject) for ban in wanted.values() if ban.cause is BanCause.ACCOUNT}
    standing = find_standing(connection, subjects)
    return {
        link_id: ban
        for link_id, ban in wanted.items()
        if ban.cause is not BanCause.ACCOUNT or ban.subject in standing
    }


def _keep_for_owners(
    connection: sa.Connection, statuses: dict[int, Status], banned: dict[int, Link], now: int
) -> set[int]:
    """Links whose owner is banned stay banned, now because of the owner; returns which. If the
    owner's account is deleted, nobody could lift that."""
    found = {banned[link_id].owner_id for link_id in statuses} - {None}
    query = sa.select(accounts.c.id).where(among(connection, accounts.c.id, [*found]))
    present = {*connection.execute(query).scalars()} if found else set()
    owners = {
        link_id: str(owner)
        for link_id in statuses
        if (owner := banned[link_id].owner_id) in present
    }
    standing = find_standing(connection, {*owners.values()})
    rows = [
        {
            "link_id": link_id,
            "cause": BanCause.ACCOUNT,
            "subject": owner,
            "reason": standing[owner].reason,
            "status_before": statuses[link_id],
            "banned_by": standing[owner].banned_by,
            "banned_at": now,
        }
        for link_id, owner in owners.items()
        if owner in standing
    ]
    if rows:
        connection.execute(_KEEP, rows)
    return {link_id for link_id, owner in owners.items() if owner in standing}


def _is_stronger(cause: BanCause, present: BanCause | None) -> bool:
    """A link that was imported as banned has no cause: it counts as banned by an administrator."""
    if present is None:
        return cause is BanCause.ADMIN
    return STRENGTH[cause] > STRENGTH[present]


def _lock(connection: sa.Connection, link_ids: Collection[int]) -> list[Link]:
    """In the order of their ids, as everywhere where several are locked."""
    are_these = among(connection, links.c.id, [*link_ids])
    query = sa.select(links).where(are_these).order_by(links.c.id).with_for_update()
    return [to_link(row) for row in connection.execute(query).mappings()]


def _find_causes(connection: sa.Connection, link_ids: Collection[int]) -> dict[int, BanCause]:
    are_these = among(connection, link_bans.c.link_id, [*link_ids])
    query = sa.select(link_bans.c.link_id, link_bans.c.cause).where(are_these)
    return {link_id: BanCause(cause) for link_id, cause in connection.execute(query)}


def _find_nobodys(connection: sa.Connection, link_ids: Sequence[int]) -> list[int]:
    """Links whose account or workspace was deleted while they were banned."""
    has_owner = sa.exists().where(accounts.c.id == -links.c.space).correlate(links)
    has_workspace = sa.exists().where(workspaces.c.id == links.c.space).correlate(links)
    query = sa.select(links.c.id).where(
        among(connection, links.c.id, link_ids),
        ((links.c.space < 0) & ~has_owner) | ((links.c.space > 0) & ~has_workspace),
    )
    return [*connection.execute(query).scalars()]


def _write(
    connection: sa.Connection,
    before: Sequence[Link],
    status: Status,
    now: int,
    action: LinkAction,
    *,
    are_held: bool = False,
) -> None:
    values = {"status": status, "version": links.c.version + 1, "updated_at": now}
    if are_held:
        values["held_at"] = sa.func.coalesce(links.c.held_at, now)
    if status is Status.DELETED:  # its owner has the full time in the trash to restore it
        values["deleted_at"] = now
        values["swept_at"] = sa.case((links.c.swept_at.is_not(None), now))
    are_these = among(connection, links.c.id, [link.id for link in before])
    connection.execute(sa.update(links).where(are_these).values(values))
    after = [
        replace(link, status=status, version=link.version + 1, updated_at=from_micros(now))
        for link in before
    ]
    written = [(link.id, link.workspace_id, link.short_code, link.version) for link in after]
    record_changes(connection, written, now)
    pairs = [*zip(before, after, strict=True)]
    add_history_entries(connection, pairs, action)
    for old, new in pairs:
        follow_tags(connection, old, new)


def hand_over(
    connection: sa.Connection, link_ids: Sequence[int], account: str, cause: BanCause
) -> None:
    these = (
        among(connection, link_bans.c.link_id, link_ids),
        link_bans.c.cause == BanCause.ACCOUNT,
        link_bans.c.subject == account,
    )
    connection.execute(sa.update(link_bans).where(*these).values(cause=cause, subject=None))


def list_bans(
    connection: sa.Connection, limit: int, *conditions: sa.ColumnElement[bool]
) -> list[LinkBan]:
    order = link_bans.c.banned_at.desc(), link_bans.c.link_id.desc()
    query = (
        sa.select(link_bans, links.c.short_code, links.c.workspace_id)
        .join(links, links.c.id == link_bans.c.link_id, isouter=True)
        .where(*conditions)
        .order_by(*order)
        .limit(limit)
    )
    return find_all(connection, query, LinkBan)


def find_locations(
    connection: sa.Connection, cause: BanCause, subject: str, after: int, limit: int
) -> list[tuple[int, str]]:
    query = (
        sa.select(link_bans.c.link_id, LOCATION)
        .join(links, links.c.id == link_bans.c.link_id)
        .where(link_bans.c.cause == cause, link_bans.c.subject == subject)
        .where(link_bans.c.link_id > after)
        .order_by(link_bans.c.link_id)
        .limit(limit)
    )
    return [(link_id, found) for link_id, found in connection.execute(query)]


class SqlLinkBanStore(SqlStore):
    """The `LinkBanStore` of both engines."""

    async def ban(self, bans: Sequence[LinkBan], now: datetime) -> int:
        return await self._in_batches(bans, ban_some, to_micros(now))

    async def unban(
        self,
        link_ids: Sequence[int],
        causes: Sequence[BanCause],
        now: datetime,
        *,
        account_id: int | None = None,
        are_held: bool = False,
    ) -> int:
        unban = functools.partial(unban_some, are_held=are_held)
        return await self._in_batches(link_ids, unban, causes, to_micros(now), account_id)

    hand_over = writes(hand_over)

    async def find(self, link_id: int) -> LinkBan | None:
        found = await self._database.read(list_bans, 1, link_bans.c.link_id == link_id)
        return found[0] if found else None

    async def list(
        self, *, before: tuple[datetime, int] | None = None, limit: int
    ) -> list[LinkBan]:
        conditions = []
        if before is not None:
            here = sa.tuple_(link_bans.c.banned_at, link_bans.c.link_id)
            end = sa.tuple_(sa.literal(to_micros(before[0])), sa.literal(before[1]))
            conditions.append(here < end)
        with deadline(LIST_SECONDS):
            return await self._database.read(list_bans, limit, *conditions)

    locations = reads(find_locations, LONG_SECONDS)

    async def _in_batches(
        self, items: Sequence[Any], write: Callable[..., int], *arguments: object
    ) -> int:
        """Pauses after each as long as it took: half of the writer's time is for others."""
        total = 0
        for start in range(0, len(items), BATCH):
            started = time.monotonic()
            with deadline(LONG_SECONDS):
                total += await self._database.write(write, items[start : start + BATCH], *arguments)
            if start + BATCH < len(items):
                await asyncio.sleep(rest_after(started, most=REST_SECONDS))
        return total
