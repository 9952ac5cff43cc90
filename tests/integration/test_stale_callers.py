"""A worker knows a caller for some seconds. What somebody makes there after a new password ended
their session, and what was under way when it was set, must not outlive it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.people.access import Permission, Role
from kurz.people.accounts import AccountService
from kurz.people.errors import AccountNotFound, CredentialRefused
from kurz.people.ids import new_id
from kurz.people.keys import Key
from kurz.people.one_time_tokens import Purpose
from kurz.people.passwords import Passwords
from kurz.storage.people.keys import insert_key
from kurz.storage.people.one_time_tokens import SqlOneTimeTokenStore
from kurz.storage.schema.people import one_time_tokens
from kurz.wiring.core import Kurz
from support.engines import usually_on, without_redis
from support.people import PASSWORD, Person
from support.serving import open_app

OTHER_PASSWORD = "another horse, another battery"
ME = "/api/v1/me"
ORIGIN = "http://kurz.test"

engine = without_redis  # which has no part in it


async def reset(kurz: Kurz, person: Person, *, revoke_keys: bool = True) -> None:
    token, _ = await kurz.one_time_tokens.make_reset(person.id, None)
    await kurz.accounts.reset_password(token, OTHER_PASSWORD, revoke_keys=revoke_keys)


async def known_to(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    assert (await client.get(ME, headers=headers)).status_code == 200


@pytest.mark.parametrize("revoke_keys", [True, False])
async def test_a_session_makes_nothing_that_outlives_a_reset_elsewhere(
    client, kurz, people, revoke_keys
):
    admin, other = await people.add(is_admin=True), await people.add()
    team = await people.workspace(admin)
    key = await people.key(admin, Permission.ADMIN)
    asks = [
        ("/api/v1/keys", {"name": "mine", "scopes": ["links:read"]}, admin.headers),
        (f"/api/v1/workspaces/{team.id}/invitations", {"role": "owner"}, admin.headers),
        ("/api/v1/admin/invitations", None, admin.headers),
        (f"/api/v1/admin/accounts/{other.id}/reset-link", None, admin.headers),
        (f"/api/v1/admin/accounts/{other.id}/reset-link", None, {"x-api-key": key}),
    ]
    for headers in (admin.headers, {"x-api-key": key}):
        await known_to(client, headers)
    await reset(kurz, admin, revoke_keys=revoke_keys)  # as another worker does it
    for path, body, headers in asks:
        answer = await client.post(path, json=body, headers=headers)
        assert answer.status_code == 401, path
        assert answer.json()["type"].endswith("/credential-refused")
    assert len(await kurz.keys.list(admin.id)) == (0 if revoke_keys else 1)
    assert await kurz.database.read(lambda it: it.execute(sa.select(one_time_tokens)).all()) == []


@usually_on("postgres", among=("postgres",))
async def test_a_key_that_is_being_stored_during_a_reset_ends_with_it(kurz, people):
    person = await people.add()
    key = Key(
        id=new_id(),
        account_id=person.id,
        workspace_id=None,
        name="quick",
        prefix="aaaaaaaa",
        secret_hash=b"",
        permissions=frozenset({Permission.LINKS_READ}),
        created_at=kurz.clock.now(),
        expires_at=None,
    )
    is_stored = asyncio.Event()
    loop = asyncio.get_running_loop()

    def store(connection: sa.Connection) -> None:
        insert_key(connection, key, None, 10, person.account.epoch)
        loop.call_soon_threadsafe(is_stored.set)
        connection.execute(sa.text("SELECT pg_sleep(0.5)"))  # and not committed yet

    storing = asyncio.create_task(kurz.database.write(store))
    await is_stored.wait()
    await reset(kurz, person)
    await storing
    assert await kurz.keys.list(person.id) == []


async def test_a_reset_with_keys_ends_the_one_time_links_that_the_account_made(kurz, people):
    admin, other = await people.add(is_admin=True), await people.add(is_admin=True)
    team = await people.workspace(admin)

    async def open_links() -> list[tuple[str, int | None]]:
        query = sa.select(one_time_tokens.c.purpose, one_time_tokens.c.created_by)
        rows = await kurz.database.read(lambda it: it.execute(query).all())
        return sorted((purpose, made_by) for purpose, made_by in rows)

    await kurz.one_time_tokens.invite(admin.id, team.id, Role.OWNER)
    await kurz.one_time_tokens.invite(admin.id)
    await kurz.one_time_tokens.make_reset(other.id, admin.id)
    await kurz.one_time_tokens.invite(other.id)
    everything = await open_links()
    assert len(everything) == 4
    await reset(kurz, admin, revoke_keys=False)
    assert await open_links() == everything
    await reset(kurz, admin, revoke_keys=True)
    assert await open_links() == [(Purpose.INVITATION, other.id)]
    await kurz.accounts.change_password(other.id, PASSWORD, OTHER_PASSWORD, revoke_keys=True)
    assert await open_links() == []


class Interrupted(Passwords):
    """Something happens after a password was found right, once."""

    def __init__(self, act: Callable[[], Awaitable[None]]) -> None:
        super().__init__(cost=4)
        self._act: Callable[[], Awaitable[None]] | None = act

    async def verify(self, *args: Any) -> bool:
        fits = await super().verify(*args)
        if self._act is not None:
            act, self._act = self._act, None
            await act()
        return fits


def interrupted(kurz: Kurz, act: Callable[[], Awaitable[None]]) -> AccountService:
    store = SqlOneTimeTokenStore(kurz.database)
    return AccountService(kurz.account_store, store, Interrupted(act), kurz.clock, is_open=True)


async def test_a_password_change_that_began_before_a_reset_does_not_undo_it(kurz, people):
    person = await people.add()
    accounts = interrupted(kurz, lambda: reset(kurz, person))
    with pytest.raises(CredentialRefused):
        await accounts.change_password(person.id, PASSWORD, "the attacker's own password")
    assert await kurz.accounts.check_password(person.id, OTHER_PASSWORD)


async def test_an_account_that_was_reset_is_not_deleted_by_who_knew_the_old_password(kurz, people):
    person = await people.add()
    parts = replace(kurz, accounts=interrupted(kurz, lambda: reset(kurz, person)))
    body, headers = {"password": PASSWORD}, person.headers
    async with (
        open_app(parts) as app,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=ORIGIN) as client,
    ):
        answer = await client.request("DELETE", ME, json=body, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["type"].endswith("/credential-refused")
    assert await kurz.accounts.check_password(person.id, OTHER_PASSWORD)
    assert await kurz.accounts.delete(person.id)
    with pytest.raises(AccountNotFound):
        await kurz.accounts.get(person.id)
