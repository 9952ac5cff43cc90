"""Invitations and links that reset a password."""

import asyncio

from support.accounts import (
    AUTH,
    EMAIL,
    OTHER_PASSWORD,
    PUBLIC_URL,
    assert_problem,
    bearer,
    credentials,
    everything,
    register,
    sign_in,
    status_of,
)


async def test_by_invitation_an_account_is_made_once(connect, people, clock, kurz):
    client = await connect(access="private")
    admin = await people.add(is_admin=True)
    assert_problem(await register(client), 403, "registration-closed")
    made = await client.post("/api/v1/admin/invitations", headers=admin.headers)
    assert made.status_code == 201
    token = made.json()["token"]
    assert made.json()["url"].endswith(f"/app/join#{token}")
    for wrong in ("", token + "x", token.lower(), "\0"):
        assert_problem(await register(client, invitation=wrong), 422, "one-time-link-refused")
    calls = [register(client, email=f"p{n}@example.com", invitation=token) for n in range(4)]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422]
    assert not any('is_admin":true' in answer.text for answer in answers)
    assert len(await kurz.accounts.list()) == 2
    late, _ = await kurz.one_time_tokens.invite(None)
    clock.advance(days=7)
    refused = await register(client, email="late@example.com", invitation=late)
    assert_problem(refused, 422, "one-time-link-refused")


async def test_an_invitation_that_fails_for_another_reason_still_works(connect, people, kurz):
    client = await connect(access="private")
    await people.add(EMAIL, is_admin=True)
    token, _ = await kurz.one_time_tokens.invite(None)
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
    assert_problem(await register(client, invitation=made["token"]), 422, "one-time-link-refused")


async def test_a_one_time_link_works_for_its_purpose_only(connect, people, kurz, public_kurz):
    client = await connect(PUBLIC_URL, base_url=PUBLIC_URL, access="private")
    person = await people.add(EMAIL)
    setup, _ = await kurz.one_time_tokens.make_setup()
    reset, _ = await kurz.one_time_tokens.make_reset(person.id, None)
    invitation, _ = await kurz.one_time_tokens.invite(None)
    before = await everything(kurz)
    new = {"email": "eve@example.com"}
    for token in (setup, reset):
        assert_problem(
            await register(client, **new, invitation=token), 422, "one-time-link-refused"
        )
        body = {"token": token}
        joined = await client.post("/api/v1/invitations/accept", json=body, headers=person.headers)
        assert_problem(joined, 422, "one-time-link-refused")
    for token in (setup, invitation):
        body = {"token": token, "password": OTHER_PASSWORD}
        assert_problem(await client.post(f"{AUTH}/reset", json=body), 422, "one-time-link-refused")
    for token in (reset, invitation):
        body = credentials(**new, token=token)
        assert_problem(await client.post(f"{AUTH}/setup", json=body), 422, "one-time-link-refused")
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
    assert_problem(await client.post(f"{AUTH}/reset", json=body), 422, "one-time-link-refused")
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
    token, _ = await kurz.one_time_tokens.make_reset(person.id, None)
    clock.advance(hours=23, minutes=59, seconds=59)
    clock.advance(seconds=1)
    body = {"token": token, "password": OTHER_PASSWORD}
    assert_problem(await client.post(f"{AUTH}/reset", json=body), 422, "one-time-link-refused")
    assert (await sign_in(client)).status_code == 200
