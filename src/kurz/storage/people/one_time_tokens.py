"""Queries about one-time links."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from kurz.clock import from_micros, to_micros
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.passes import Pass, Purpose
from kurz.people.receipts import Receipt
from kurz.storage.caps import lock_workspace, require_invitation
from kurz.storage.database import Database
from kurz.storage.epochs import require_epoch
from kurz.storage.pages import part_of
from kurz.storage.receipts import keep_receipt
from kurz.storage.schema import passes


def insert_pass(
    connection: sa.Connection,
    item: Pass,
    receipt: Receipt | None,
    at_most: int,
    epoch: int | None,
    spared: timedelta,
) -> None:
    if item.created_by is not None:
        require_epoch(connection, item.created_by, epoch)
    if item.workspace_id is not None:
        lock_workspace(connection, item.workspace_id)
        is_over = passes.c.expires_at < to_micros(item.created_at)
        is_here = passes.c.workspace_id == item.workspace_id
        connection.execute(sa.delete(passes).where(is_here, is_over))
        require_invitation(connection, item.workspace_id, at_most)
    if item.purpose is not Purpose.INVITATION:
        is_same = passes.c.account_id.is_not_distinct_from(item.account_id)
        is_earlier = passes.c.created_at <= to_micros(item.created_at - spared)
        replaced = (passes.c.purpose == item.purpose, is_same, is_earlier)
        connection.execute(sa.delete(passes).where(*replaced))
    connection.execute(
        sa.insert(passes).values(
            id=item.id,
            token_hash=item.token_hash,
            purpose=item.purpose,
            account_id=item.account_id,
            workspace_id=item.workspace_id,
            role=item.role,
            created_by=item.created_by,
            created_at=to_micros(item.created_at),
            expires_at=to_micros(item.expires_at),
        )
    )
    keep_receipt(connection, receipt, item)


def find_pass(connection: sa.Connection, token_hash: bytes) -> Pass | None:
    query = sa.select(passes).where(passes.c.token_hash == token_hash)
    row = connection.execute(query).mappings().first()
    return None if row is None else _pass(row)


def take_pass(connection: sa.Connection, token_hash: bytes, now: datetime) -> Pass | None:
    """Uses a pass up; None if it was used before or has expired. Only one can take it."""
    statement = (
        sa.delete(passes)
        .where(passes.c.token_hash == token_hash, passes.c.expires_at > to_micros(now))
        .returning(*passes.c)
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else _pass(row)


def list_invitations(
    connection: sa.Connection, workspace_id: int | None, now: datetime, part: Part
) -> list[Pass]:
    query = sa.select(passes).where(
        passes.c.purpose == Purpose.INVITATION,
        passes.c.workspace_id.is_not_distinct_from(workspace_id),
        passes.c.expires_at > to_micros(now),
    )
    ordered = part_of(query, part, passes.c.created_at, passes.c.id, is_descending=True)
    return [_pass(row) for row in connection.execute(ordered).mappings()]


def delete_pass(connection: sa.Connection, pass_id: int, workspace_id: int | None) -> bool:
    statement = sa.delete(passes).where(
        passes.c.id == pass_id,
        passes.c.purpose == Purpose.INVITATION,
        passes.c.workspace_id.is_not_distinct_from(workspace_id),
    )
    return connection.execute(statement).rowcount == 1


def _pass(row: sa.RowMapping) -> Pass:
    return Pass(
        id=row["id"],
        token_hash=row["token_hash"],
        purpose=Purpose(row["purpose"]),
        account_id=row["account_id"],
        workspace_id=row["workspace_id"],
        role=Role(row["role"]) if row["role"] else None,
        created_by=row["created_by"],
        created_at=from_micros(row["created_at"]),
        expires_at=from_micros(row["expires_at"]),
    )


class SqlPassStore:
    """The `PassStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        item: Pass,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
        epoch: int | None = None,
        spared: timedelta = timedelta(0),
    ) -> None:
        await self._database.write(insert_pass, item, receipt, at_most, epoch, spared)

    async def find(self, token_hash: bytes) -> Pass | None:
        return await self._database.read(find_pass, token_hash)

    async def list_invitations(
        self, workspace_id: int | None, now: datetime, part: Part = WHOLE
    ) -> list[Pass]:
        return await self._database.read(list_invitations, workspace_id, now, part)

    async def delete(self, pass_id: int, workspace_id: int | None) -> bool:
        return await self._database.write(delete_pass, pass_id, workspace_id)
