"""How long tokens and keys work, and what ends them on every instance."""

import pytest

from kurz.people.access import Permission
from kurz.people.errors import CredentialRefused
from kurz.people.identity import Identity
from kurz.wiring.core import Kurz
from support.accounts import AUTH, ME, OTHER_PASSWORD, assert_problem, bearer, status_of
from support.engines import usually_on
from support.forged_tokens import FORGERIES, Forger
from support.people import PASSWORD, People, Person


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
    token, _ = await kurz.one_time_tokens.make_reset(person.id, None)
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
    key = people.tokens._keys[0].raw_value
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


@pytest.mark.parametrize(
    ("way", "more", "are_ended"),
    [
        ("reset", {}, True),
        ("reset", {"revoke_keys": False}, False),
        ("change", {}, False),
        ("change", {"revoke_keys": True}, True),
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
        token, _ = await kurz.one_time_tokens.make_reset(person.id, None)
        body = {"token": token, "password": OTHER_PASSWORD} | more
        answer = await client.post(f"{AUTH}/reset", json=body)
    else:
        body = {"old_password": PASSWORD, "new_password": OTHER_PASSWORD} | more
        answer = await client.post(f"{AUTH}/password", json=body, headers=person.headers)
    assert answer.status_code == 200, answer.text
    assert await status_of(client, person.headers) == 401
    statuses = [await status_of(client, {"x-api-key": key}) for key in (own, of_team, others)]
    assert statuses == [401 if are_ended else 200, 200, 200]
