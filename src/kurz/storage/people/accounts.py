"""Queries about accounts and their tokens."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros, to_micros_or_none
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.accounts import Account
from kurz.people.errors import OneTimeLinkRefused
from kurz.people.one_time_tokens import Purpose
from kurz.storage.engine.changes import record_move
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import find_all, find_one, to_values
from kurz.storage.engine.store import ClockedStore, reads, writes
from kurz.storage.links.ended_accounts import begin_end
from kurz.storage.people.epochs import require_epoch
from kurz.storage.people.one_time_tokens import find_token, take_token
from kurz.storage.schema.people import (
    accounts,
    ended_tokens,
    keys,
    members,
    one_time_tokens,
    workspaces,
)


def insert_account(
    connection: sa.Connection, account: Account, token_hash: bytes | None = None
) -> Account | None:
    statement = (
        insert(accounts).values(to_values(account)).on_conflict_do_nothing().returning(*accounts.c)
    )
    made = find_one(connection, statement, Account)
    if made is not None and token_hash is not None:
        _follow(connection, token_hash, account)
    return made


def _follow(connection: sa.Connection, token_hash: bytes, account: Account) -> None:
    """Uses up the one-time link, and joins the workspace of the invitation."""
    found = find_token(connection, token_hash)
    if found is not None and found.workspace_id is not None:
        # Locked before the one-time link, as everywhere where both are locked.
        workspace = sa.select(workspaces.c.id).where(
            workspaces.c.id == found.workspace_id, workspaces.c.deleted_at.is_(None)
        )
        if connection.execute(workspace.with_for_update()).first() is None:
            raise OneTimeLinkRefused("The workspace of this invitation was deleted.")
    is_setup = found is not None and found.purpose is Purpose.SETUP
    setups = one_time_tokens.c.purpose == Purpose.SETUP
    if is_setup:  # the first that is used ends the others; locked in one order
        query = (
            sa.select(one_time_tokens.c.token_hash)
            .where(setups)
            .order_by(one_time_tokens.c.token_hash)
        )
        connection.execute(query.with_for_update()).all()
    used = take_token(connection, token_hash, account.created_at)
    if used is None:
        raise OneTimeLinkRefused("This link has already been used. Ask for a new one.")
    if is_setup:
        connection.execute(sa.delete(one_time_tokens).where(setups))
    if used.workspace_id is None:
        return
    row = {
        "workspace_id": used.workspace_id,
        "account_id": account.id,
        "role": used.role or Role.VIEWER,
        "created_at": to_micros(account.created_at),
    }
    connection.execute(sa.insert(members).values(row))


def find_account(connection: sa.Connection, account_id: int) -> Account | None:
    return find_one(connection, sa.select(accounts).where(accounts.c.id == account_id), Account)


def find_account_by_email(connection: sa.Connection, email: str) -> Account | None:
    return find_one(connection, sa.select(accounts).where(accounts.c.email == email), Account)


def list_accounts(connection: sa.Connection, part: Part = WHOLE) -> list[Account]:
    query = part_of(sa.select(accounts), part, accounts.c.email)
    return find_all(connection, query, Account)


def has_admin(connection: sa.Connection) -> bool:
    query = sa.select(accounts.c.id).where(accounts.c.is_admin, accounts.c.disabled_at.is_(None))
    return connection.execute(query.limit(1)).first() is not None


def set_password(
    connection: sa.Connection,
    account_id: int,
    password_hash: str,
    token_hash: bytes | None,
    epoch: int | None,
    now: datetime,
    revoke_keys: bool,  # noqa: FBT001  queries take what they are handed
) -> Account | None:
    # The account is locked first: what its sessions create meanwhile exists when keys and one-time
    # links are deleted, and what they create later is refused.
    query = sa.select(accounts.c.epoch).where(accounts.c.id == account_id)
    present = connection.execute(query.with_for_update(key_share=True)).scalar()
    if epoch is not None and present != epoch:
        return None
    if token_hash is not None and take_token(connection, token_hash, now) is None:
        return None
    if revoke_keys:
        own = (keys.c.account_id == account_id) & keys.c.workspace_id.is_(None)
        connection.execute(sa.delete(keys).where(own))
        connection.execute(
            sa.delete(one_time_tokens).where(one_time_tokens.c.created_by == account_id)
        )
    return _update(connection, account_id, password_hash=password_hash)


def set_admin(
    connection: sa.Connection,
    account_id: int,
    is_admin: bool,  # noqa: FBT001
) -> Account | None:
    if not is_admin and not _has_other_admin(connection, account_id):
        return None
    return _update(connection, account_id, is_admin=is_admin)


def set_disabled(
    connection: sa.Connection, account_id: int, disabled_at: datetime | None
) -> Account | None:
    if disabled_at is not None and not _may_lose(connection, account_id):
        return None
    return _update(connection, account_id, disabled_at=to_micros_or_none(disabled_at))


def set_quota(
    connection: sa.Connection, account_id: int, links_per_month: int | None
) -> Account | None:
    return _set(connection, account_id, links_per_month=links_per_month)


def set_imports(
    connection: sa.Connection,
    account_id: int,
    may_import_many: bool,  # noqa: FBT001
) -> Account | None:
    return _set(connection, account_id, may_import_many=may_import_many)


def _set(connection: sa.Connection, account_id: int, **values: object) -> Account | None:
    """Without ending any token."""
    statement = sa.update(accounts).where(accounts.c.id == account_id).values(**values)
    return find_one(connection, statement.returning(*accounts.c), Account)


def note_sign_in(connection: sa.Connection, account_id: int, signed_in_at: datetime) -> None:
    connection.execute(
        sa.update(accounts)
        .where(accounts.c.id == account_id)
        .values(signed_in_at=to_micros(signed_in_at))
    )


def end_token(connection: sa.Connection, token_id: str, expires_at: int, now: datetime) -> None:
    connection.execute(sa.delete(ended_tokens).where(ended_tokens.c.expires_at < to_micros(now)))
    row = {"token_id": token_id, "expires_at": expires_at * 1_000_000}
    connection.execute(insert(ended_tokens).values(row).on_conflict_do_nothing())


def find_with_token(
    connection: sa.Connection, account_id: int, token_id: str
) -> tuple[Account | None, bool]:
    query = sa.select(ended_tokens.c.token_id).where(ended_tokens.c.token_id == token_id)
    is_ended = connection.execute(query).first() is not None
    return find_account(connection, account_id), is_ended


def delete_account(
    connection: sa.Connection, account_id: int, deleted_at: datetime, epoch: int | None = None
) -> bool:
    # Administrators are locked first, in one order, so that two deletions at once cannot deadlock.
    if not _may_lose(connection, account_id):
        return False
    require_epoch(connection, account_id, epoch)
    owned = _lock_workspaces_of(connection, account_id)
    alone = []
    for workspace_id in owned:
        others = sa.select(members.c.role).where(
            members.c.workspace_id == workspace_id, members.c.account_id != account_id
        )
        roles = connection.execute(others).scalars().all()
        if roles and Role.OWNER not in roles:
            return False
        if not roles:
            alone.append(workspace_id)
    connection.execute(
        sa.update(workspaces)
        .where(workspaces.c.id.in_(alone), workspaces.c.deleted_at.is_(None))
        .values(deleted_at=to_micros(deleted_at))
    )
    for workspace_id in alone:
        record_move(connection, workspace_id)
    begin_end(connection, account_id, to_micros(deleted_at))
    for table in (keys, members, one_time_tokens):
        connection.execute(sa.delete(table).where(table.c.account_id == account_id))
    connection.execute(sa.delete(accounts).where(accounts.c.id == account_id))
    return True


def _lock_workspaces_of(connection: sa.Connection, account_id: int) -> list[int]:
    """The workspaces that the account owns. All its workspaces are locked, and its own row before
    them: otherwise it could become an owner, or join, while it is being deleted."""
    account = sa.select(accounts.c.id).where(accounts.c.id == account_id)
    connection.execute(account.with_for_update())
    query = (
        sa.select(workspaces.c.id)
        .join(members, members.c.workspace_id == workspaces.c.id)
        .where(members.c.account_id == account_id)
        .order_by(workspaces.c.id)
        .with_for_update(of=workspaces)
    )
    connection.execute(query).all()
    # Read only now: the query above waited for the locks and may have seen older roles.
    owned = sa.select(members.c.workspace_id).where(
        members.c.account_id == account_id, members.c.role == Role.OWNER
    )
    return list(connection.execute(owned.order_by(members.c.workspace_id)).scalars())


def _may_lose(connection: sa.Connection, account_id: int) -> bool:
    """True unless this is the last administrator."""
    query = sa.select(accounts.c.is_admin).where(accounts.c.id == account_id)
    if not connection.execute(query).scalar():
        return True
    return _has_other_admin(connection, account_id)


def _has_other_admin(connection: sa.Connection, account_id: int) -> bool:
    """Locks the administrators, so that two of them cannot disable each other at once."""
    query = (
        sa.select(accounts.c.id)
        .where(accounts.c.is_admin, accounts.c.disabled_at.is_(None))
        .order_by(accounts.c.id)
        .with_for_update()
    )
    return any(found != account_id for found in connection.execute(query).scalars().all())


def _update(connection: sa.Connection, account_id: int, **values: object) -> Account | None:
    return _set(connection, account_id, **values, epoch=accounts.c.epoch + 1)


class SqlAccountStore(ClockedStore):
    """The `AccountStore` of both engines."""

    insert = writes(insert_account)
    find = reads(find_account)
    find_by_email = reads(find_account_by_email)
    list = reads(list_accounts, LIST_SECONDS)
    has_admin = reads(has_admin)

    async def set_password(
        self,
        account_id: int,
        password_hash: str,
        *,
        token_hash: bytes | None = None,
        epoch: int | None = None,
        revoke_keys: bool = False,
    ) -> Account | None:
        now = self._clock.now()
        return await self._database.write(
            set_password, account_id, password_hash, token_hash, epoch, now, revoke_keys
        )

    set_admin = writes(set_admin)
    set_disabled = writes(set_disabled)
    set_quota = writes(set_quota)
    set_imports = writes(set_imports)
    note_sign_in = writes(note_sign_in)
    end_token = writes(end_token)
    find_with_token = reads(find_with_token)
    delete = writes(delete_account)
