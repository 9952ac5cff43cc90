"""Browsers that have signed in before, while strangers flood sign-ins."""

import asyncio
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from kurz.api.http.devices import asker_of
from kurz.people.limits import LIMITS, LimitClass
from kurz.rates import Rate
from support.engines import redis_in_the_long_run
from support.people import PASSWORD
from support.sign_ins import fill_lines

engine = redis_in_the_long_run

AUTH = "/api/v1/auth"
EMAIL = "ada@example.com"
WRONG = "another horse, another battery"
DEVICE = re.compile(
    r"^kurz-device=([^;]+); Path=/api; HttpOnly; SameSite=Strict; Max-Age=15552000$"
)


def device_of(answer: httpx2.Response) -> str:
    found = [DEVICE.match(cookie) for cookie in answer.headers.get_list("set-cookie")]
    [match] = [match for match in found if match]
    return match[1]


class Door:
    """Sign-ins from addresses of choice, with a device's cookie or without."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def knock(
        self, address: str, password: str = PASSWORD, *, email: str = EMAIL, device: str = ""
    ) -> httpx2.Response:
        self._client.cookies.clear()
        headers = {"x-forwarded-for": address}
        if device:
            headers["cookie"] = f"other=1; kurz-device=junk; kurz-device={device}"
        body: dict[str, Any] = {"email": email, "password": password, "as_cookie": True}
        return await self._client.post(f"{AUTH}/sign-in", json=body, headers=headers)

    async def exhaust(self, address: str) -> None:
        """All tries that strangers have for the account, and this address for itself."""
        for _ in range(30):
            if (await self.knock(address, WRONG)).status_code == 429:
                return
        raise AssertionError("nothing was refused")


@pytest.fixture
async def door(connect, people) -> Door:
    await people.add(EMAIL)
    return Door(await connect(rate_limits="on"))


async def test_a_stranger_does_not_use_up_the_tries_of_a_known_device(door, people):
    await people.add("bob@example.com")
    device = device_of(await door.knock("192.0.2.1"))
    others = device_of(await door.knock("192.0.2.2", email="bob@example.com"))
    await door.exhaust("203.0.113.9")
    for cookie in ("", others, device[:-1], device.replace("1.", "2.", 1)):
        answer = await door.knock("203.0.113.9", device=cookie)
        assert answer.status_code == 429
        assert answer.json()["type"] == "/api/problems/too-many-requests"
    assert (await door.knock("203.0.113.9", device=device)).status_code == 200
    # The cookie of one account is nothing for another one.
    for _ in range(20):
        await door.knock("198.51.100.7", WRONG, email="bob@example.com", device=device)
    refused = await door.knock("198.51.100.7", email="bob@example.com", device=device)
    assert refused.status_code == 429
    assert (await door.knock("198.51.100.7", device=device)).status_code == 200


async def test_a_newcomer_has_two_tries_where_strangers_used_up_all(door):
    await door.exhaust("203.0.113.9")
    assert (await door.knock("192.0.2.1", WRONG)).status_code == 401
    assert (await door.knock("192.0.2.1")).status_code == 200
    assert (await door.knock("192.0.2.1")).status_code == 429


async def test_a_known_device_has_a_budget_of_its_own(door):
    device = device_of(await door.knock("192.0.2.1"))
    count = LIMITS[LimitClass.SIGN_IN_DEVICE][0].rate.count
    answers = [await door.knock("192.0.2.1", WRONG, device=device) for _ in range(count + 3)]
    statuses = [answer.status_code for answer in answers]
    assert statuses[:count] == [401] * count
    assert statuses[-1] == 429
    assert answers[-1].headers["ratelimit-policy"].startswith('"sign-in-device"')
    assert (await door.knock("192.0.2.1")).status_code == 200  # others have theirs


async def test_the_networks_of_one_ipv6_site_share_their_newcomers_tries(door):
    await door.exhaust("203.0.113.9")
    assert (await door.knock("2001:db8:1:1::1", WRONG)).status_code == 401
    assert (await door.knock("2001:db8:1:2::1", WRONG)).status_code == 401
    assert (await door.knock("2001:db8:1:3::1")).status_code == 429
    assert (await door.knock("2001:db8:2:1::1")).status_code == 200


def test_the_networks_of_one_ipv6_site_share_their_turns():
    def site_of(address: str) -> str:
        return asker_of(Request({"type": "http", "kurz.client": address})).address

    assert site_of("2001:db8:1:1::1") == site_of("2001:db8:1:2::1") != site_of("2001:db8:2::1")
    assert site_of("192.0.2.1") != site_of("192.0.2.2")


async def test_newcomers_together_have_a_total_for_an_account(connect, people):
    await people.add(EMAIL)
    await people.add("bob@example.com")
    door = Door(await connect(rate_limits="on", limit_sign_in_newcomer_total=Rate(3, 86_400)))
    device = device_of(await door.knock("192.0.2.1"))
    await door.exhaust("203.0.113.9")  # two of the three
    assert (await door.knock("203.0.113.9", WRONG)).status_code == 429  # takes none of the total
    assert (await door.knock("192.0.2.2", WRONG)).status_code == 401
    refused = await door.knock("192.0.2.3")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) <= 12  # that of the account, not of the total
    assert (await door.knock("192.0.2.3", device=device)).status_code == 200
    assert (await door.knock("192.0.2.3", email="bob@example.com")).status_code == 200


async def test_an_address_has_a_limit_for_all_its_known_devices(connect, people):
    """Else one that registers many accounts takes all turns that are for known devices."""
    emails = [f"{number}@example.com" for number in range(4)]
    persons = [await people.add(email) for email in emails]
    client = await connect(rate_limits="on", limit_sign_in_known=Rate(3, 3600))
    door = Door(client)
    devices = [device_of(await door.knock("192.0.2.1", email=email)) for email in emails]

    async def knock(address: str, number: int) -> httpx2.Response:
        return await door.knock(address, email=emails[number], device=devices[number])

    async def delete(address: str, number: int) -> Any:
        headers = persons[number].headers | {"x-forwarded-for": address}
        body = {"password": WRONG}
        return await client.request("DELETE", "/api/v1/me", json=body, headers=headers)

    assert (await delete("203.0.113.9", 3)).status_code == 401
    assert [(await knock("203.0.113.9", number)).status_code for number in (0, 1)] == [200, 200]
    for refused in (await knock("203.0.113.9", 2), await delete("203.0.113.9", 2)):
        assert refused.status_code == 429
        assert refused.headers["ratelimit-policy"].startswith('"sign-in-known"')
    assert (await knock("192.0.2.1", 2)).status_code == 200


async def test_a_new_password_ends_what_devices_are_known_by(door, kurz):
    device = device_of(await door.knock("192.0.2.1"))
    account = await kurz.accounts.get_by_email(EMAIL)
    token, _ = await kurz.one_time_tokens.make_reset(account.id, None)
    await kurz.accounts.reset_password(token, "a third horse, a third battery")
    await door.exhaust("203.0.113.9")
    refused = await door.knock("203.0.113.9", "a third horse, a third battery", device=device)
    assert refused.status_code == 429


async def test_only_pages_get_the_cookie_and_only_where_pages_are(
    connect, people, add_workspace, add_domain
):
    await people.add(EMAIL)
    body = {"email": EMAIL, "password": PASSWORD}
    plain = await (await connect()).post(f"{AUTH}/sign-in", json=body)
    assert (plain.status_code, plain.headers.get_list("set-cookie")) == (200, [])
    await add_domain("go.example.com", await add_workspace("team"))
    addresses = {"base_url": "https://s.example", "dashboard_url": "https://app.example"}
    for host in ("s.example", "go.example.com"):
        client = await connect(f"https://{host}", **addresses)
        refused = await client.post(f"{AUTH}/sign-in", json=body | {"as_cookie": True})
        assert refused.status_code in (403, 405)
        assert refused.headers.get_list("set-cookie") == []
    client = await connect("https://app.example", **addresses)
    session, device = (
        await client.post(f"{AUTH}/sign-in", json=body | {"as_cookie": True})
    ).headers.get_list("set-cookie")
    assert session.startswith("__Host-kurz=")
    assert device.startswith("__Secure-kurz-device=")
    assert "; HttpOnly; SameSite=Strict; " in device
    assert device.endswith("; Secure")
    assert "domain" not in device.lower()


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_known_device_gets_its_turn_while_every_place_is_taken(door, kurz, connect):
    device = device_of(await door.knock("192.0.2.1"))
    gate = threading.Event()
    kept = Door(await connect())
    work = [asyncio.create_task(run) for run in fill_lines(kurz, gate)]
    await asyncio.sleep(0)
    busy = await kept.knock("192.0.2.1")
    assert (busy.status_code, busy.json()["type"]) == (503, "/api/problems/sign-in-busy")
    waiting = asyncio.create_task(kept.knock("192.0.2.1", device=device))
    await asyncio.sleep(0.05)
    gate.set()
    assert (await waiting).status_code == 200
    await asyncio.gather(*work)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_one_time_links_work_while_every_place_is_taken(kurz, people, client):
    person = await people.add(EMAIL)
    reset, _ = await kurz.one_time_tokens.make_reset(person.id, None)
    set_up, _ = await kurz.one_time_tokens.make_setup()
    gate = threading.Event()
    work = [asyncio.create_task(run) for run in fill_lines(kurz, gate)]
    await asyncio.sleep(0)

    async def post(path: str, **body: Any) -> Any:
        return await client.post(f"{AUTH}/{path}", json={"password": WRONG, **body})

    waiting = [
        asyncio.create_task(post("reset", token=reset)),
        asyncio.create_task(post("setup", token=set_up, email="bob@example.com")),
    ]
    await asyncio.sleep(0.05)
    gate.set()
    assert [(await answer).status_code for answer in waiting] == [200, 201]
    await asyncio.gather(*work)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_somebody_signed_in_changes_the_password_whatever_strangers_try(door, people, kurz):
    person = people.sign_in(await kurz.accounts.get_by_email(EMAIL))
    await door.exhaust("203.0.113.9")
    body = {"old_password": PASSWORD, "new_password": WRONG}
    headers = person.headers | {"x-forwarded-for": "203.0.113.9"}
    changed = await door._client.post(f"{AUTH}/password", json=body, headers=headers)
    assert changed.status_code == 200


# The flood itself

ADDRESSES = 24
TRIES_A_MINUTE = 19


@pytest.mark.long
@pytest.mark.deadlines
@pytest.mark.timeout(300)
@pytest.mark.parametrize("target", [EMAIL, "nobody@example.com"])
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_flood_from_24_addresses_keeps_nobody_out(start_program, environment, target):
    program = start_program(**environment, KURZ_RATE_LIMITS="on")
    program.set_up(EMAIL, PASSWORD)
    is_over = threading.Event()

    def flood(number: int) -> None:
        headers = {"x-forwarded-for": f"203.0.113.{number}"}
        body = {"email": target, "password": WRONG}
        with program.client(headers=headers) as client:
            is_over.wait(60 / TRIES_A_MINUTE * number / ADDRESSES)
            while not is_over.wait(60 / TRIES_A_MINUTE):
                pool.submit(client.post, f"{AUTH}/sign-in", json=body)

    def sign_in(client: httpx2.Client, address: str) -> float:
        body = {"email": EMAIL, "password": PASSWORD, "as_cookie": True}
        started = time.monotonic()
        while True:
            headers = {"x-forwarded-for": address}
            answer = client.post(f"{AUTH}/sign-in", json=body, headers=headers)
            if answer.status_code == 200:
                return time.monotonic() - started
            assert time.monotonic() - started < 30, answer.text
            time.sleep(float(answer.headers["retry-after"]))

    with ThreadPoolExecutor(600) as pool, program.client() as known, program.client() as new:
        sign_in(known, "192.0.2.1")
        floods = [threading.Thread(target=flood, args=(n,)) for n in range(ADDRESSES)]
        for thread in floods:
            thread.start()
        try:
            time.sleep(20)  # the line fills
            took = [sign_in(known, "192.0.2.1") for _ in range(20)]
            newcomer = sign_in(new, "198.51.100.1")
        finally:
            is_over.set()
            for thread in floods:
                thread.join()
    print(f"known: at most {max(took):.2f} s; new: {newcomer:.2f} s")
    assert max(took) < 3
    assert newcomer < 30
