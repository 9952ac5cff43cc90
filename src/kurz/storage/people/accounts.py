"""Queries about accounts and their tokens."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import Clock, from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import Status
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.accounts import Account
from kurz.people.errors import PassRefused
from kurz.storage.changes import record_changes, record_move
from kurz.storage.database import Database
from kurz.storage.epochs import require_epoch
from kurz.storage.pages import part_of
from kurz.storage.passes import find_pass, take_pass
from kurz.storage.patience import LIST_SECONDS, LONG_SECONDS, patience
from kurz.storage.schema import (
    accounts,
    ended_tokens,
    keys,
    links,
    members,
    passes,
    workspaces,
)
from kurz.storage.tags import trash_tags


def insert_account(
    connection: sa.Connection, account: Account, pass_hash: bytes | None
) -> Account | None:
    statement = (
        insert(accounts)
        .values(
            id=account.id,
            email=account.email,
            password_hash=account.password_hash,
            is_admin=account.is_admin,
            epoch=account.epoch,
            created_at=to_micros(account.created_at),
        )
        .on_conflict_do_nothing()
        .returning(*accounts.c)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        return None
    if pass_hash is not None:
        _follow(connection, pass_hash, account)
    return to_account(row)


def _follow(connection: sa.Connection, pass_hash: bytes, account: Account) -> None:
    """Uses the pass up, and joins the workspace that it invites into."""
    found = find_pass(connection, pass_hash)
    if found is not None and found.workspace_id is not None:
        # Before the pass is, as by everybody who locks both.
        workspace = sa.select(workspaces.c.id).where(
            workspaces.c.id == found.workspace_id, workspaces.c.deleted_at.is_(None)
        )
        if connection.execute(workspace.with_for_update()).first() is None:
            raise PassRefused("The workspace of this invitation was deleted.")
    used = take_pass(connection, pass_hash, account.created_at)
    if used is None:
        raise PassRefused("This link has already been used. Ask for a new one.")
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
    return _one(connection, accounts.c.id == account_id)


def find_account_by_email(connection: sa.Connection, email: str) -> Account | None:
    return _one(connection, accounts.c.email == email)


def list_accounts(connection: sa.Connection, part: Part) -> list[Account]:
    query = part_of(sa.select(accounts), part, accounts.c.email)
    return [to_account(row) for row in connection.execute(query).mappings()]


def has_admin(connection: sa.Connection) -> bool:
    query = sa.select(accounts.c.id).where(accounts.c.is_admin, accounts.c.disabled_at.is_(None))
    return connection.execute(query.limit(1)).first() is not None


def set_password(
    connection: sa.Connection,
    account_id: int,
    password_hash: str,
    pass_hash: bytes | None,
    epoch: int | None,
    now: datetime,
    ends_keys: bool,  # noqa: FBT001  queries take what they are handed
) -> Account | None:
    # The account is locked first: what its sessions are making meanwhile is there when keys and
    # passes are deleted, and what they make later is refused.
    query = sa.select(accounts.c.epoch).where(accounts.c.id == account_id)
    present = connection.execute(query.with_for_update(key_share=True)).scalar()
    if epoch is not None and present != epoch:
        return None
    if pass_hash is not None and take_pass(connection, pass_hash, now) is None:
        return None
    if ends_keys:
        own = (keys.c.account_id == account_id) & keys.c.workspace_id.is_(None)
        connection.execute(sa.delete(keys).where(own))
        connection.execute(sa.delete(passes).where(passes.c.created_by == account_id))
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
    statement = (
        sa.update(accounts)
        .where(accounts.c.id == account_id)
        .values(**values)
        .returning(*accounts.c)
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else to_account(row)


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
    connection: sa.Connection, account_id: int, deleted_at: datetime, epoch: int | None
) -> bool:
    # Administrators are locked first, all in one order: two who go at once must not wait in a ring.
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
    _trash_links(connection, account_id, to_micros(deleted_at))
    for table in (keys, members, passes):
        connection.execute(sa.delete(table).where(table.c.account_id == account_id))
    connection.execute(sa.delete(accounts).where(accounts.c.id == account_id))
    return True


def _lock_workspaces_of(connection: sa.Connection, account_id: int) -> list[int]:
    """The workspaces the account owns. All that it is in are locked, and its row before them: else
    it could be made an owner, or join, while it goes."""
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
    # Asked only now: the query above waited for the locks with the roles of before.
    owned = sa.select(members.c.workspace_id).where(
        members.c.account_id == account_id, members.c.role == Role.OWNER
    )
    return list(connection.execute(owned.order_by(members.c.workspace_id)).scalars())


def _trash_links(connection: sa.Connection, account_id: int, now: int) -> None:
    """Personal links go to the trash, those as well that the reaper has put there: what its owner
    deletes is not kept as long. What was made in workspaces belongs to them."""
    is_swept = (links.c.status == Status.DELETED) & links.c.swept_at.is_not(None)
    is_kept = links.c.status.not_in([Status.DELETED, Status.BANNED])
    statement = (
        sa.update(links)
        .where(links.c.space == -account_id, is_kept | is_swept)
        .values(
            status=Status.DELETED,
            deleted_at=now,
            swept_at=None,
            updated_at=now,
            version=links.c.version + 1,
        )
        .returning(links.c.id, links.c.workspace_id, links.c.short_code, links.c.version)
    )
    record_changes(connection, connection.execute(statement).all(), now)
    trash_tags(connection, -account_id)
    connection.execute(
        sa.update(links)
        .where(links.c.space > 0, links.c.owner_id == account_id)
        .values(owner_id=None)
    )


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
    statement = (
        sa.update(accounts)
        .where(accounts.c.id == account_id)
        .values(**values, epoch=accounts.c.epoch + 1)
        .returning(*accounts.c)
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else to_account(row)


def _one(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> Account | None:
    row = connection.execute(sa.select(accounts).where(condition)).mappings().first()
    return None if row is None else to_account(row)


def to_account(row: sa.RowMapping) -> Account:
    return Account(
        id=row["id"],
        email=row["email"],
        password_hash=row["password_hash"],
        is_admin=row["is_admin"],
        epoch=row["epoch"],
        created_at=from_micros(row["created_at"]),
        signed_in_at=from_micros_or_none(row["signed_in_at"]),
        disabled_at=from_micros_or_none(row["disabled_at"]),
        links_per_month=row["links_per_month"],
        may_import_many=row["may_import_many"],
    )


class SqlAccountStore:
    """The `AccountStore` of both engines."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def insert(self, account: Account, *, pass_hash: bytes | None = None) -> Account | None:
        return await self._database.write(insert_account, account, pass_hash)

    async def find(self, account_id: int) -> Account | None:
        return await self._database.read(find_account, account_id)

    async def find_by_email(self, email: str) -> Account | None:
        return await self._database.read(find_account_by_email, email)

    async def list(self, part: Part = WHOLE) -> list[Account]:
        with patience(LIST_SECONDS):
            return await self._database.read(list_accounts, part)

    async def has_admin(self) -> bool:
        return await self._database.read(has_admin)

    async def set_password(
        self,
        account_id: int,
        password_hash: str,
        *,
        pass_hash: bytes | None = None,
        epoch: int | None = None,
        ends_keys: bool = False,
    ) -> Account | None:
        now = self._clock.now()
        return await self._database.write(
            set_password, account_id, password_hash, pass_hash, epoch, now, ends_keys
        )

    async def set_admin(self, account_id: int, *, is_admin: bool) -> Account | None:
        return await self._database.write(set_admin, account_id, is_admin)

    async def set_disabled(self, account_id: int, disabled_at: datetime | None) -> Account | None:
        return await self._database.write(set_disabled, account_id, disabled_at)

    async def set_quota(self, account_id: int, links_per_month: int | None) -> Account | None:
        return await self._database.write(set_quota, account_id, links_per_month)

    async def set_imports(self, account_id: int, *, may_import_many: bool) -> Account | None:
        return await self._database.write(set_imports, account_id, may_import_many)

    async def note_sign_in(self, account_id: int, signed_in_at: datetime) -> None:
        await self._database.write(note_sign_in, account_id, signed_in_at)

    async def end_token(self, token_id: str, expires_at: int, now: datetime) -> None:
        await self._database.write(end_token, token_id, expires_at, now)

    async def find_with_token(self, account_id: int, token_id: str) -> tuple[Account | None, bool]:
        return await self._database.read(find_with_token, account_id, token_id)

    async def delete(
        self, account_id: int, deleted_at: datetime, *, epoch: int | None = None
    ) -> bool:
        with patience(LONG_SECONDS):
            return await self._database.write(delete_account, account_id, deleted_at, epoch)
