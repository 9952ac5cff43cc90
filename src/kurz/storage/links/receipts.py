"""Receipts of requests with an `Idempotency-Key`, stored in the transaction of their write."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros
from kurz.people.receipts import KEPT, AlreadyAnswered, Receipt, StoredReceipt
from kurz.storage.engine.batches import delete_some
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.schema.links import receipts

FORGOTTEN = 100  # old receipts removed with a new one, so that no create waits for thousands


def save_receipt(connection: sa.Connection, receipt: Receipt | None, made: Any) -> None:
    """Stores the answer about `made`. If the key was used meanwhile, `AlreadyAnswered` undoes the
    whole transaction. On PostgreSQL it first waits for the other one to end."""
    if receipt is None:
        return
    too_old = to_micros(receipt.created_at - KEPT)
    trim_receipts(connection, receipt.created_at, FORGOTTEN)
    kept = {
        "fingerprint": receipt.fingerprint,
        "answer": receipt.write(made),
        "created_at": to_micros(receipt.created_at),
    }
    statement = (
        insert(receipts)
        .values(caller=receipt.caller, key_hash=receipt.key_hash, **kept)
        .on_conflict_do_update(
            index_elements=[receipts.c.caller, receipts.c.key_hash],
            set_=kept,
            where=receipts.c.created_at < too_old,
        )
        .returning(receipts.c.caller)
    )
    if connection.execute(statement).first() is None:
        raise AlreadyAnswered


def trim_receipts(connection: sa.Connection, now: datetime, limit: int) -> int:
    """Deletes some that are too old, and returns how many."""
    created_at = receipts.c.created_at
    is_old = created_at < to_micros(now - KEPT)
    return delete_some(connection, receipts, is_old, limit, created_at)


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


class SqlReceiptStore(SqlStore):
    """The `ReceiptStore` of both engines."""

    find = reads(find_receipt)
    keep = writes(save_receipt)
