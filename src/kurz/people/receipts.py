"""Receipts: what was answered to a request with an `Idempotency-Key`, so that a retry gets the same
answer. It is stored in the transaction of the write that the answer is about."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Receipt:
    """`write` makes the sealed answer for what was created; the store calls it inside the
    transaction, perhaps more than once."""

    caller: str
    key_hash: bytes
    fingerprint: bytes
    created_at: datetime
    write: Callable[[Any], bytes]

    def after(self, finish: Callable[[Any], object]) -> "Receipt":
        """The receipt for a store that knows less than the answer contains: `finish` adds the
        rest."""
        return replace(self, write=lambda made: self.write(finish(made)))


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    fingerprint: bytes
    answer: bytes


class AlreadyAnswered(Exception):
    """The same key was used during this request; nothing was written."""


class ReceiptStore(Protocol):
    async def find(self, caller: str, key_hash: bytes, since: datetime) -> StoredReceipt | None:
        """The receipt, if it was made after `since`."""

    async def keep(self, receipt: Receipt, made: Any) -> None:
        """Stores the answer about something that existed before."""


def hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
