"""The first administrator: the set-up link, and several instances that start together."""

import asyncio
from dataclasses import replace

import pytest

from kurz.errors import SettingRefused
from kurz.people.errors import EmailTaken
from kurz.wiring.core import make_first_admin
from support.accounts import AUTH, EMAIL, PUBLIC_URL, assert_problem, bearer, credentials, register
from support.people import PASSWORD


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
    token, _ = await kurz.one_time_tokens.invite(None)
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
        assert_problem(refused, 422, "one-time-link-refused")
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
    assert_problem(refused, 422, "one-time-link-refused")
    made = await client.post(f"{AUTH}/setup", json=credentials(token=tokens.pop(chosen)))
    assert made.status_code == 201
    late = credentials("late@example.com", token=tokens.pop())
    assert_problem(await client.post(f"{AUTH}/setup", json=late), 422, "one-time-link-refused")
    assert len(await public_kurz.accounts.list()) == 1


async def test_of_two_set_up_links_at_once_one_makes_an_administrator(connect, public_kurz):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL)
    tokens = [await make_first_admin(public_kurz) for _ in range(2)]
    calls = [
        client.post(f"{AUTH}/setup", json=credentials(f"admin{n}@example.com", token=token))
        for n, token in enumerate(tokens)
    ]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [201, 422]
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
    assert_problem(refused, 422, "one-time-link-refused")
    token = await make_first_admin(public_kurz)
    await public_kurz.accounts.create_admin("cli@example.com", PASSWORD)
    refused = await client.post(f"{AUTH}/setup", json=credentials(token=token))
    assert_problem(refused, 422, "one-time-link-refused")
    assert len(await public_kurz.accounts.list()) == 1


async def test_an_address_that_anybody_registered_is_not_made_the_administrators(kurz, people):
    squatter = await people.add("admin@example.com")
    settings = replace(
        kurz.settings, admin_email="admin@example.com", admin_password="a fine long passphrase"
    )
    with pytest.raises(SettingRefused, match="kurz admin promote"):
        await make_first_admin(replace(kurz, settings=settings))
    assert not (await kurz.accounts.get(squatter.id)).is_admin
