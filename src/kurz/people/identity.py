"""From a credential to the person behind it."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.people.access import Caller, Permission, implied
from kurz.people.accounts import Account, AccountStore
from kurz.people.errors import CredentialRefused
from kurz.people.keys import KeyService, looks_like_key
from kurz.people.recent import Recent
from kurz.people.tokens import Tokens

# Signing out, a new password, another role or being disabled take effect everywhere within 5 s.
FRESH_SECONDS = 4.0
NOTE_USE_SECONDS = 60.0  # how exact a key's `last_used_at` is

_OF_A_PERSON = frozenset(Permission) - {Permission.ADMIN}


class Identity:
    """Tells who a credential belongs to; each is looked up once in a few seconds."""

    def __init__(
        self,
        tokens: Tokens,
        accounts: AccountStore,
        keys: KeyService,
        clock: Clock,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        self._accounts = accounts
        self._keys = keys
        self._clock = clock
        self._known: Recent[str, Caller] = Recent(FRESH_SECONDS, monotonic=monotonic)
        self._noted: Recent[int, bool] = Recent(NOTE_USE_SECONDS, monotonic=monotonic)

    async def identify(self, credential: str) -> Caller:
        """The caller, or `CredentialRefused`."""
        caller = self._known.peek(credential)
        if caller is None:
            is_key = looks_like_key(credential)
            found = await (self._by_key(credential) if is_key else self._by_token(credential))
            caller = self._known.keep(credential, found)
        if caller.expires_at is not None and caller.expires_at <= self._clock.now().timestamp():
            raise CredentialRefused("This token or key has expired.")
        return caller

    def forget(self) -> None:
        """Looks up all callers again: somebody's permissions have changed."""
        self._known.clear()

    async def _by_token(self, token: str) -> Caller:
        claims = self._tokens.read(token)
        account, is_ended = await self._accounts.find_with_token(claims.account_id, claims.token_id)
        if account is None or is_ended or account.epoch != claims.epoch or account.disabled_at:
            raise CredentialRefused("This session has ended. Sign in again.")
        caller = _caller(account, frozenset(Permission))
        return replace(caller, token_id=claims.token_id, expires_at=claims.expires_at)

    async def _by_key(self, text: str) -> Caller:
        found = await self._keys.find(text)
        if found is None or found[1].disabled_at is not None:
            raise CredentialRefused("This API key does not exist or was revoked.")
        key, account = found
        if self._noted.peek(key.id) is None:
            self._noted.keep(key.id, value=True)
            with suppress(StoreUnavailable):  # reading may still work
                await self._keys.note_use(key)
        return replace(
            _caller(account, implied(key.permissions)),
            key_id=key.id,
            key_workspace_id=key.workspace_id,
            expires_at=None if key.expires_at is None else int(key.expires_at.timestamp()),
        )


def _caller(account: Account, wanted: frozenset[Permission]) -> Caller:
    return Caller(
        account_id=account.id,
        email=account.email,
        epoch=account.epoch,
        links_per_month=account.links_per_month,
        permissions=wanted if account.is_admin else wanted & _OF_A_PERSON,
    )
