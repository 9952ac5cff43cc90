"""API keys: `kurz_` + a part that may be shown + the secret. Shown once, stored as a hash."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from kurz.clock import Clock
from kurz.paging import WHOLE, Part
from kurz.people.access import Permission
from kurz.people.accounts import Account
from kurz.people.caps import UNCAPPED
from kurz.people.errors import KeyNotFound, NameRefused
from kurz.people.ids import new_id
from kurz.people.names import check_name
from kurz.people.receipts import Receipt

_KEY = re.compile(r"kurz_([a-zA-Z0-9]{8})_([A-Za-z0-9_-]{43})")
_PREFIX_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """`workspace_id` None: for everything that its person may access."""

    id: int
    account_id: int
    workspace_id: int | None
    name: str
    prefix: str
    secret_hash: bytes
    permissions: frozenset[Permission]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = None

    def view(self) -> dict[str, Any]:
        """What people see of it."""
        return {
            "id": self.id,
            "name": self.name,
            "prefix": f"kurz_{self.prefix}",
            "scopes": sorted(self.permissions),
            "workspace_id": self.workspace_id,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "last_used_at": self.last_used_at,
        }


class KeyStore(Protocol):
    """Keeps keys. An outage raises `StoreUnavailable`."""

    async def insert(
        self,
        key: Key,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
        epoch: int | None = None,
    ) -> None:
        """`CapReached`: the account has `at_most` already. `CredentialRefused`: the account has
        another epoch by now."""

    async def find_with_account(self, prefix: str) -> tuple[Key, Account] | None: ...

    async def list(self, account_id: int, part: Part = WHOLE) -> list[Key]:
        """By creation time and id, newest first."""

    async def delete(self, key_id: int, account_id: int) -> bool: ...

    async def note_use(self, key_id: int, used_at: datetime) -> None: ...


class KeyService:
    def __init__(self, store: KeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(
        self,
        account_id: int,
        name: str,
        permissions: frozenset[Permission],
        *,
        workspace_id: int | None = None,
        expires_at: datetime | None = None,
        receipt: Receipt | None = None,
        at_most: int = UNCAPPED,
        epoch: int | None = None,
    ) -> tuple[str, Key]:
        """The key as its user sends it, once, and what is stored of it. `receipt` gets both.
        `epoch` is the account's, as the caller has it."""
        check_name(name)
        now = self._clock.now()
        if not permissions:
            raise NameRefused("Choose at least one scope for the key.", field="scopes")
        if expires_at is not None:
            expires_at = _in_utc(expires_at)
            if expires_at <= now:
                raise NameRefused("`expires_at` is in the past.", field="expires_at")
        prefix = "".join(secrets.choice(_PREFIX_LETTERS) for _ in range(8))
        secret = secrets.token_urlsafe(32)
        key = Key(
            id=new_id(),
            account_id=account_id,
            workspace_id=workspace_id,
            name=name,
            prefix=prefix,
            secret_hash=_hash(secret),
            permissions=permissions,
            created_at=now,
            expires_at=expires_at,
        )
        text = f"kurz_{prefix}_{secret}"
        answered = receipt and receipt.after(lambda _: (text, key))
        await self._store.insert(key, answered, at_most=at_most, epoch=epoch)
        return text, key

    async def list(self, account_id: int, part: Part = WHOLE) -> "list[Key]":
        return await self._store.list(account_id, part)

    async def revoke(self, key_id: int, account_id: int) -> None:
        if not await self._store.delete(key_id, account_id):
            raise KeyNotFound("You have no key with this ID.")

    async def find(self, text: str) -> tuple[Key, Account] | None:
        """The key and its account, if the secret matches and it has not expired."""
        match = _KEY.fullmatch(text)
        found = await self._store.find_with_account(match[1]) if match else None
        if match is None or found is None:
            return None
        key, account = found
        if not hmac.compare_digest(key.secret_hash, _hash(match[2])):
            return None
        if key.expires_at is not None and key.expires_at <= self._clock.now():
            return None
        return key, account

    async def note_use(self, key: Key) -> None:
        await self._store.note_use(key.id, self._clock.now())


def _in_utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:  # 9999-12-31 in a zone west of Greenwich
        raise NameRefused("`expires_at` is too far in the future.", field="expires_at") from None


def looks_like_key(text: str) -> bool:
    return text.startswith("kurz_")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
