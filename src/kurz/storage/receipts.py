"""Receipts of requests with an `Idempotency-Key`, kept in the transaction of their write."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros
from kurz.people.receipts import KEPT, AlreadyAnswered, Receipt, StoredReceipt
from kurz.storage.database import Database
from kurz.storage.schema import receipts


def keep_receipt(connection: sa.Connection, receipt: Receipt | None, made: Any) -> None:
    """Keeps the answer about `made`. If the key was used meanwhile, `AlreadyAnswered` undoes the
    whole transaction. On PostgreSQL it first waits for the other one to end."""
    if receipt is None:
        return
    too_old = to_micros(receipt.created_at - KEPT)
    connection.execute(sa.delete(receipts).where(receipts.c.created_at < too_old))
    statement = (
        insert(receipts)
        .values(
            caller=receipt.caller,
            key_hash=receipt.key_hash,
            fingerprint=receipt.fingerprint,
            answer=receipt.write(made),
            created_at=to_micros(receipt.created_at),
        )
        .on_conflict_do_nothing()
        .returning(receipts.c.caller)
    )
    if connection.execute(statement).first() is None:
        raise AlreadyAnswered


def find_receipt(
    connection: sa.Connection, caller: str, key_hash: bytes, since: datetime
) -> StoredReceipt | None:
    query = sa.select(receipts.c.fingerprint, receipts.c.answer).where(
        receipts.c.caller == caller,
        receipts.c.key_hash == key_hash,
        receipts.c.created_at >= to_micros(since),
    )
    row = connection.execute(query).first()
    return None if row is None else StoredReceipt(*row)


class SqlReceiptStore:
    """The `ReceiptStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, caller: str, key_hash: bytes, since: datetime) -> StoredReceipt | None:
        return await self._database.read(find_receipt, caller, key_hash, since)
