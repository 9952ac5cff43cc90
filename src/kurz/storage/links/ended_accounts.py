"""The links of deleted accounts. The transaction that deletes an account ends the links itself if
there are few, and adds a row to `ending_accounts`. That row hides all personal links of the account
from everyone until a job has ended them."""

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from kurz.clock import from_micros
from kurz.links.model import ROOT_WORKSPACE_ID, Link, Status, space_of
from kurz.storage.engine.batches import SQLITE_LINKS, among
from kurz.storage.engine.changes import record_end, update_links
from kurz.storage.links.tags import trash_tags_of
from kurz.storage.schema.links import links
from kurz.storage.schema.people import ending_accounts, members

Condition = sa.ColumnElement[bool]

FEW = SQLITE_LINKS  # links of each kind that are ended in the transaction of the request
BY_AGE = links.c.created_at, links.c.id  # the order of `ix_links_created`

# The text of indexes: an engine does not use a partial index for parameters.
_IS_IN_A_LIST = sa.text("links.space <> 0")
_IS_TEAMS = sa.text("links.space > 0")
# For the operator, who sees links of all accounts.
IS_ENDING = sa.exists().where(ending_accounts.c.account_id == -links.c.space).correlate(links)


def are_personal(account_id: int) -> Condition:
    return sa.and_(links.c.space == space_of(ROOT_WORKSPACE_ID, account_id), _IS_IN_A_LIST)


def begin_end(connection: sa.Connection, account_id: int, deleted_at: int) -> None:
    """Ends the links of an account that is being deleted, as everyone outside sees them. Must be
    called before its memberships are deleted, because they lead to its links in workspaces."""
    if not _trash_few(connection, account_id, deleted_at):
        record_end(connection, space_of(ROOT_WORKSPACE_ID, account_id))
    _disown_few(connection, account_id)
    # Also if there are few: links may be in workspaces that the account has left, or are being
    # created right now.
    row = {"account_id": account_id, "deleted_at": deleted_at}
    connection.execute(sa.insert(ending_accounts).values(row))


def as_ended(connection: sa.Connection, link: Link) -> Link:
    """A link as everyone must see it: in the trash, if its account is deleted."""
    space = space_of(link.workspace_id, link.owner_id)
    if space >= 0 or not _is_outside(link):
        return link
    query = sa.select(ending_accounts.c.deleted_at).where(ending_accounts.c.account_id == -space)
    deleted_at = connection.execute(query).scalar()
    if deleted_at is None:
        return link
    at = from_micros(deleted_at)
    return replace(link, status=Status.DELETED, deleted_at=at, swept_at=None)


def _is_outside(link: Link) -> bool:
    """Like `_are_outside`, for one link."""
    is_kept = link.status not in (Status.DELETED, Status.BANNED)
    return is_kept or (link.status is Status.DELETED and link.swept_at is not None)


def _are_outside() -> Condition:
    """Links that go to the trash with their account: those that are not there, and those that the
    reaper moved there, because links that their owner deletes are not kept as long."""
    is_kept = links.c.status.not_in([Status.DELETED, Status.BANNED])
    is_swept = (links.c.status == Status.DELETED) & links.c.swept_at.is_not(None)
    return is_kept | is_swept


def is_owned(space: sa.ColumnElement[int], account_id: int) -> Condition:
    """Links in a workspace that the account owns."""
    return sa.and_(links.c.space == space, links.c.owner_id == account_id, _IS_TEAMS)


def _trash_few(connection: sa.Connection, account_id: int, deleted_at: int) -> bool:
    """Moves the personal links to the trash. False: there are too many, in the trash or not."""
    query = sa.select(links.c.id).where(are_personal(account_id))
    ids = connection.execute(query.order_by(*BY_AGE).limit(FEW + 1)).scalars().all()
    if len(ids) > FEW:
        return False
    trash(connection, account_id, ids, deleted_at, deleted_at)
    return True


def trash(
    connection: sa.Connection, account_id: int, link_ids: Sequence[int], deleted_at: int, now: int
) -> None:
    """Locks the links in the order of their ids, like all code that locks several links."""
    space = space_of(ROOT_WORKSPACE_ID, account_id)
    condition = (links.c.space == space) & _are_outside()
    are_these = sa.and_(among(connection, links.c.id, link_ids), condition.is_(sa.true()))
    locked = sa.select(links.c.id).where(are_these).order_by(links.c.id).with_for_update()
    ids = connection.execute(locked).scalars().all()
    if ids:
        are_these = sa.and_(among(connection, links.c.id, ids), condition.is_(sa.true()))
        gone = {"status": Status.DELETED, "deleted_at": deleted_at, "swept_at": None}
        trash_tags_of(connection, update_links(connection, are_these, now=now, **gone))


def _disown_few(connection: sa.Connection, account_id: int) -> None:
    """Disowns no link if there are many. Not a join, which an engine might begin with the links."""
    spaces = sa.select(members.c.workspace_id).where(members.c.account_id == account_id)
    found = connection.execute(spaces).scalars().all()
    if not found:
        return
    are_its = among(connection, links.c.space, found), links.c.owner_id == account_id, _IS_TEAMS
    ids = connection.execute(sa.select(links.c.id).where(*are_its).limit(FEW + 1)).scalars().all()
    if len(ids) <= FEW:
        disown(connection, account_id, ids)


def disown(connection: sa.Connection, account_id: int, link_ids: Sequence[int]) -> int:
    if not link_ids:
        return 0
    is_its = sa.and_(links.c.space > 0, links.c.owner_id == account_id)
    are_these = sa.and_(among(connection, links.c.id, link_ids), is_its.is_(sa.true()))
    return connection.execute(sa.update(links).where(are_these).values(owner_id=None)).rowcount
