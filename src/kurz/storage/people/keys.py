"""Queries about API keys."""

from datetime import datetime

import sqlalchemy as sa

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.paging import WHOLE, Part
from kurz.people.access import Permission
from kurz.people.accounts import Account
from kurz.people.caps import UNCAPPED
from kurz.people.keys import Key
from kurz.people.receipts import Receipt
from kurz.storage.accounts import find_account
from kurz.storage.caps import require_key
from kurz.storage.database import Database
from kurz.storage.epochs import require_epoch
from kurz.storage.pages import part_of
from kurz.storage.receipts import keep_receipt
from kurz.storage.schema import keys


def insert_key(
    connection: sa.Connection,
    key: Key,
    receipt: Receipt | None,
    at_most: int,
    epoch: int | None,
) -> None:
    require_epoch(connection, key.account_id, epoch)
    require_key(connection, key.account_id, at_most)
    connection.execute(
        sa.insert(keys).values(
            id=key.id,
            account_id=key.account_id,
            workspace_id=key.workspace_id,
            name=key.name,
            prefix=key.prefix,
            secret_hash=key.secret_hash,
            scopes=" ".join(sorted(key.permissions)),
            created_at=to_micros(key.created_at),
            expires_at=to_micros_or_none(key.expires_at),
        )
    )
    keep_receipt(connection, receipt, key)


def find_with_account(connection: sa.Connection, prefix: str) -> tuple[Key, Account] | None:
    row = connection.execute(sa.select(keys).where(keys.c.prefix == prefix)).mappings().first()
    account = None if row is None else find_account(connection, row["account_id"])
    return None if row is None or account is None else (_key(row), account)


def list_keys(connection: sa.Connection, account_id: int, part: Part) -> list[Key]:
    query = sa.select(keys).where(keys.c.account_id == account_id)
    ordered = part_of(query, part, keys.c.created_at, keys.c.id, is_descending=True)
    return [_key(row) for row in connection.execute(ordered).mappings()]


def delete_key(connection: sa.Connection, key_id: int, account_id: int) -> bool:
    statement = sa.delete(keys).where(keys.c.id == key_id, keys.c.account_id == account_id)
    return connection.execute(statement).rowcount == 1


def note_use(connection: sa.Connection, key_id: int, used_at: datetime) -> None:
    connection.execute(
        sa.update(keys).where(keys.c.id == key_id).values(last_used_at=to_micros(used_at))
    )


def _key(row: sa.RowMapping) -> Key:
    return Key(
        id=row["id"],
        account_id=row["account_id"],
        workspace_id=row["workspace_id"],
        name=row["name"],
        prefix=row["prefix"],
        secret_hash=row["secret_hash"],
        permissions=frozenset(Permission(scope) for scope in row["scopes"].split()),
        created_at=from_micros(row["created_at"]),
        expires_at=from_micros_or_none(row["expires_at"]),
        last_used_at=from_micros_or_none(row["last_used_at"]),
    )


class SqlKeyStore:
    """The `KeyStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        key: Key,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
        epoch: int | None = None,
    ) -> None:
        await self._database.write(insert_key, key, receipt, at_most, epoch)

    async def find_with_account(self, prefix: str) -> tuple[Key, Account] | None:
        return await self._database.read(find_with_account, prefix)

    async def list(self, account_id: int, part: Part = WHOLE) -> list[Key]:
        return await self._database.read(list_keys, account_id, part)

    async def delete(self, key_id: int, account_id: int) -> bool:
        return await self._database.write(delete_key, key_id, account_id)

    async def note_use(self, key_id: int, used_at: datetime) -> None:
        await self._database.write(note_use, key_id, used_at)
