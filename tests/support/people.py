"""Makes people and what is theirs, on the store itself: quicker than through the API."""

import itertools
from dataclasses import dataclass

from kurz.people.access import Permission, Role
from kurz.people.accounts import Account
from kurz.people.keyring import Keyring
from kurz.people.tokens import Tokens
from kurz.people.workspaces import Workspace
from kurz.settings.secret import keep_secret
from kurz.wiring.core import Kurz

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class Person:
    account: Account
    token: str

    @property
    def id(self) -> int:
        return self.account.id

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


class People:
    def __init__(self, kurz: Kurz) -> None:
        self._kurz = kurz
        self._numbers = itertools.count(1)

    @property
    def tokens(self) -> Tokens:
        keyring = Keyring(keep_secret(self._kurz.settings))
        return Tokens(keyring.keys("tokens"), self._kurz.clock)

    async def add(self, email: str | None = None, *, is_admin: bool = False) -> Person:
        """An account, signed in; its password is `PASSWORD`."""
        email = email or f"person{next(self._numbers)}@example.com"
        account = await self._kurz.accounts.create_admin(email, PASSWORD)
        if not is_admin:
            account = await self._demote(account)
        return self.sign_in(account)

    def sign_in(self, account: Account) -> Person:
        token, _ = self.tokens.issue(account.id, account.epoch)
        return Person(account, token)

    async def workspace(self, owner: Person, slug: str = "team") -> Workspace:
        return await self._kurz.teams.create(owner.id, slug.title(), slug)

    async def join(self, workspace: Workspace, person: Person, role: Role) -> None:
        from kurz.people.one_time_tokens import hash_token

        token, _ = await self._kurz.one_time_tokens.invite(None, workspace.id, role)
        now = self._kurz.clock.now()
        assert await self._kurz.workspaces.join(hash_token(token), person.id, now) is not None

    async def key(
        self, person: Person, *permissions: Permission, workspace_id: int | None = None
    ) -> str:
        text, _ = await self._kurz.keys.create(
            person.id, "a key", frozenset(permissions), workspace_id=workspace_id
        )
        return text

    async def _demote(self, account: Account) -> Account:
        """As registering makes them, but without asking whether registration is open."""
        import sqlalchemy as sa

        from kurz.storage.schema.people import accounts

        await self._kurz.database.write(
            lambda connection: connection.execute(
                sa.update(accounts).where(accounts.c.id == account.id).values(is_admin=False)
            )
        )
        return await self._kurz.accounts.get(account.id)
