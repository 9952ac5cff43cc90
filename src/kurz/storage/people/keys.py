"""Queries about API keys."""

from datetime import datetime

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.paging import WHOLE, Part
from kurz.people.access import Permission
from kurz.people.accounts import Account
from kurz.people.caps import UNCAPPED
from kurz.people.keys import Key
from kurz.people.receipts import Receipt
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import to_object, to_values
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.links.receipts import save_receipt
from kurz.storage.people.accounts import find_account
from kurz.storage.people.caps import require_key
from kurz.storage.people.epochs import require_epoch
from kurz.storage.schema.people import keys


def insert_key(
    connection: sa.Connection,
    key: Key,
    receipt: Receipt | None = None,
    at_most: int = UNCAPPED,
    epoch: int | None = None,
) -> None:
    require_epoch(connection, key.account_id, epoch)
    require_key(connection, key.account_id, at_most)
    row = to_values(key)
    row["scopes"] = " ".join(sorted(row.pop("permissions")))
    connection.execute(sa.insert(keys).values(row))
    save_receipt(connection, receipt, key)


def find_with_account(connection: sa.Connection, prefix: str) -> tuple[Key, Account] | None:
    row = connection.execute(sa.select(keys).where(keys.c.prefix == prefix)).mappings().first()
    account = None if row is None else find_account(connection, row["account_id"])
    return None if row is None or account is None else (_key(row), account)


def list_keys(connection: sa.Connection, account_id: int, part: Part = WHOLE) -> list[Key]:
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
    return to_object(Key, row, permissions=frozenset(map(Permission, row["scopes"].split())))


class SqlKeyStore(SqlStore):
    """The `KeyStore` of both engines."""

    insert = writes(insert_key)
    find_with_account = reads(find_with_account)
    list = reads(list_keys)
    delete = writes(delete_key)
    note_use = writes(note_use)
