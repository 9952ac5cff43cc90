"""Registering and signing in."""

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from support.accounts import (
    AUTH,
    EMAIL,
    ME,
    OTHER_PASSWORD,
    assert_problem,
    bearer,
    credentials,
    everything,
    register,
    sign_in,
    status_of,
)
from support.people import PASSWORD
from support.sign_ins import fill_lines


async def test_an_account_lives_its_life(client, people):
    await people.add(is_admin=True)
    made = await register(client)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    assert "set-cookie" not in made.headers
    body = made.json()
    assert body["account"]["email"] == EMAIL
    assert body["account"]["is_admin"] is False
    assert body["expires_at"] == "2026-03-02T12:00:00Z"
    assert "hash" not in made.text
    assert PASSWORD not in made.text

    me = await client.get(ME, headers=bearer(body["token"]))
    assert me.json()["id"] == body["account"]["id"]
    assert me.json()["scopes"] == ["links:create", "links:read", "links:write", "stats:read"]

    again = await sign_in(client)
    assert again.status_code == 200
    assert again.json()["token"] != body["token"]
    first, second = bearer(body["token"]), bearer(again.json()["token"])
    out = await client.post(f"{AUTH}/sign-out", headers=second)
    assert out.status_code == 204
    assert [await status_of(client, item) for item in (first, second)] == [200, 401]
    assert (await client.post(f"{AUTH}/sign-out", headers=second)).status_code == 401

    wrong = {"old_password": OTHER_PASSWORD, "new_password": "third horse, third battery"}
    refused = await client.post(f"{AUTH}/password", json=wrong, headers=first)
    assert_problem(refused, 401, "sign-in-refused")
    assert await status_of(client, first) == 200
    right = {"old_password": PASSWORD, "new_password": OTHER_PASSWORD}
    third = (await sign_in(client)).json()["token"]
    changed = await client.post(f"{AUTH}/password", json=right, headers=first)
    assert changed.status_code == 200
    assert [await status_of(client, item) for item in (first, bearer(third))] == [401, 401]
    assert await status_of(client, bearer(changed.json()["token"])) == 200
    assert_problem(await sign_in(client), 401, "sign-in-refused")
    assert (await sign_in(client, password=OTHER_PASSWORD)).status_code == 200


@pytest.mark.parametrize("new", ["short", "password", EMAIL, "x" * 1025])
async def test_a_password_cannot_be_changed_to_a_poor_one(client, people, new):
    person = await people.add(EMAIL)
    body = {"old_password": PASSWORD, "new_password": new}
    refused = await client.post(f"{AUTH}/password", json=body, headers=person.headers)
    assert_problem(refused, 422, "password-refused")
    assert await status_of(client, person.headers) == 200
    assert (await sign_in(client)).status_code == 200


async def test_unknown_wrong_and_disabled_look_the_same_and_cost_one_check_each(
    kurz, client, people
):
    await people.add(EMAIL)
    await people.add(is_admin=True)
    disabled = await people.add("disabled@example.com")
    await kurz.accounts.set_disabled(disabled.id, is_disabled=True)
    tries = {
        "wrong": credentials(password=OTHER_PASSWORD),
        "unknown": credentials("nobody@example.com"),
        "disabled": credentials("disabled@example.com"),
        "disabled and wrong": credentials("disabled@example.com", OTHER_PASSWORD),
        "no address": credentials("this is no address"),
        "empty address": credentials(""),
        "empty password": credentials(password=""),
        "long password": credentials(password="x" * 10_000),
        "NUL": credentials("a\0b@example.com", "\0" * 9),
        "wildcard": credentials("%@example.com"),
        "query": credentials("' OR 1=1 --@example.com"),
    }
    seen = set()
    for body in tries.values():
        before = kurz.accounts._passwords.checks
        answer = await client.post(f"{AUTH}/sign-in", json=body)
        assert kurz.accounts._passwords.checks == before + 1
        assert_problem(answer, 401, "sign-in-refused")
        headers = sorted(pair for pair in answer.headers.items() if pair[0] != "x-request-id")
        seen.add((answer.text, str(headers)))
    assert len(seen) == 1
    before = kurz.accounts._passwords.checks
    assert (await sign_in(client)).status_code == 200
    assert kurz.accounts._passwords.checks == before + 1


async def test_passwords_that_differ_after_byte_72_do_not_open_the_same_account(client):
    long = "🔑" * 18 + "abcdef"
    assert (await register(client, password=long + "x")).status_code == 201
    assert (await sign_in(client, password=long + "y")).status_code == 401
    assert (await sign_in(client, password=long)).status_code == 401
    assert (await sign_in(client, password=long + "x")).status_code == 200
    nul = "before\0after"
    assert (await register(client, email="nul@example.com", password=nul)).status_code == 201
    for other in ("before", "before\0", "before\0other"):
        assert (await sign_in(client, email="nul@example.com", password=other)).status_code == 401
    assert (await sign_in(client, email="nul@example.com", password=nul)).status_code == 200


async def test_an_address_is_taken_in_every_spelling(client):
    assert (await register(client, email="ada@müller.de")).status_code == 201
    for spelling in ("ADA@MÜLLER.DE", " ada@xn--mller-kva.de ", "ada@mu\u0308ller.de"):
        assert_problem(await register(client, email=spelling), 409, "email-taken")
        signed_in = await sign_in(client, email=spelling)
        assert signed_in.json()["account"]["email"] == "ada@xn--mller-kva.de"
    for bad in ("ada", "ada@x\0.de", "ada@b\u200b.de", "Ada <ada@x.de>"):
        assert_problem(await register(client, email=bad), 422, "email-refused")
    half = b'{"email":"a\\ud800@x.de","password":"correct horse"}'
    answer = await client.post(
        f"{AUTH}/register", content=half, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)


async def test_one_of_many_who_register_an_address_at_once_gets_it(connect, kurz):
    clients = [await connect(), await connect()]
    spellings = itertools.cycle(["ada@example.com", "ADA@example.com", "Ada@Example.com "])
    calls = [
        register(clients[number % 2], email=next(spellings), password=f"{PASSWORD} {number}")
        for number in range(10)
    ]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 9
    assert len(await kurz.accounts.list()) == 1


def bodies_with(value: Any, account_id: int) -> Iterator[tuple[str, str, Any]]:
    """Each value that people send, in turn, as something else."""
    for path, more in (("register", {}), ("sign-in", {}), ("setup", {"token": "x"})):
        for name in ("email", "password"):
            yield "POST", f"{AUTH}/{path}", credentials() | more | {name: value}
    yield "POST", f"{AUTH}/setup", credentials(token=value)
    for body in ({"token": value, "password": PASSWORD}, {"token": "x", "password": value}):
        yield "POST", f"{AUTH}/reset", body
    passwords = {"old_password": PASSWORD, "new_password": OTHER_PASSWORD}
    key = {"name": "x", "scopes": ["links:read"]}
    for name in passwords:
        yield "POST", f"{AUTH}/password", passwords | {name: value}
    for change in ({"name": value}, {"scopes": value}, {"scopes": [value]}):
        yield "POST", "/api/v1/keys", key | change
    yield "DELETE", ME, {"password": value}
    yield "POST", "/api/v1/invitations/accept", {"token": value}
    if value is not None:
        yield "POST", f"{AUTH}/register", credentials(invitation=value)
        yield "POST", "/api/v1/keys", key | {"workspace_id": [value]}
    if value is not True:
        for name in ("is_admin", "is_disabled"):
            yield "PATCH", f"/api/v1/admin/accounts/{account_id}", {name: value}
    for path in ("register", "sign-in", "reset", "setup", "password"):
        yield "POST", f"{AUTH}/{path}", value


async def test_values_of_another_type_are_refused(client, people, kurz):
    admin = await people.add(EMAIL, is_admin=True)
    before = await everything(kurz)
    headers = admin.headers | {"content-type": "application/json"}
    values: tuple[Any, ...] = (True, 0, 1.5, [], {}, None, ["x"])
    for value in values:
        for method, path, body in bodies_with(value, admin.id):
            answer = await client.request(method, path, content=json.dumps(body), headers=headers)
            assert answer.status_code == 422, (method, path, body)
            assert_problem(answer, 422, "request-refused")
    assert await everything(kurz) == before


async def test_unknown_fields_are_refused(client, kurz):
    for more in ({"is_admin": True}, {"id": 1}, {"epoch": 9}, {"disabled_at": None}):
        assert_problem(await register(client, **more), 422, "request-refused")
    assert await kurz.accounts.list() == []


async def test_a_rush_of_sign_ins_is_told_to_come_again_while_the_rest_goes_on(
    kurz, client, add_link
):
    link = await add_link()
    await register(client)
    gate = threading.Event()
    work = [asyncio.create_task(run) for run in fill_lines(kurz, gate)]
    await asyncio.sleep(0)
    try:
        for answer in (
            await sign_in(client),
            await sign_in(client, email="nobody@example.com"),
            await client.post(f"{AUTH}/register", json=credentials("eve@example.com")),
        ):
            assert_problem(answer, 503, "sign-in-busy")
            assert int(answer.headers["retry-after"]) >= 1
        assert (await client.get(f"/{link.short_code}")).status_code == 302
        assert (await client.get("/healthz")).status_code == 200
    finally:
        gate.set()
        await asyncio.gather(*work)
    assert (await sign_in(client)).status_code == 200


async def test_no_spelling_of_an_address_gives_more_guesses(connect, people):
    client = await connect(rate_limits="on")
    await people.add(EMAIL)
    spellings = [
        "ada@example.com",
        "ADA@example.com",
        "ada@ｅxample.com",
        "ada@eｘample.com",
        "ada@exａmple.com",
        "ada@example。com",
        "ada@example｡com",
        " ada@example.com",
    ]
    statuses = []
    for email in spellings:
        answer = await client.post(
            f"{AUTH}/sign-in",
            json=credentials(email, OTHER_PASSWORD),
        )
        statuses.append(answer.status_code)
    assert statuses == [401] * 7 + [429]  # 5 of the account, 2 of the newcomer
