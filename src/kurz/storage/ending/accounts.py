"""Ends the links of deleted accounts, in batches."""

from collections.abc import Awaitable
from datetime import datetime

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import ROOT_WORKSPACE_ID, Status, space_of
from kurz.storage.ending.purging import lock_next
from kurz.storage.engine.batches import at_once, in_batches
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads
from kurz.storage.links.ended_accounts import BY_AGE, are_personal, disown, is_owned, trash
from kurz.storage.schema.links import links
from kurz.storage.schema.people import ending_accounts

# The text of indexes: an engine does not use a partial index for parameters.
_IS_TEAMS = sa.text("links.space > 0")
_IS_OUTSIDE = sa.text("links.space <> 0 AND links.status <> 'DELETED'")


def find_ending(connection: sa.Connection) -> list[int]:
    query = sa.select(ending_accounts.c.account_id)
    return [
        *connection.execute(
            query.order_by(ending_accounts.c.deleted_at, ending_accounts.c.account_id)
        ).scalars()
    ]


def trash_next(connection: sa.Connection, account_id: int, now: int, limit: int) -> int:
    """Goes through the next personal links, by age, and moves those to the trash that are not there
    yet. Returns how many it has seen; 0: all."""
    query = sa.select(ending_accounts).where(ending_accounts.c.account_id == account_id)
    ending = connection.execute(query.with_for_update()).first()
    if ending is None:
        return 0
    seen = sa.select(*BY_AGE).where(are_personal(account_id))
    if ending.after_id is not None:
        last = sa.literal(ending.after_created_at), sa.literal(ending.after_id)
        seen = seen.where(sa.tuple_(*BY_AGE) > sa.tuple_(*last))
    rows = connection.execute(seen.order_by(*BY_AGE).limit(at_once(connection, limit))).all()
    if rows:
        trash(connection, account_id, [row.id for row in rows], ending.deleted_at, now)
        _go_on(connection, account_id, *rows[-1])
    return len(rows)


def find_spaces(connection: sa.Connection, account_id: int) -> list[int]:
    """Workspaces with links of the account, including those that it has left, and purged ones of
    which only banned links remain. It takes one index lookup for each workspace with links."""
    first = sa.select(sa.func.min(links.c.space).label("space")).where(_IS_TEAMS)
    spaces = first.cte("spaces", recursive=True)
    following = sa.select(sa.func.min(links.c.space)).where(links.c.space > spaces.c.space)
    following = following.where(_IS_TEAMS).correlate(spaces)
    spaces = spaces.union_all(
        sa.select(following.scalar_subquery()).where(spaces.c.space.is_not(None))
    )
    has_some = sa.exists().where(is_owned(spaces.c.space, account_id)).correlate(spaces)
    return [*connection.execute(sa.select(spaces.c.space).where(has_some)).scalars()]


def disown_next(connection: sa.Connection, account_id: int, space: int, limit: int) -> int:
    """Removes the owner from the next links in a workspace; returns how many."""
    condition = is_owned(sa.literal(space), account_id)
    ids = lock_next(connection, condition, BY_AGE, at_once(connection, limit))
    return disown(connection, account_id, ids)


def has_more(connection: sa.Connection, account_id: int) -> bool:
    """Whether a personal link is not in the trash, because it was created at the last moment with
    an earlier date, or a link in a workspace still has the owner."""
    is_outside = sa.and_(
        links.c.space == space_of(ROOT_WORKSPACE_ID, account_id),
        _IS_OUTSIDE,
        links.c.status != Status.BANNED,
    )
    found = connection.execute(sa.select(links.c.id).where(is_outside).limit(1)).first()
    return found is not None or bool(find_spaces(connection, account_id))


def begin_again(connection: sa.Connection, account_id: int) -> None:
    _go_on(connection, account_id, None, None)


def end_account(connection: sa.Connection, account_id: int) -> bool:
    ended = sa.delete(ending_accounts).where(ending_accounts.c.account_id == account_id)
    return connection.execute(ended).rowcount == 1


def _go_on(
    connection: sa.Connection, account_id: int, created_at: int | None, link_id: int | None
) -> None:
    is_it = ending_accounts.c.account_id == account_id
    after = {"after_created_at": created_at, "after_id": link_id}
    connection.execute(sa.update(ending_accounts).where(is_it).values(after))


class SqlAccountEnds(SqlStore):
    """The `AccountEnds` of both engines."""

    find = reads(find_ending)

    async def trash_links(self, account_id: int, now: datetime, limit: int) -> int:
        def trash(most: int) -> Awaitable[int]:
            return self._database.write(trash_next, account_id, to_micros(now), most)

        return await in_batches(trash, limit)

    async def disown_links(self, account_id: int, limit: int) -> int:
        total = 0
        with deadline(LONG_SECONDS):
            spaces = await self._database.read(find_spaces, account_id)
        for space in spaces:

            def disown(most: int, space: int = space) -> Awaitable[int]:
                return self._database.write(disown_next, account_id, space, most)

            total += await in_batches(disown, limit - total)
            if total >= limit:
                break
        return total

    async def end(self, account_id: int) -> bool:
        with deadline(LONG_SECONDS):
            if await self._database.read(has_more, account_id):
                await self._database.write(begin_again, account_id)
                return False
        return await self._database.write(end_account, account_id)
