"""Accounts over HTTP: registering, signing in and out, passwords, one-time links, administrators,
and sessions in cookies (threats T15 to T19, T22, T41)."""

import asyncio
import itertools
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz, make_first_admin, open_kurz
from kurz.errors import SettingRefused
from kurz.people.access import Permission
from kurz.people.errors import CredentialRefused, EmailTaken
from kurz.people.identity import Identity
from kurz.people.passwords import Passwords
from kurz.storage import schema
from support.clock import FrozenClock
from support.engines import redis_in_the_long_run, usually_on
from support.forged_tokens import FORGERIES, Forger
from support.people import PASSWORD, People, Person
from support.sign_ins import fill_lines

engine = redis_in_the_long_run

EMAIL = "ada@example.com"
OTHER_PASSWORD = "another horse, another battery"
AUTH = "/api/v1/auth"
ME = "/api/v1/me"
PUBLIC_URL = "https://go.example.com"
# Where nobody else counts: what a server does for itself.
OWN_TABLES = {"installation", "counters", "leases", "limits", "search_position", "count_position"}

Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


def credentials(email: str = EMAIL, password: str = PASSWORD, **more: Any) -> dict[str, Any]:
    return {"email": email, "password": password, **more}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def cookie(token: str, **more: str) -> dict[str, str]:
    return {"cookie": f"kurz={token}", **more}


async def register(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    """Comes again when all places are taken, as the answer asks for."""
    while True:
        answer = await client.post(f"{AUTH}/register", json=credentials(**body))
        if answer.status_code != 503:
            return answer
        await asyncio.sleep(0.05)


async def sign_in(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.post(f"{AUTH}/sign-in", json=credentials(**body))


async def status_of(client: httpx2.AsyncClient, headers: dict[str, str]) -> int:
    return (await client.get(ME, headers=headers)).status_code


def assert_problem(answer: httpx2.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"/api/problems/{code}"
    assert answer.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in answer.headers) == (status == 401)


def _tables(connection: sa.Connection) -> dict[str, list[str]]:
    return {
        table.name: sorted(map(repr, connection.execute(sa.select(table)).all()))
        for table in schema.metadata.sorted_tables
        if table.name not in OWN_TABLES
    }


async def everything(kurz: Kurz) -> dict[str, list[str]]:
    return await kurz.database.read(_tables)


@pytest.fixture
async def public_kurz(kurz: Kurz, clock: FrozenClock) -> AsyncIterator[Kurz]:
    """The same store under an address that strangers reach."""
    settings = replace(kurz.settings, base_url=PUBLIC_URL)
    async with open_kurz(settings, clock, Passwords(cost=4)) as parts:
        yield parts


# Registering and signing in


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


# The first administrator


@pytest.mark.parametrize("base_url", [None, "http://localhost:8080", PUBLIC_URL])
async def test_nobody_becomes_administrator_by_registering(connect, kurz, base_url):
    origin = base_url or "http://localhost"
    client = await connect(origin, base_url=base_url)
    answers = [await register(client, email=f"person{n}@example.com") for n in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert [answer.json()["account"]["is_admin"] for answer in answers] == [False, False]
    assert not await kurz.account_store.has_admin()
    refused = await client.get("/api/v1/admin/accounts", headers=bearer(answers[0].json()["token"]))
    assert_problem(refused, 403, "permission-missing")
    private = await connect(origin, base_url=base_url, access="private")
    refused = await register(private, email="eve@example.com")
    assert_problem(refused, 403, "registration-closed")
    token, _ = await kurz.passes.invite(None)
    invited = await register(private, email="eve@example.com", invitation=token)
    assert invited.json()["account"]["is_admin"] is False


async def test_the_set_up_link_makes_one_administrator(connect, public_kurz, clock):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL, access="private")
    older = await make_first_admin(public_kurz)
    clock.advance(minutes=1)
    token = await make_first_admin(public_kurz)
    assert token is not None
    for wrong in (older, "", token[:-1], token.swapcase(), f" {token}"):
        refused = await client.post(f"{AUTH}/setup", json=credentials(token=wrong))
        assert_problem(refused, 422, "pass-refused")
    poor = await client.post(f"{AUTH}/setup", json=credentials(token=token, password="short"))
    assert_problem(poor, 422, "password-refused")
    calls = [
        client.post(f"{AUTH}/setup", json=credentials(f"admin{n}@example.com", token=token))
        for n in range(4)
    ]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422]
    (made,) = [answer.json() for answer in answers if answer.status_code == 201]
    assert made["account"]["is_admin"] is True
    listed = await client.get("/api/v1/admin/accounts", headers=bearer(made["token"]))
    assert len(listed.json()["accounts"]) == 1
    assert await make_first_admin(public_kurz) is None


@pytest.mark.parametrize("chosen", [0, 1])
async def test_instances_that_start_together_print_links_that_work(
    connect, public_kurz, clock, chosen
):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL)
    before = await make_first_admin(public_kurz)
    clock.advance(hours=1)
    tokens = [await make_first_admin(public_kurz)]
    clock.advance(seconds=59)
    tokens.append(await make_first_admin(public_kurz))
    refused = await client.post(f"{AUTH}/setup", json=credentials(token=before))
    assert_problem(refused, 422, "pass-refused")
    made = await client.post(f"{AUTH}/setup", json=credentials(token=tokens.pop(chosen)))
    assert made.status_code == 201
    late = credentials("late@example.com", token=tokens.pop())
    assert_problem(await client.post(f"{AUTH}/setup", json=late), 422, "pass-refused")
    assert len(await public_kurz.accounts.list()) == 1


async def test_instances_that_start_together_make_one_administrator(kurz):
    settings = replace(kurz.settings, admin_email=EMAIL, admin_password=PASSWORD)
    starting = replace(kurz, settings=settings)
    tokens = await asyncio.gather(*(make_first_admin(starting) for _ in range(3)))
    assert tokens == [None] * 3
    (admin,) = await kurz.accounts.list()
    assert (admin.email, admin.is_admin) == (EMAIL, True)


async def test_an_address_that_a_stranger_registered_does_not_block_the_set_up(
    connect, public_kurz
):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL)
    await register(client)
    token = await make_first_admin(public_kurz)
    taken = await client.post(f"{AUTH}/setup", json=credentials(token=token))
    assert_problem(taken, 409, "email-taken")
    for words in ("another address", f"reset-password {EMAIL}", f"promote {EMAIL}"):
        assert words in taken.json()["detail"]
    assert "Sign in" not in taken.json()["detail"]
    other = credentials("other@example.com", token=token)
    assert (await client.post(f"{AUTH}/setup", json=other)).status_code == 201
    with pytest.raises(EmailTaken, match=f"promote {EMAIL}"):
        await public_kurz.accounts.create_admin(EMAIL, PASSWORD)


async def test_a_set_up_link_ends_after_a_day_or_with_the_first_administrator(
    connect, public_kurz, clock
):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL)
    token = await make_first_admin(public_kurz)
    clock.advance(days=1)
    refused = await client.post(f"{AUTH}/setup", json=credentials(token=token))
    assert_problem(refused, 422, "pass-refused")
    token = await make_first_admin(public_kurz)
    await public_kurz.accounts.create_admin("cli@example.com", PASSWORD)
    refused = await client.post(f"{AUTH}/setup", json=credentials(token=token))
    assert_problem(refused, 422, "pass-refused")
    assert len(await public_kurz.accounts.list()) == 1


# Invitations and resets


async def test_by_invitation_an_account_is_made_once(connect, people, clock, kurz):
    client = await connect(access="private")
    admin = await people.add(is_admin=True)
    assert_problem(await register(client), 403, "registration-closed")
    made = await client.post("/api/v1/admin/invitations", headers=admin.headers)
    assert made.status_code == 201
    token = made.json()["token"]
    assert made.json()["url"].endswith(f"/app/join#{token}")
    for wrong in ("", token + "x", token.lower(), "\0"):
        assert_problem(await register(client, invitation=wrong), 422, "pass-refused")
    calls = [register(client, email=f"p{n}@example.com", invitation=token) for n in range(4)]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422]
    assert not any('is_admin":true' in answer.text for answer in answers)
    assert len(await kurz.accounts.list()) == 2
    late, _ = await kurz.passes.invite(None)
    clock.advance(days=7)
    refused = await register(client, email="late@example.com", invitation=late)
    assert_problem(refused, 422, "pass-refused")


async def test_an_invitation_that_fails_for_another_reason_still_works(connect, people, kurz):
    client = await connect(access="private")
    await people.add(EMAIL, is_admin=True)
    token, _ = await kurz.passes.invite(None)
    assert_problem(await register(client, invitation=token), 409, "email-taken")
    poor = await register(client, email="eve@example.com", password="short", invitation=token)
    assert_problem(poor, 422, "password-refused")
    made = await register(client, email="eve@example.com", invitation=token)
    assert made.status_code == 201


async def test_an_invitation_that_was_taken_back_does_not_work(connect, people):
    client = await connect(access="private")
    admin = await people.add(is_admin=True)
    made = (await client.post("/api/v1/admin/invitations", headers=admin.headers)).json()
    listed = await client.get("/api/v1/admin/invitations", headers=admin.headers)
    assert [item["id"] for item in listed.json()["invitations"]] == [made["id"]]
    assert made["token"] not in listed.text
    path = f"/api/v1/admin/invitations/{made['id']}"
    assert (await client.delete(path, headers=admin.headers)).status_code == 204
    assert (await client.delete(path, headers=admin.headers)).status_code == 404
    assert_problem(await register(client, invitation=made["token"]), 422, "pass-refused")


async def test_a_one_time_link_works_for_its_purpose_only(connect, people, kurz, public_kurz):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL, access="private")
    person = await people.add(EMAIL)
    setup, _ = await kurz.passes.make_setup()
    reset, _ = await kurz.passes.make_reset(person.id, None)
    invitation, _ = await kurz.passes.invite(None)
    before = await everything(kurz)
    new = {"email": "eve@example.com"}
    for token in (setup, reset):
        assert_problem(await register(client, **new, invitation=token), 422, "pass-refused")
        body = {"token": token}
        joined = await client.post("/api/v1/invitations/accept", json=body, headers=person.headers)
        assert_problem(joined, 422, "pass-refused")
    for token in (setup, invitation):
        body = {"token": token, "password": OTHER_PASSWORD}
        assert_problem(await client.post(f"{AUTH}/reset", json=body), 422, "pass-refused")
    for token in (reset, invitation):
        body = credentials(**new, token=token)
        assert_problem(await client.post(f"{AUTH}/setup", json=body), 422, "pass-refused")
    assert await everything(kurz) == before


async def test_a_reset_link_sets_a_password_once_and_ends_every_token(client, people, kurz):
    admin = await people.add(is_admin=True)
    person = await people.add(EMAIL)
    path = f"/api/v1/admin/accounts/{person.id}/reset-link"
    assert (await client.post(path, headers=person.headers)).status_code == 403
    replaced = (await client.post(path, headers=admin.headers)).json()["token"]
    made = (await client.post(path, headers=admin.headers)).json()
    assert made["url"].endswith(f"/app/reset#{made['token']}")
    assert await status_of(client, person.headers) == 200
    poor = {"token": made["token"], "password": EMAIL}
    assert_problem(await client.post(f"{AUTH}/reset", json=poor), 422, "password-refused")
    body = {"token": replaced, "password": OTHER_PASSWORD}
    assert_problem(await client.post(f"{AUTH}/reset", json=body), 422, "pass-refused")
    calls = [
        client.post(
            f"{AUTH}/reset", json={"token": made["token"], "password": f"{OTHER_PASSWORD} {n}"}
        )
        for n in range(4)
    ]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [200, 422, 422, 422]
    assert await status_of(client, person.headers) == 401
    assert (await sign_in(client)).status_code == 401
    (winner,) = [n for n, answer in enumerate(answers) if answer.status_code == 200]
    password = f"{OTHER_PASSWORD} {winner}"
    assert (await sign_in(client, password=password)).status_code == 200
    assert await status_of(client, bearer(answers[winner].json()["token"])) == 200


async def test_a_reset_link_ends_after_a_day(client, people, kurz, clock):
    person = await people.add(EMAIL)
    token, _ = await kurz.passes.make_reset(person.id, None)
    clock.advance(hours=23, minutes=59, seconds=59)
    clock.advance(seconds=1)
    body = {"token": token, "password": OTHER_PASSWORD}
    assert_problem(await client.post(f"{AUTH}/reset", json=body), 422, "pass-refused")
    assert (await sign_in(client)).status_code == 200


# Disabled accounts, and the last administrator


async def test_a_disabled_account_opens_nothing(client, people, kurz):
    admin = await people.add(is_admin=True)
    person = await people.add(EMAIL)
    key = await people.key(person, Permission.LINKS_READ)
    reset, _ = await kurz.passes.make_reset(person.id, None)
    path = f"/api/v1/admin/accounts/{person.id}"
    shown = await client.patch(path, json={"is_disabled": True}, headers=admin.headers)
    assert shown.json()["disabled_at"] is not None
    assert await status_of(client, person.headers) == 401
    assert await status_of(client, {"x-api-key": key}) == 401
    assert (await sign_in(client)).status_code == 401
    body = {"token": reset, "password": OTHER_PASSWORD, "ends_keys": False}
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


# How long a credential outlives its end


class Seconds:
    """A clock that only goes forward, when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def _sign_out(kurz: Kurz, people: People, person: Person) -> None:
    claims = people.tokens.read(person.token)
    await kurz.accounts.sign_out(claims.token_id, claims.expires_at)


async def _change_password(kurz: Kurz, people: People, person: Person) -> None:
    await kurz.accounts.change_password(person.id, PASSWORD, OTHER_PASSWORD)


async def _reset(kurz: Kurz, people: People, person: Person) -> None:
    token, _ = await kurz.passes.make_reset(person.id, None)
    await kurz.accounts.reset_password(token, OTHER_PASSWORD)


async def _disable(kurz: Kurz, people: People, person: Person) -> None:
    await kurz.accounts.set_disabled(person.id, is_disabled=True)


async def _promote(kurz: Kurz, people: People, person: Person) -> None:
    await kurz.accounts.set_admin(person.id, is_admin=True)


async def _degrade(kurz: Kurz, people: People, person: Person) -> None:
    await kurz.accounts.set_admin(person.id, is_admin=False)


async def _delete(kurz: Kurz, people: People, person: Person) -> None:
    assert await kurz.accounts.delete(person.id)


async def _revoke(kurz: Kurz, people: People, person: Person) -> None:
    for key in await kurz.keys.list(person.id):
        await kurz.keys.revoke(key.id, person.id)


ENDS_OF_TOKENS = (_sign_out, _change_password, _reset, _disable, _promote, _degrade, _delete)
ENDS_OF_KEYS = (_disable, _delete, _revoke)


@usually_on("sqlite")
async def test_what_ends_a_credential_acts_on_other_instances_within_5_seconds(kurz, people, clock):
    seconds = Seconds()
    elsewhere = Identity(people.tokens, kurz.account_store, kurz.keys, clock, monotonic=seconds)
    await people.add(is_admin=True)
    ended = []
    for end in ENDS_OF_TOKENS:
        person = await people.add(is_admin=end is _degrade)
        ended.append((end, person, person.token))
    for end in ENDS_OF_KEYS:
        person = await people.add()
        ended.append((end, person, await people.key(person, Permission.LINKS_READ)))
    for _, person, credential in ended:
        assert (await elsewhere.identify(credential)).account_id == person.id
    for end, person, _ in ended:
        await end(kurz, people, person)
    seconds.now += 5.0
    for _, _, credential in ended:
        with pytest.raises(CredentialRefused):
            await elsewhere.identify(credential)


async def test_using_a_credential_does_not_make_it_outlive_its_end(kurz, people, clock):
    seconds = Seconds()
    elsewhere = Identity(people.tokens, kurz.account_store, kurz.keys, clock, monotonic=seconds)
    await people.add(is_admin=True)
    person = await people.add()
    await elsewhere.identify(person.token)
    await kurz.accounts.set_disabled(person.id, is_disabled=True)
    for _ in range(39):
        seconds.now += 0.1
        await elsewhere.identify(person.token)
    seconds.now += 1.1
    with pytest.raises(CredentialRefused):
        await elsewhere.identify(person.token)


async def test_where_it_ends_it_ends_at_once_and_another_instance_that_never_saw_it_refuses_it(
    connect, people
):
    here, there = await connect(), await connect()
    person = await people.add()
    assert await status_of(here, person.headers) == 200
    assert (await here.post(f"{AUTH}/sign-out", headers=person.headers)).status_code == 204
    assert await status_of(here, person.headers) == 401
    assert await status_of(there, person.headers) == 401


async def test_a_token_ends_after_24_hours_with_30_seconds_of_leeway(connect, people, clock):
    client, other = await connect(), await connect()
    person = await people.add()
    assert await status_of(client, person.headers) == 200
    clock.advance(days=1, seconds=29)
    assert await status_of(client, person.headers) == 200
    assert await status_of(other, person.headers) == 200
    clock.advance(seconds=2)
    assert await status_of(client, person.headers) == 401
    assert await status_of(other, person.headers) == 401


async def test_a_token_that_was_signed_out_stays_out_until_its_very_end(
    connect, people, clock, kurz
):
    client = await connect()
    person, other = await people.add(), await people.add()
    assert (await client.post(f"{AUTH}/sign-out", headers=person.headers)).status_code == 204
    clock.advance(days=1, seconds=20)
    fresh = people.sign_in(other.account)  # signing out forgets what has ended by itself
    assert (await client.post(f"{AUTH}/sign-out", headers=fresh.headers)).status_code == 204
    assert await status_of(client, person.headers) == 401


async def test_every_forged_token_gets_401_and_a_problem(client, people, kurz, clock):
    await people.add(is_admin=True)
    person = await people.add()
    key = people.tokens._key.raw_value
    forger = Forger(key, clock, account_id=person.id)
    assert await status_of(client, bearer(forger.good())) == 200
    for name, forge in FORGERIES.items():
        token = forge(Forger(key, clock))
        value = b"Bearer " + token.encode("utf-8", "surrogatepass")
        answer = await client.get(ME, headers={b"authorization": value})
        assert answer.status_code == 401, name
        assert_problem(answer, 401, "credential-refused")
        if "\n" in token or "\0" in token or ";" in token or "," in token:
            continue
        in_cookie = await client.get(ME, headers={b"cookie": b"kurz=" + value[7:]})
        assert in_cookie.status_code == 401, name


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


# Credentials: which, how many, and where


async def test_a_credential_that_does_not_fit_is_refused_never_ignored(client, people):
    person = await people.add()
    key = await people.key(person, Permission.LINKS_READ)
    token = person.token
    refused: list[list[tuple[str, str]]] = [
        [("authorization", f"Basic {token}")],
        [("authorization", "Basic YWRhQGV4YW1wbGUuY29tOmNvcnJlY3Q=")],
        [("authorization", token)],
        [("authorization", key)],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", "")],
        [("authorization", f"Token {token}")],
        [("authorization", f"Bearer {token} {token}")],
        [("authorization", f"Bearer {token}, Bearer {token}")],
        [("authorization", f"Bearer: {token}")],
        [("x-api-key", token)],
        [("x-api-key", "")],
        [("x-api-key", f"Bearer {key}")],
        [("authorization", f"Bearer {token}"), ("authorization", f"Bearer {token}")],
        [("authorization", f"Bearer {token}"), ("x-api-key", key)],
        [("x-api-key", key), ("x-api-key", key)],
        [("authorization", "Bearer nonsense"), ("cookie", f"kurz={token}")],
        [("x-api-key", "kurz_nonsense"), ("cookie", f"kurz={token}")],
        [("cookie", "kurz=nonsense")],
        [("cookie", "kurz=")],
        [("cookie", f"__Host-kurz={token}")],
        [("cookie", f"KURZ={token}")],
        [("cookie", f"other={token}")],
    ]
    for headers in refused:
        answer = await client.get(ME, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
    accepted: list[list[tuple[str, str]]] = [
        [("authorization", f"Bearer {token}")],
        [("authorization", f"bearer {token}")],
        [("authorization", f"BEARER   {token}  ")],
        [("authorization", f"Bearer {key}")],
        [("x-api-key", key)],
        [("cookie", f"kurz={token}")],
        [("cookie", f"a=b; kurz={token}; c=d")],
        [("authorization", f"Bearer {token}"), ("cookie", "kurz=nonsense")],
    ]
    for headers in accepted:
        assert (await client.get(ME, headers=headers)).status_code == 200, headers


async def test_a_credential_in_the_address_opens_nothing(client, people):
    person = await people.add()
    key = await people.key(person, *Permission)
    for name in ("key", "api_key", "apikey", "x-api-key", "token", "access_token", "authorization"):
        for value in (key, person.token, f"Bearer {key}"):
            answer = await client.get(ME, params={name: value})
            assert answer.status_code == 401
    answer = await client.get(f"http://ada:{key}@kurz.test{ME}")
    assert answer.status_code == 401


async def test_a_refused_credential_is_not_treated_as_nobodys(client, kurz):
    """Else somebody whose token has ended would make an anonymous link and not notice."""
    before = await everything(kurz)
    body = {"original_url": "https://example.com/"}
    for headers in (bearer("nonsense"), {"x-api-key": "kurz_x"}, cookie("nonsense")):
        own = headers | {"origin": "http://kurz.test"}
        assert (await client.post("/api/v1/links", json=body, headers=own)).status_code == 401
    assert await everything(kurz) == before


async def test_a_bearer_beside_a_cookie_is_the_one_that_counts(client, people):
    one, other = await people.add(), await people.add()
    headers = one.headers | cookie(other.token)
    assert (await client.get(ME, headers=headers)).json()["id"] == one.id
    # No page of another site can add that header, so where it is, there is no forgery.
    body = {"name": "x", "scopes": ["links:read"]}
    made = await client.post("/api/v1/keys", json=body, headers=headers)
    assert made.status_code == 201
    keys = (await client.get("/api/v1/keys", headers=one.headers)).json()["keys"]
    assert [key["id"] for key in keys] == [made.json()["id"]]


# Cookies


def attributes(answer: httpx2.Response) -> tuple[str, str, set[str]]:
    header, *_ = answer.headers.get_list("set-cookie")  # after it comes the device's
    first, *rest = header.split("; ")
    name, _, value = first.partition("=")
    return name, value, set(rest)


async def test_a_cookie_is_for_this_host_and_no_script(connect, people):
    client = await connect()
    await people.add(EMAIL)
    answer = await sign_in(client, as_cookie=True)
    name, token, rest = attributes(answer)
    assert name == "kurz"
    assert rest == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=86400"}
    assert answer.json()["token"] is None
    assert token not in answer.text
    client.cookies.clear()
    assert await status_of(client, cookie(token)) == 200
    out = await client.post(f"{AUTH}/sign-out", headers=cookie(token, origin="http://kurz.test"))
    assert out.status_code == 204
    assert attributes(out) == (
        "kurz",
        "",
        {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=0"},
    )
    assert await status_of(client, cookie(token)) == 401


async def test_whoever_comes_by_a_page_is_signed_in_there(client, people, kurz):
    setup_token, _ = await kurz.passes.make_setup()
    by_setup = {"token": setup_token, **credentials("admin@example.com")}
    made = await client.post(f"{AUTH}/setup", json=by_setup | {"as_cookie": True})
    assert made.status_code == 201, made.text
    registered = await register(client, as_cookie=True)
    assert registered.status_code == 201
    person = await people.add()
    reset_token, _ = await kurz.passes.make_reset(person.id, None)
    body = {"token": reset_token, "password": OTHER_PASSWORD, "as_cookie": True}
    reset = await client.post(f"{AUTH}/reset", json=body)
    assert reset.status_code == 200, reset.text
    client.cookies.clear()
    for answer in (made, registered, reset):
        name, token, rest = attributes(answer)
        assert name == "kurz"
        assert rest == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=86400"}
        assert answer.json()["token"] is None
        assert token not in answer.text
        me = await client.get(ME, headers=cookie(token))
        assert me.json()["email"] == answer.json()["account"]["email"]


@pytest.mark.parametrize("way", ["TLS", "trusted proxy"])
async def test_over_tls_a_cookie_never_leaves_it(connect, people, way):
    origin = "https://kurz.test" if way == "TLS" else "http://kurz.test"
    client = await connect(origin)
    forwarded = {} if way == "TLS" else {"x-forwarded-proto": "https"}
    await people.add(EMAIL)
    answer = await client.post(
        f"{AUTH}/sign-in", json=credentials(as_cookie=True), headers=forwarded
    )
    name, token, rest = attributes(answer)
    assert name == "__Host-kurz"
    assert rest == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=86400", "Secure"}
    client.cookies.clear()
    good = {"cookie": f"__Host-kurz={token}"} | forwarded
    assert await status_of(client, good) == 200
    assert await status_of(client, cookie(token) | forwarded) == 401  # anybody could set that one
    foreign = good | {"origin": "http://kurz.test"}
    out = await client.post(f"{AUTH}/sign-out", headers=foreign)
    assert_problem(out, 403, "request-forged")
    out = await client.post(f"{AUTH}/sign-out", headers=good | {"origin": "https://kurz.test"})
    assert out.status_code == 204
    assert attributes(out)[0] == "__Host-kurz"
    assert "Secure" in attributes(out)[2]


async def test_a_stranger_cannot_say_that_it_was_tls(connect, people):
    client = await connect(peer="203.0.113.9")
    await people.add(EMAIL)
    answer = await client.post(
        f"{AUTH}/sign-in",
        json=credentials(as_cookie=True),
        headers={"x-forwarded-proto": "https"},
    )
    assert attributes(answer)[0] == "kurz"
    assert "Secure" not in attributes(answer)[2]


OWN = "http://kurz.test"
FORGED: list[dict[str, str]] = [
    {},
    {"origin": ""},
    {"origin": "null"},
    {"origin": "https://evil.example"},
    {"origin": "https://kurz.test"},
    {"origin": "http://kurz.test:8080"},
    {"origin": "http://kurz.test.evil.example"},
    {"origin": "http://evil.kurz.test"},
    {"origin": "http://kurz.test/"},
    {"origin": "http://kurz.test, https://evil.example"},
    {"origin": "kurz.test"},
    {"referer": "http://kurz.test/app"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": ""},
    {"sec-fetch-site": "Same-Origin"},
    {"sec-fetch-site": "same-origin, cross-site"},
    {"sec-fetch-site": "cross-site", "origin": OWN},
    {"sec-fetch-site": "same-site", "origin": OWN},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    {"sec-fetch-site": "none", "origin": "https://evil.example"},
    {"sec-fetch-site": "none", "origin": "null"},
]
HONEST: list[dict[str, str]] = [
    {"origin": OWN},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
    {"sec-fetch-site": "same-origin", "origin": OWN},
]


async def test_another_sites_page_cannot_act_with_a_cookie(client, people, kurz):
    admin = await people.add(is_admin=True)
    other = await people.add()
    await people.key(admin, Permission.LINKS_READ)
    (key,) = await kurz.keys.list(admin.id)
    workspace = await people.workspace(admin, "team")
    link = await client.post(
        "/api/v1/links", json={"original_url": "https://example.com/"}, headers=admin.headers
    )
    acts: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", "/api/v1/keys", {"name": "x", "scopes": ["admin"]}),
        ("POST", "/api/v1/links", {"original_url": "https://example.com/forged"}),
        ("POST", f"{AUTH}/sign-out", None),
        ("POST", f"{AUTH}/password", {"old_password": PASSWORD, "new_password": OTHER_PASSWORD}),
        ("POST", "/api/v1/admin/invitations", None),
        ("PATCH", f"/api/v1/admin/accounts/{other.id}", {"is_admin": True}),
        ("PATCH", f"/api/v1/links/{link.json()['id']}", {"title": "forged"}),
        ("PUT", f"/api/v1/admin/workspaces/{workspace.id}/quota", {"links_per_month": 1}),
        ("DELETE", f"/api/v1/keys/{key.id}", None),
        ("DELETE", f"/api/v1/links/{link.json()['id']}", None),
        ("DELETE", ME, {"password": PASSWORD}),
    ]
    before = await everything(kurz)
    for forged, (method, path, body) in itertools.product(FORGED, acts):
        headers = cookie(admin.token) | forged
        answer = await client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 403, (forged, method, path)
        assert_problem(answer, 403, "request-forged")
    text = cookie(admin.token) | {"content-type": "text/plain"}
    for forged in FORGED:
        answer = await client.post("/", content="https://example.com/x", headers=text | forged)
        assert answer.status_code == 403, forged
    assert await everything(kurz) == before
    for headers in (*FORGED, *HONEST):  # looking is no act
        answer = await client.get(ME, headers=cookie(admin.token) | headers)
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        assert "access-control-allow-credentials" not in answer.headers
    assert await everything(kurz) == before


async def test_our_own_pages_can_act_with_a_cookie(client, people, kurz):
    person = await people.add()
    for honest in HONEST:
        body = {"name": "x", "scopes": ["links:read"]}
        made = await client.post("/api/v1/keys", json=body, headers=cookie(person.token) | honest)
        assert made.status_code == 201, honest
        gone = await client.delete(
            f"/api/v1/keys/{made.json()['id']}", headers=cookie(person.token) | honest
        )
        assert gone.status_code == 204


async def test_a_form_of_another_site_cannot_sign_anybody_in(client, people):
    await people.add(EMAIL)
    body = json.dumps(credentials(as_cookie=True))
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await client.post(
            f"{AUTH}/sign-in", content=body, headers={"content-type": media_type}
        )
        assert answer.status_code == 415
        assert "set-cookie" not in answer.headers
    preflight = await client.options(
        f"{AUTH}/sign-in",
        headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
    )
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize(
    ("way", "more", "are_ended"),
    [
        ("reset", {}, True),
        ("reset", {"ends_keys": False}, False),
        ("change", {}, False),
        ("change", {"ends_keys": True}, True),
    ],
)
async def test_a_new_password_ends_keys_where_it_should_but_none_of_a_workspace(
    client, people, kurz, way, more, are_ended
):
    person, other = await people.add(), await people.add()
    team = await people.workspace(person)
    own = await people.key(person, Permission.LINKS_READ)
    of_team = await people.key(person, Permission.LINKS_READ, workspace_id=team.id)
    others = await people.key(other, Permission.LINKS_READ)
    if way == "reset":
        token, _ = await kurz.passes.make_reset(person.id, None)
        body = {"token": token, "password": OTHER_PASSWORD} | more
        answer = await client.post(f"{AUTH}/reset", json=body)
    else:
        body = {"old_password": PASSWORD, "new_password": OTHER_PASSWORD} | more
        answer = await client.post(f"{AUTH}/password", json=body, headers=person.headers)
    assert answer.status_code == 200, answer.text
    assert await status_of(client, person.headers) == 401
    statuses = [await status_of(client, {"x-api-key": key}) for key in (own, of_team, others)]
    assert statuses == [401 if are_ended else 200, 200, 200]


async def test_a_page_that_changes_its_password_never_sees_the_token(client, people):
    person = await people.add("ada@example.com")
    client.cookies.set("kurz", person.token)
    answer = await client.post(
        "/api/v1/auth/password",
        json={"old_password": PASSWORD, "new_password": "another horse battery"},
        headers={"sec-fetch-site": "same-origin"},
    )
    assert answer.status_code == 200
    assert answer.json()["token"] is None
    assert answer.headers["set-cookie"].startswith("kurz=")


async def test_an_address_that_anybody_registered_is_not_made_the_administrators(kurz, people):
    squatter = await people.add("admin@example.com")
    settings = replace(
        kurz.settings, admin_email="admin@example.com", admin_password="a fine long passphrase"
    )
    with pytest.raises(SettingRefused, match="kurz admin promote"):
        await make_first_admin(replace(kurz, settings=settings))
    assert not (await kurz.accounts.get(squatter.id)).is_admin
