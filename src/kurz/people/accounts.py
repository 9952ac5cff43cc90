"""Accounts: registering, signing in, passwords, and who is an administrator."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from kurz.clock import Clock
from kurz.errors import renamed
from kurz.paging import WHOLE, Part
from kurz.people import passwords
from kurz.people.devices import Device
from kurz.people.errors import (
    AccountNotFound,
    AdministratorMissing,
    CredentialRefused,
    EmailRefused,
    EmailTaken,
    OneTimeLinkRefused,
    RegistrationClosed,
    SignInRefused,
)
from kurz.people.hash_queue import NOBODY, Asker
from kurz.people.ids import new_id
from kurz.people.one_time_tokens import OneTimeToken, OneTimeTokenStore, Purpose, hash_token
from kurz.people.passwords import Passwords

MAX_EMAIL_LENGTH = 254
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\\\"]{1,64}@[^\s@]{1,250}")
BY_INVITATION = "Ask an administrator for an invitation."
LAST_ADMINISTRATOR = "This is the last administrator. Make someone else an administrator first."
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9-]{1,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    id: int
    email: str
    password_hash: str
    is_admin: bool = False
    epoch: int = 0
    created_at: datetime
    signed_in_at: datetime | None = None
    disabled_at: datetime | None = None
    links_per_month: int | None = None  # as `quotas.account_quota` reads it
    may_import_many: bool = False


class AccountStore(Protocol):
    """Keeps accounts. Whatever changes a password, a role or a state raises `epoch` in the same
    transaction. An outage raises `StoreUnavailable`."""

    async def insert(self, account: Account, *, token_hash: bytes | None = None) -> Account | None:
        """Stores a new account, and uses up the one-time token with that hash and accepts its
        invitation. None: the e-mail is taken. `OneTimeLinkRefused`: the token was
        used meanwhile."""

    async def find(self, account_id: int) -> Account | None: ...

    async def find_by_email(self, email: str) -> Account | None: ...

    async def list(self, part: Part = WHOLE) -> list[Account]:
        """By e-mail address."""

    async def has_admin(self) -> bool: ...

    async def set_password(
        self,
        account_id: int,
        password_hash: str,
        *,
        token_hash: bytes | None = None,
        epoch: int | None = None,
        revoke_keys: bool = False,
    ) -> Account | None:
        """With `token_hash`, only if that one-time token still works, which ends it. With `epoch`,
        only if it is still the account's. `revoke_keys` deletes the account's keys, except those
        for one workspace, and the open one-time tokens that the account made."""

    async def set_admin(self, account_id: int, *, is_admin: bool) -> Account | None:
        """None: there is no such account, or it is the last administrator."""

    async def set_disabled(self, account_id: int, disabled_at: datetime | None) -> Account | None:
        """None as for `set_admin`."""

    async def set_quota(self, account_id: int, links_per_month: int | None) -> Account | None:
        """None: there is no such account. Its tokens stay."""

    async def set_imports(self, account_id: int, *, may_import_many: bool) -> Account | None:
        """None: there is no such account. Ends no token."""

    async def note_sign_in(self, account_id: int, signed_in_at: datetime) -> None: ...

    async def end_token(self, token_id: str, expires_at: int, now: datetime) -> None:
        """Signs one token out; deletes those that have expired anyway."""

    async def find_with_token(self, account_id: int, token_id: str) -> tuple[Account | None, bool]:
        """The account, and whether the token was signed out."""

    async def delete(
        self, account_id: int, deleted_at: datetime, *, epoch: int | None = None
    ) -> bool:
        """Removes the account with its keys and memberships. Its personal links go to the trash,
        workspaces without other members are deleted, and its links in other workspaces stay. False:
        it is the only owner of a workspace with other members, or the last administrator.
        `CredentialRefused`: `epoch` is not the account's any more."""


class AccountService:
    def __init__(
        self,
        store: AccountStore,
        tokens: OneTimeTokenStore,
        passwords: Passwords,
        clock: Clock,
        *,
        is_open: bool,
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._passwords = passwords
        self._clock = clock
        self._is_open = is_open

    async def register(
        self, email: str, password: str, invitation: str | None = None, asker: Asker = NOBODY
    ) -> Account:
        """A new account, never an administrator: behind a proxy every request can look as if it
        came from this machine. If registration is closed, it needs an invitation."""
        email = normalise_email(email)
        passwords.check(password, email)
        if invitation is None:
            if not self._is_open:
                raise RegistrationClosed(BY_INVITATION)
            return await self._insert(email, password, asker=asker)
        with renamed("token", "invitation"):
            found = await self._find_token(invitation, Purpose.INVITATION)
            return await self._insert(email, password, token_hash=found.token_hash, asker=asker)

    async def create_admin(self, email: str, password: str) -> Account:
        """An administrator, created by somebody with access to the store itself."""
        email = normalise_email(email)
        passwords.check(password, email)
        try:
            return await self._insert(email, password, is_admin=True)
        except EmailTaken:
            raise EmailTaken(ways_to_promote(email)) from None

    async def set_up(self, token: str, email: str, password: str, asker: Asker = NOBODY) -> Account:
        """The first administrator, with the set-up link that the server printed."""
        email = normalise_email(email)
        passwords.check(password, email)
        found = await self._find_token(token, Purpose.SETUP)
        if await self._store.has_admin():
            raise OneTimeLinkRefused("This installation already has an administrator.")
        try:
            return await self._insert(
                email, password, is_admin=True, token_hash=found.token_hash, asker=asker
            )
        except EmailTaken:
            raise EmailTaken(ways_to_promote(email)) from None

    async def knows(self, device: Device) -> bool:
        """Whether the device is still known to its account: not after a new password."""
        account = await self._store.find(device.account_id)
        return account is not None and account.epoch == device.epoch

    async def sign_in(self, email: str, password: str, asker: Asker = NOBODY) -> Account:
        """The account, if both match. Unknown, wrong and disabled look the same and take the same
        time."""
        self._passwords.check_room(asker)
        try:
            account = await self._store.find_by_email(normalise_email(email))
        except EmailRefused:
            account = None
        hashed = account.password_hash if account else None
        fits = await self._passwords.verify(password, hashed, asker)
        if account is None or not fits or account.disabled_at is not None:
            raise SignInRefused("The e-mail address or password is incorrect.")
        now = self._clock.now()
        await self._store.note_sign_in(account.id, now)
        return replace(account, signed_in_at=now)

    async def sign_out(self, token_id: str, expires_at: int) -> None:
        await self._store.end_token(token_id, expires_at, self._clock.now())

    async def check_password(
        self, account_id: int, password: str, asker: Asker = NOBODY
    ) -> Account:
        account = await self.get(account_id)
        if not await self._passwords.verify(password, account.password_hash, asker):
            raise SignInRefused("The current password is incorrect.", field="password")
        return account

    async def change_password(
        self,
        account_id: int,
        old: str,
        new: str,
        asker: Asker = NOBODY,
        *,
        revoke_keys: bool = False,
    ) -> Account:
        """Ends every token of the account; `revoke_keys` as in the store."""
        with renamed("password", "old_password"):
            account = await self.check_password(account_id, old, asker)
        with renamed("password", "new_password"):
            passwords.check(new, account.email)
        hashed = await self._passwords.hash(new, asker)
        changed = await self._store.set_password(
            account_id, hashed, epoch=account.epoch, revoke_keys=revoke_keys
        )
        if changed is None:
            raise CredentialRefused("Your password or permissions have changed. Sign in again.")
        return changed

    async def reset_password(
        self, token: str, password: str, asker: Asker = NOBODY, *, revoke_keys: bool = True
    ) -> Account:
        """Sets the password with a one-time link from an administrator. Somebody else may have
        known the old password and created keys: these end, unless the person keeps them."""
        found = await self._find_token(token, Purpose.RESET)
        account = await self.get(found.account_id or 0)
        passwords.check(password, account.email)
        hashed = await self._passwords.hash(password, asker)
        changed = await self._store.set_password(
            account.id, hashed, token_hash=found.token_hash, revoke_keys=revoke_keys
        )
        if changed is None:
            raise OneTimeLinkRefused("This link has already been used. Ask for a new one.")
        return changed

    async def get(self, account_id: int) -> Account:
        account = await self._store.find(account_id)
        if account is None:
            raise AccountNotFound("There is no account with this ID.")
        return account

    async def get_by_email(self, email: str) -> Account:
        account = await self._store.find_by_email(normalise_email(email))
        if account is None:
            raise AccountNotFound("There is no account with this e-mail address.")
        return account

    async def list(self, part: Part = WHOLE) -> "list[Account]":
        return await self._store.list(part)

    async def set_admin(self, account_id: int, *, is_admin: bool) -> Account:
        await self.get(account_id)
        changed = await self._store.set_admin(account_id, is_admin=is_admin)
        return _not_the_last(changed)

    async def set_disabled(self, account_id: int, *, is_disabled: bool) -> Account:
        await self.get(account_id)
        disabled_at = self._clock.now() if is_disabled else None
        return _not_the_last(await self._store.set_disabled(account_id, disabled_at))

    async def edit(self, account_id: int, changes: Mapping[str, bool]) -> Account:
        """Changes `is_admin`, `is_disabled` and `may_import_many`, as far as they are given."""
        account = None
        if "is_admin" in changes:
            account = await self.set_admin(account_id, is_admin=changes["is_admin"])
        if "is_disabled" in changes:
            account = await self.set_disabled(account_id, is_disabled=changes["is_disabled"])
        if "may_import_many" in changes:
            may_import_many = changes["may_import_many"]
            account = await self.set_imports(account_id, may_import_many=may_import_many)
        return account or await self.get(account_id)

    async def set_imports(self, account_id: int, *, may_import_many: bool) -> Account:
        account = await self._store.set_imports(account_id, may_import_many=may_import_many)
        return account or await self.get(account_id)  # which raises

    async def delete(self, account_id: int, *, epoch: int | None = None) -> bool:
        """As in the store."""
        return await self._store.delete(account_id, self._clock.now(), epoch=epoch)

    async def needs_set_up(self) -> bool:
        """True while there is no administrator. The last one cannot be removed."""
        return not await self._store.has_admin()

    async def set_quota(self, account_id: int, links_per_month: int | None) -> Account:
        """None: the server's default. `quotas.UNLIMITED`: no quota."""
        changed = await self._store.set_quota(account_id, links_per_month)
        if changed is None:
            raise AccountNotFound("There is no account with this ID.")
        return changed

    async def _find_token(self, token: str, purpose: Purpose) -> OneTimeToken:
        found = await self._tokens.find(hash_token(token))
        if found is None or found.purpose is not purpose or found.expires_at <= self._clock.now():
            raise OneTimeLinkRefused(
                "This link is incomplete, has expired or has already been used. Ask for a new one."
            )
        return found

    async def _insert(
        self,
        email: str,
        password: str,
        *,
        is_admin: bool = False,
        token_hash: bytes | None = None,
        asker: Asker = NOBODY,
    ) -> Account:
        account = Account(
            id=new_id(),
            email=email,
            password_hash=await self._passwords.hash(password, asker),
            is_admin=is_admin,
            created_at=self._clock.now(),
        )
        made = await self._store.insert(account, token_hash=token_hash)
        if made is None:
            raise EmailTaken(
                "There is already an account with this e-mail address. Sign in instead."
            )
        return made


def ways_to_promote(email: str) -> str:
    """For a new administrator whose address already has an account: anyone may have registered
    it."""
    return (
        "There is already an account with this e-mail address, possibly someone else's. Use"
        f" another address. Or run kurz admin reset-password {email} on the server, open the"
        f" link it prints and set a new password. Then run kurz admin promote {email}."
    )


def normalise_email(email: str) -> str:
    """One spelling for each address: lower case, the domain in ASCII."""
    # Twice: a lower-case letter may be one character where its capital is two.
    email = unicodedata.normalize("NFC", unicodedata.normalize("NFC", email.strip()).lower())
    if email.isprintable() and _EMAIL.fullmatch(email):
        local, _, domain = email.rpartition("@")
        try:
            ascii_domain = domain.encode("idna").decode().lower()
        except UnicodeError:
            ascii_domain = ""
        normal = f"{local}@{ascii_domain}"
        if _DOMAIN.fullmatch(ascii_domain) and len(normal) <= MAX_EMAIL_LENGTH:
            return normal
    raise EmailRefused("This is not a valid e-mail address.")


def _not_the_last(account: Account | None) -> Account:
    if account is None:
        raise AdministratorMissing(LAST_ADMINISTRATOR)
    return account
