"""Queries about one-time links."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.paging import WHOLE, Part
from kurz.people.caps import UNCAPPED
from kurz.people.one_time_tokens import OneTimeToken, Purpose
from kurz.people.receipts import Receipt
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import find_all, find_one, to_values
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.links.receipts import save_receipt
from kurz.storage.people.caps import lock_workspace, require_invitation
from kurz.storage.people.epochs import require_epoch
from kurz.storage.schema.people import one_time_tokens


def insert_token(
    connection: sa.Connection,
    item: OneTimeToken,
    receipt: Receipt | None = None,
    at_most: int = UNCAPPED,
    epoch: int | None = None,
    spared: timedelta = timedelta(0),
) -> None:
    if item.created_by is not None:
        require_epoch(connection, item.created_by, epoch)
    if item.workspace_id is not None:
        lock_workspace(connection, item.workspace_id)
        is_over = one_time_tokens.c.expires_at < to_micros(item.created_at)
        is_here = one_time_tokens.c.workspace_id == item.workspace_id
        connection.execute(sa.delete(one_time_tokens).where(is_here, is_over))
        require_invitation(connection, item.workspace_id, at_most)
    if item.purpose is not Purpose.INVITATION:
        is_same = one_time_tokens.c.account_id.is_not_distinct_from(item.account_id)
        is_earlier = one_time_tokens.c.created_at <= to_micros(item.created_at - spared)
        replaced = (one_time_tokens.c.purpose == item.purpose, is_same, is_earlier)
        connection.execute(sa.delete(one_time_tokens).where(*replaced))
    connection.execute(sa.insert(one_time_tokens).values(to_values(item)))
    save_receipt(connection, receipt, item)


def find_token(connection: sa.Connection, token_hash: bytes) -> OneTimeToken | None:
    query = sa.select(one_time_tokens).where(one_time_tokens.c.token_hash == token_hash)
    return find_one(connection, query, OneTimeToken)


def take_token(connection: sa.Connection, token_hash: bytes, now: datetime) -> OneTimeToken | None:
    """Uses up a one-time token; None if it was used or has expired. Only one caller can take it."""
    statement = (
        sa.delete(one_time_tokens)
        .where(
            one_time_tokens.c.token_hash == token_hash,
            one_time_tokens.c.expires_at > to_micros(now),
        )
        .returning(*one_time_tokens.c)
    )
    return find_one(connection, statement, OneTimeToken)


def list_invitations(
    connection: sa.Connection, workspace_id: int | None, now: datetime, part: Part = WHOLE
) -> list[OneTimeToken]:
    query = sa.select(one_time_tokens).where(
        one_time_tokens.c.purpose == Purpose.INVITATION,
        one_time_tokens.c.workspace_id.is_not_distinct_from(workspace_id),
        one_time_tokens.c.expires_at > to_micros(now),
    )
    ordered = part_of(
        query, part, one_time_tokens.c.created_at, one_time_tokens.c.id, is_descending=True
    )
    return find_all(connection, ordered, OneTimeToken)


def delete_token(connection: sa.Connection, token_id: int, workspace_id: int | None) -> bool:
    statement = sa.delete(one_time_tokens).where(
        one_time_tokens.c.id == token_id,
        one_time_tokens.c.purpose == Purpose.INVITATION,
        one_time_tokens.c.workspace_id.is_not_distinct_from(workspace_id),
    )
    return connection.execute(statement).rowcount == 1


class SqlOneTimeTokenStore(SqlStore):
    """The `OneTimeTokenStore` of both engines."""

    insert = writes(insert_token)
    find = reads(find_token)
    list_invitations = reads(list_invitations)
    delete = writes(delete_token)
