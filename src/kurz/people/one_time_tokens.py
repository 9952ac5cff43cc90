"""Links that work once: to set up the first administrator, to set a new password, to join."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from kurz.clock import Clock
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.errors import InvitationNotFound
from kurz.people.ids import new_id
from kurz.people.receipts import Receipt


class Purpose(StrEnum):
    SETUP = "setup"
    RESET = "reset"
    INVITATION = "invitation"


LIVES = {
    Purpose.SETUP: timedelta(days=1),
    Purpose.RESET: timedelta(days=1),
    Purpose.INVITATION: timedelta(days=7),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeToken:
    """`workspace_id` and `role` are those of an invitation; without them, it only allows an
    account."""

    id: int
    token_hash: bytes
    purpose: Purpose
    account_id: int | None = None
    workspace_id: int | None = None
    role: Role | None = None
    created_by: int | None = None
    created_at: datetime
    expires_at: datetime


class OneTimeTokenStore(Protocol):
    """Stores one-time tokens until they are used. An outage raises `StoreUnavailable`."""

    async def insert(
        self,
        item: OneTimeToken,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
        epoch: int | None = None,
        spared: timedelta = timedelta(0),
    ) -> None:
        """A second token to reset the same password, or to set up, replaces earlier ones, except
        those younger than `spared`. `CapReached`: the workspace has `at_most` open invitations
        already. `CredentialRefused`: the account that creates it has another epoch by now."""

    async def find(self, token_hash: bytes) -> OneTimeToken | None: ...

    async def list_invitations(
        self, workspace_id: int | None, now: datetime, part: Part = WHOLE
    ) -> list[OneTimeToken]:
        """Those that have not expired, by creation time and id, newest first; None: those to the
        installation."""

    async def delete(self, token_id: int, workspace_id: int | None) -> bool: ...


class OneTimeTokens:
    """Creates them. The token is shown once, and stored only as a hash."""

    def __init__(self, store: OneTimeTokenStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make_setup(self, *, spared: timedelta = timedelta(0)) -> tuple[str, OneTimeToken]:
        """Replaces earlier ones, except those younger than `spared`."""
        return await self._make(Purpose.SETUP, spared=spared)

    async def make_reset(
        self,
        account_id: int,
        created_by: int | None,
        receipt: Receipt | None = None,
        *,
        epoch: int | None = None,
    ) -> tuple[str, OneTimeToken]:
        """`epoch` is that of the account `created_by`, as the caller has it."""
        return await self._make(
            Purpose.RESET,
            account_id=account_id,
            created_by=created_by,
            receipt=receipt,
            epoch=epoch,
        )

    async def invite(
        self,
        created_by: int | None,
        workspace_id: int | None = None,
        role: Role | None = None,
        receipt: Receipt | None = None,
        at_most: int = UNCAPPED,
        *,
        epoch: int | None = None,
    ) -> tuple[str, OneTimeToken]:
        """`epoch` as for `make_reset`."""
        return await self._make(
            Purpose.INVITATION,
            workspace_id=workspace_id,
            role=role,
            created_by=created_by,
            receipt=receipt,
            at_most=at_most,
            epoch=epoch,
        )

    async def invitations(self, workspace_id: int | None, part: Part = WHOLE) -> list[OneTimeToken]:
        return await self._store.list_invitations(workspace_id, self._clock.now(), part)

    async def revoke(self, token_id: int, workspace_id: int | None) -> None:
        if not await self._store.delete(token_id, workspace_id):
            raise InvitationNotFound("There is no open invitation with this ID.")

    async def _make(
        self,
        purpose: Purpose,
        *,
        receipt: Receipt | None = None,
        at_most: int = UNCAPPED,
        epoch: int | None = None,
        spared: timedelta = timedelta(0),
        **fields: Any,
    ) -> tuple[str, OneTimeToken]:
        """`fields` are those of the token."""
        token = secrets.token_urlsafe(32)
        now = self._clock.now()
        item = OneTimeToken(
            id=new_id(),
            token_hash=hash_token(token),
            purpose=purpose,
            created_at=now,
            expires_at=now + LIVES[purpose],
            **fields,
        )
        answered = receipt and receipt.after(lambda _: (token, item))
        await self._store.insert(item, answered, at_most=at_most, epoch=epoch, spared=spared)
        return token, item


def hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
