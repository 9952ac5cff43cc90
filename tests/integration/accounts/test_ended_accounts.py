"""Disabled and deleted accounts, and the last administrator."""

import asyncio
import itertools
import json
from typing import Any

import pytest

from kurz.people.access import Permission
from kurz.storage.links.ended_accounts import FEW
from kurz.storage.schema.links import links
from support.accounts import (
    AUTH,
    EMAIL,
    ME,
    OTHER_PASSWORD,
    assert_problem,
    bearer,
    everything,
    register,
    sign_in,
    status_of,
)
from support.endings import make, multiply, rows
from support.people import PASSWORD, Person

# Disabled accounts, and the last administrator


async def test_a_disabled_account_opens_nothing(client, people, kurz):
    admin = await people.add(is_admin=True)
    person = await people.add(EMAIL)
    key = await people.key(person, Permission.LINKS_READ)
    reset, _ = await kurz.one_time_tokens.make_reset(person.id, None)
    path = f"/api/v1/admin/accounts/{person.id}"
    shown = await client.patch(path, json={"is_disabled": True}, headers=admin.headers)
    assert shown.json()["disabled_at"] is not None
    assert await status_of(client, person.headers) == 401
    assert await status_of(client, {"x-api-key": key}) == 401
    assert (await sign_in(client)).status_code == 401
    body = {"token": reset, "password": OTHER_PASSWORD, "revoke_keys": False}
    answer = await client.post(f"{AUTH}/reset", json=body)
    if answer.status_code == 200:  # a new password, but no way in
        assert await status_of(client, bearer(answer.json()["token"])) == 401
    assert_problem(await register(client), 409, "email-taken")
    enabled = await client.patch(path, json={"is_disabled": False}, headers=admin.headers)
    assert enabled.json()["disabled_at"] is None
    assert await status_of(client, person.headers) == 401  # tokens from before stay ended
    assert await status_of(client, {"x-api-key": key}) == 200


async def test_the_last_administrator_cannot_be_lost(client, people, kurz):
    admin = await people.add(EMAIL, is_admin=True)
    former = await people.add(is_admin=True)
    await kurz.accounts.set_disabled(former.id, is_disabled=True)  # does not count
    path = f"/api/v1/admin/accounts/{admin.id}"
    for changes in (
        {"is_admin": False},
        {"is_disabled": True},
        {"is_admin": False, "is_disabled": True},
        {"is_admin": True, "is_disabled": True},
    ):
        refused = await client.patch(path, json=changes, headers=admin.headers)
        assert_problem(refused, 409, "administrator-missing")
        admin = people.sign_in(await kurz.accounts.get(admin.id))
    body = {"password": PASSWORD}
    gone = await client.request("DELETE", ME, json=body, headers=admin.headers)
    assert_problem(gone, 409, "owner-missing")
    assert await status_of(client, admin.headers) == 200


LOSSES: dict[str, tuple[str, dict[str, Any]]] = {
    "disabling each other": ("other", {"is_disabled": True}),
    "degrading each other": ("other", {"is_admin": False}),
    "degrading themselves": ("self", {"is_admin": False}),
    "deleting themselves": ("delete", {"password": PASSWORD}),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_two_administrators_at_once_leave_one(connect, people, kurz, loss):
    whom, body = LOSSES[loss]
    clients = [await connect(), await connect()]
    for _ in range(4):
        both = [await people.add(is_admin=True) for _ in range(2)]
        for account in await kurz.accounts.list():
            if account.is_admin and account.id not in {person.id for person in both}:
                await kurz.accounts.set_admin(account.id, is_admin=False)

        async def lose(number: int, both: list[Person] = both) -> int:
            me, other = both[number], both[1 - number]
            target = other.id if whom == "other" else me.id
            path = ME if whom == "delete" else f"/api/v1/admin/accounts/{target}"
            method = "DELETE" if whom == "delete" else "PATCH"
            answer = await clients[number].request(method, path, json=body, headers=me.headers)
            status: int = answer.status_code
            return status

        statuses = await asyncio.gather(lose(0), lose(1))
        assert await kurz.account_store.has_admin()
        assert sorted(statuses) in ([200, 409], [204, 409], [200, 401], [200, 403], [204, 401])


# Deleting


async def test_an_account_is_exported_and_deleted_with_all_that_is_its_own(client, people, kurz):
    admin = await people.add(is_admin=True)
    person = await people.add(EMAIL)
    link = (
        await client.post(
            "/api/v1/links", json={"original_url": "https://example.com/a"}, headers=person.headers
        )
    ).json()
    trashed = (
        await client.post(
            "/api/v1/links", json={"original_url": "https://example.com/b"}, headers=person.headers
        )
    ).json()
    await client.delete(f"/api/v1/links/{trashed['id']}", headers=person.headers)
    others = await client.post(
        "/api/v1/links", json={"original_url": "https://example.com/c"}, headers=admin.headers
    )
    key = await people.key(person, Permission.LINKS_READ)
    workspace = await people.workspace(person, "team")

    export = await client.get("/api/v1/me/export", headers=person.headers)
    assert export.headers["cache-control"] == "no-store"
    assert "attachment" in export.headers["content-disposition"]
    lines = [json.loads(line) for line in export.text.splitlines()]
    assert [line["kind"] for line in lines] == ["account", "key", "workspace", "link", "link"]
    assert {line["short_code"] for line in lines if line["kind"] == "link"} == {
        link["short_code"],
        trashed["short_code"],
    }
    assert key not in export.text
    assert others.json()["short_code"] not in export.text
    assert "hash" not in export.text
    assert (await client.get("/api/v1/me/export", headers={"x-api-key": key})).status_code == 403

    before = await everything(kurz)
    for headers, body, status in (
        (person.headers, {"password": OTHER_PASSWORD}, 401),
        (person.headers, {}, 422),
        ({"x-api-key": key}, {"password": PASSWORD}, 403),
        ({}, {"password": PASSWORD}, 401),
    ):
        refused = await client.request("DELETE", ME, json=body, headers=headers)
        assert refused.status_code == status
    after = await everything(kurz)
    assert after | {"keys": None} == before | {"keys": None}  # but for when the key was used

    body = {"password": PASSWORD}
    gone = await client.request("DELETE", ME, json=body, headers=person.headers)
    assert gone.status_code == 204
    assert await status_of(client, person.headers) == 401
    assert await status_of(client, {"x-api-key": key}) == 401
    assert (await sign_in(client)).status_code == 401
    assert (await client.get(f"/{link['short_code']}")).status_code in (404, 410)
    assert EMAIL not in str(await everything(kurz))
    found = await kurz.workspaces.find(workspace.id)
    assert found is not None
    assert found.deleted_at is not None
    again = await register(client)
    assert again.json()["account"]["id"] != person.id
    listed = await client.get("/api/v1/links", headers=bearer(again.json()["token"]))
    assert listed.json()["links"] == []


async def test_links_of_an_account_with_many_stop_in_every_memory(client, connect, people, kurz):
    """Although none of them is written: each is in the memory of two workers, or in Redis."""
    await people.add(is_admin=True)
    person = await people.add(EMAIL)
    codes = []
    for owner in person, await people.add():
        first = await make(kurz, owner_id=owner.id)
        codes.append([first.short_code, (await multiply(kurz, first, FEW))[-1].short_code])
    clients = [client, await connect(code_length=8)]
    for each, code in itertools.product(clients, itertools.chain(*codes)):
        assert (await each.get(f"/{code}")).status_code == 302
    body = {"password": PASSWORD}
    gone = await client.request("DELETE", ME, json=body, headers=person.headers)
    assert gone.status_code == 204
    assert [(await client.get(f"/{code}")).status_code for code in codes[0]] == [404, 404]
    for code in codes[0]:
        for _ in range(500):  # until it is told
            if (await clients[1].get(f"/{code}")).status_code == 404:
                break
            await asyncio.sleep(0.02)
        else:
            pytest.fail("another worker still redirects")
    fresh = await connect(code_length=9)  # has nothing in memory, but perhaps in Redis
    assert [(await fresh.get(f"/{code}")).status_code for code in codes[0]] == [404, 404]
    for each, code in itertools.product(clients, codes[1]):
        assert (await each.get(f"/{code}")).status_code == 302
    version = {row["version"] for row in await rows(kurz, links, links.c.space == -person.id)}
    assert version == {1}
