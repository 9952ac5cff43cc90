"""`Idempotency-Key`: a request that is sent again gets the first answer, and does nothing more."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.bootstrap import Kurz
from kurz.links.model import Draft, Status
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt
from kurz.storage.schema import (
    domains,
    history,
    keys,
    link_tags,
    links,
    passes,
    receipts,
    usage,
    workspaces,
)
from support.engines import redis_in_the_long_run, usually_on
from support.long_run import in_the_long_run
from support.people import People, Person

# Nobody follows a link here; receipts are in the database.
engine = redis_in_the_long_run

URL = "https://example.com/page"
KEY = {"idempotency-key": "5c6b9f1e-7d3a"}
LINKS = "/api/v1/links"
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


@dataclass(frozen=True)
class Way:
    """A way to make something: `sent` makes it, `other` would make something else; `another` is a
    path that takes the same body. `makes` is how many rows of `table` come of it."""

    path: str
    sent: dict[str, Any]
    other: dict[str, Any]
    table: sa.Table
    another: str | None = None
    is_anonymous: bool = False
    makes: int = 1


def _json(**body: Any) -> dict[str, Any]:
    return {"json": body}


_WORKSPACE = "/api/v1/workspaces/{workspace}"
_OTHER_WORKSPACE = "/api/v1/workspaces/{other_workspace}"
_MANY = _json(
    items=[
        {"act": "create", "link": {"original_url": f"{URL}/1", "tags": ["a"]}},
        {"act": "create", "link": {"original_url": "ftp://example.com"}},
        {"act": "create", "link": {"original_url": f"{URL}/2", "custom_code": "chosen"}},
    ]
)
_FEWER = _json(items=_MANY["json"]["items"][:2])

WAYS = {
    "a stranger's link": Way(
        LINKS,
        _json(original_url=URL),
        _json(original_url=f"{URL}/2"),
        links,
        is_anonymous=True,
    ),
    "a stranger's URL": Way(
        "/api/urls/public",
        _json(originalUrl=URL),
        _json(originalUrl=f"{URL}/2"),
        links,
        is_anonymous=True,
    ),
    "a stranger's text": Way(
        "/", {"content": URL}, {"content": f"{URL}/2"}, links, is_anonymous=True
    ),
    "a link": Way(
        LINKS,
        _json(original_url=URL, tags=["a"], max_clicks=3),
        _json(original_url=URL, tags=["b"], max_clicks=3),
        links,
        f"{_WORKSPACE}/links",
    ),
    "a URL": Way("/api/urls", _json(originalUrl=URL), _json(originalUrl=URL + "2"), links),
    "a text": Way("/", {"content": URL}, {"content": f"{URL}/2"}, links),
    "a workspace's link": Way(
        f"{_WORKSPACE}/links",
        _json(original_url=URL),
        _json(original_url=URL, title="x"),
        links,
        f"{_OTHER_WORKSPACE}/links",
    ),
    "a custom code": Way(
        f"{_WORKSPACE}/links",
        _json(original_url=URL, custom_code="chosen"),
        _json(original_url=URL, custom_code="other"),
        links,
        f"{_OTHER_WORKSPACE}/links",
    ),
    "many links": Way(f"{LINKS}/bulk", _MANY, _FEWER, links, f"{_WORKSPACE}/links/bulk", makes=2),
    "a workspace's many": Way(
        f"{_WORKSPACE}/links/bulk", _MANY, _FEWER, links, f"{LINKS}/bulk", makes=2
    ),
    "a key": Way(
        "/api/v1/keys",
        _json(name="script", scopes=["links:read"]),
        _json(name="script", scopes=["links:write"]),
        keys,
    ),
    "a workspace": Way(
        "/api/v1/workspaces",
        _json(name="New", slug="new"),
        _json(name="New", slug="newer"),
        workspaces,
    ),
    "an invitation": Way(
        f"{_WORKSPACE}/invitations",
        _json(role="editor"),
        _json(role="owner"),
        passes,
        f"{_OTHER_WORKSPACE}/invitations",
    ),
    "an invitation to kurz": Way(
        "/api/v1/admin/invitations",
        {},
        {"content": " "},
        passes,
        "/api/v1/admin/accounts/{account}/reset-link",
    ),
    "a reset link": Way(
        "/api/v1/admin/accounts/{account}/reset-link",
        {},
        {"content": " "},
        passes,
        "/api/v1/admin/accounts/{other_account}/reset-link",
    ),
    "a domain": Way(
        f"{_WORKSPACE}/domains",
        _json(host="go.example.com"),
        _json(host="to.example.com"),
        domains,
        f"{_OTHER_WORKSPACE}/domains",
    ),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=[*WAYS])


@dataclass
class World:
    """An administrator with two workspaces, and what fills the places of a path."""

    kurz: Kurz
    client: httpx2.AsyncClient
    owner: Person
    places: dict[str, int]
    before: Counter[str]

    async def send(
        self,
        way: Way,
        headers: dict[str, str] | None = None,
        *,
        client: httpx2.AsyncClient | None = None,
        who: dict[str, str] | None = None,
    ) -> httpx2.Response:
        if who is None:
            who = {} if way.is_anonymous else self.owner.headers
        path = way.path.format(**self.places)
        sent = {**who, **(KEY if headers is None else headers)}
        return await (client or self.client).post(path, headers=sent, **way.sent)

    async def made(self, table: sa.Table) -> int:
        return await count(self.kurz, table) - self.before[table.name]


@pytest.fixture
async def world(kurz: Kurz, client: httpx2.AsyncClient, people: People) -> World:
    owner = await people.add(is_admin=True)
    other = await people.add()
    places = {
        "workspace": (await people.workspace(owner)).id,
        "other_workspace": (await people.workspace(owner, "other")).id,
        "account": owner.id,
        "other_account": other.id,
    }
    before = Counter({table.name: await count(kurz, table) for table in (workspaces, domains)})
    return World(kurz, client, owner, places, before)


async def count(kurz: Kurz, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    number: int = await kurz.database.read(lambda it: it.execute(query).scalar_one())
    return number


async def rows(kurz: Kurz, table: sa.Table) -> list[dict[str, Any]]:
    return await kurz.database.read(
        lambda it: [dict(row) for row in it.execute(sa.select(table)).mappings()]
    )


def whole(answer: httpx2.Response) -> tuple[int, bytes, dict[str, str]]:
    """All that a caller sees, but the number of the request and the mark of a replay."""
    own = ("x-request-id", "idempotency-replayed")
    headers = {name: value for name, value in answer.headers.items() if name not in own}
    return answer.status_code, answer.content, headers


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].removeprefix("/api/problems/")


REUSED = (422, "idempotency-key-reused")
IN_FLIGHT = (409, "request-in-flight")


# Every create


@every_way
async def test_a_key_stands_for_one_request_and_its_answer(world, way, clock):
    answers = await asyncio.gather(*(world.send(way) for _ in range(6)))
    first, *others = [answer for answer in answers if answer.status_code < 300]
    assert first.status_code == (200 if "bulk" in way.path else 201)
    assert "idempotency-replayed" not in first.headers
    assert {whole(answer)[1] for answer in others} <= {first.content}
    assert {code_of(answer) for answer in answers if answer.status_code >= 300} <= {IN_FLIGHT}
    for hours in (0, 1, 22):
        clock.advance(hours=hours)
        retry = await world.send(way)
        assert whole(retry) == whole(first)
        assert way.makes == 2 or retry.headers["idempotency-replayed"] == "true"
    assert code_of(await world.send(replace(way, sent=way.other))) == REUSED
    if way.another is not None:
        assert code_of(await world.send(replace(way, path=way.another))) == REUSED
    assert await world.made(way.table) == way.makes


async def test_stored_answers_hold_no_secret_in_clear(world):
    told = set()
    for number, way in enumerate(WAYS.values()):
        key = f"my-own-key-{number}"
        sent = json.loads(json.dumps(way.sent).replace("chosen", key))
        answer = await world.send(replace(way, sent=sent), {"idempotency-key": key})
        assert answer.status_code < 300, answer.text
        told |= set(re.findall(r'"(?:claim_token|claimToken|key|token)":"([^"]+)"', answer.text))
        told |= {key, URL}
    assert len(told) > 2 * 3 + len(WAYS)
    stored = repr(await rows(world.kurz, receipts)).encode()
    raw = b"".join(
        bytes(row[name])
        for row in await rows(world.kurz, receipts)
        for name in ("key_hash", "fingerprint", "answer")
    )
    for secret in told:
        assert secret.encode() not in stored
        assert secret.encode() not in raw


# Many at once


@pytest.mark.parametrize(
    "name", ["a link", *in_the_long_run("a stranger's link", "a workspace's link", "a text")]
)
async def test_fifty_at_once_make_one_link(world, name):
    answers = await asyncio.gather(*(world.send(WAYS[name]) for _ in range(50)))
    good = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.content for answer in good}) == 1
    assert {code_of(answer) for answer in answers if answer not in good} <= {IN_FLIGHT}
    assert await world.made(links) == 1
    assert await count(world.kurz, receipts) == 1


async def test_of_fifty_different_requests_with_one_key_one_is_done(world):
    ways = [replace(WAYS["a link"], sent=_json(original_url=f"{URL}/{n}")) for n in range(50)]
    answers = await asyncio.gather(*(world.send(way) for way in ways))
    assert Counter(answer.status_code for answer in answers)[201] == 1
    allowed = {REUSED, IN_FLIGHT}
    assert {code_of(answer) for answer in answers if answer.status_code != 201} <= allowed
    assert await world.made(links) == 1


@usually_on("postgres")
@pytest.mark.parametrize("name", ["a stranger's link", "a workspace's link", "many links"])
async def test_two_instances_with_one_key_make_one_link(world, connect: Connect, name):
    way = WAYS[name]
    clients = [await connect(log_level="info"), await connect(log_level="info")]
    for number in range(4):
        key = {"idempotency-key": f"round-{number}"}
        sent = json.loads(json.dumps(way.sent).replace(URL, f"{URL}/{number}"))
        sent = json.loads(json.dumps(sent).replace("chosen", f"chosen-{number}"))
        asked = replace(way, sent=sent)
        answers = await asyncio.gather(
            *(world.send(asked, key, client=clients[n % 2]) for n in range(10))
        )
        good = [answer for answer in answers if answer.status_code < 300]
        assert {code_of(answer) for answer in answers if answer not in good} <= {IN_FLIGHT}
        assert len({answer.content for answer in good}) == 1
        assert await world.made(links) == way.makes * (number + 1)


@usually_on("postgres")
async def test_of_two_instances_with_different_bodies_one_is_refused(world, connect: Connect):
    clients = [await connect(log_level="info"), await connect(log_level="info")]
    for number in range(6):
        key = {"idempotency-key": f"round-{number}"}
        ways = [replace(WAYS["a link"], sent=_json(original_url=f"{URL}/{n}")) for n in range(2)]
        answers = await asyncio.gather(
            *(world.send(ways[n], key, client=clients[n]) for n in range(2))
        )
        assert sorted(answer.status_code for answer in answers) == [201, 422]
        assert await world.made(links) == number + 1


# Who asks, and for how long


async def test_another_person_with_the_same_key_makes_another_link(world, people):
    way = WAYS["a link"]
    other = await people.add()
    first = await world.send(way)
    second = await world.send(way, who=other.headers)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["short_code"] != second.json()["short_code"]
    assert "idempotency-replayed" not in second.headers
    assert await world.made(links) == 2


async def test_a_stranger_elsewhere_with_the_same_key_makes_another_link(world, connect: Connect):
    way = WAYS["a stranger's link"]
    first = await world.send(way)
    elsewhere = await world.send(way, client=await connect(peer="203.0.113.9"))
    assert elsewhere.status_code == 201
    assert elsewhere.json()["claim_token"] != first.json()["claim_token"]
    signed_in = await world.send(replace(WAYS["a link"], sent=way.sent))
    assert signed_in.json()["link_type"] == "PERMANENT"
    assert await world.made(links) == 3


async def test_a_person_is_the_same_by_session_and_by_key(world, people):
    from kurz.people.access import Permission

    way = WAYS["a link"]
    first = await world.send(way)
    text = await people.key(world.owner, Permission.LINKS_CREATE)
    retry = await world.send(way, who={"x-api-key": text})
    assert whole(retry) == whole(first)
    assert await world.made(links) == 1


async def test_a_replay_is_for_those_only_who_may_still_make_links(world, people):
    """A key of the same person that may not create gets no stored answer either."""
    from kurz.people.access import Permission

    await world.send(WAYS["a link"])
    text = await people.key(world.owner, Permission.LINKS_READ)
    refused = await world.send(WAYS["a link"], who={"x-api-key": text})
    assert code_of(refused) == (403, "permission-missing")


async def test_an_answer_is_kept_for_24_hours(world, clock):
    way = WAYS["a stranger's link"]
    first = await world.send(way)
    clock.advance(hours=24)
    assert whole(await world.send(way)) == whole(first)
    clock.advance(microseconds=1)
    again = await world.send(way)
    assert again.status_code == 201
    assert "idempotency-replayed" not in again.headers
    assert again.json()["short_code"] != first.json()["short_code"]
    assert await world.made(links) == 2


async def test_a_forgotten_key_may_be_used_for_something_else(world, clock):
    way = WAYS["a stranger's link"]
    await world.send(way)
    clock.advance(hours=24, microseconds=1)
    changed = await world.send(replace(way, sent=way.other))
    assert changed.status_code == 201
    assert whole(await world.send(replace(way, sent=way.other))) == whole(changed)
    assert code_of(await world.send(way)) == REUSED
    assert await count(world.kurz, receipts) == 1


async def test_forgotten_answers_leave_the_store_a_few_at_a_time(world):
    """However many there are, a create never has to wait until all of them are gone."""
    old = [
        {
            "caller": "account:1",
            "key_hash": number.to_bytes(4),
            "fingerprint": b"",
            "answer": b"",
            "created_at": number,
        }
        for number in range(1000)
    ]
    await world.kurz.database.write(lambda it: it.execute(sa.insert(receipts), old))
    way = WAYS["a stranger's link"]
    left = [1000]
    for number in range(12):
        await world.send(way, {"idempotency-key": f"{number}"})
        left.append(await count(world.kurz, receipts) - number - 1)
    steps = [before - after for before, after in pairwise(left)]
    assert left[-1] == 0
    assert max(steps) <= 100


# Failures keep nothing


async def test_a_taken_code_can_be_asked_for_again(world):
    await world.send(WAYS["a custom code"], {})
    await world.kurz.database.write(
        lambda it: it.execute(sa.update(links).values(canonical_url="https://other.example/"))
    )
    taken = await world.send(WAYS["a custom code"])
    assert code_of(taken) == (409, "custom-code-taken")
    assert await count(world.kurz, receipts) == 0
    [held] = await rows(world.kurz, links)
    await world.kurz.database.write(
        lambda it: it.execute(sa.update(links).values(short_code="renamed"))
    )
    assert held["short_code"] == "chosen"
    assert (await world.send(WAYS["a custom code"])).status_code == 201


async def test_a_refused_value_keeps_nothing(world):
    way = WAYS["a link"]
    refused = await world.send(replace(way, sent=_json(original_url="ftp://example.com")))
    assert code_of(refused) == (422, "url-refused")
    refused = await world.send(replace(way, sent=_json(nothing="here")))
    assert code_of(refused) == (422, "request-refused")
    assert await count(world.kurz, receipts) == 0
    assert (await world.send(way)).status_code == 201


async def test_a_used_up_quota_keeps_nothing(world, connect: Connect, clock, people):
    client = await connect(links_per_month=1)
    way = WAYS["a link"]
    assert (await world.send(way, {}, client=client)).status_code == 201
    refused = await world.send(way, client=client)
    assert code_of(refused) == (429, "quota-exceeded")
    assert await count(world.kurz, receipts) == 0
    clock.advance(days=31)
    fresh = people.sign_in(world.owner.account).headers
    assert (await world.send(way, client=client, who=fresh)).status_code == 201


async def test_a_taken_slug_and_a_foreign_domain_keep_nothing(world):
    for way in (WAYS["a workspace"], WAYS["a domain"]):
        taken = way.sent["json"] | {"slug": "team"} if "slug" in way.sent["json"] else None
        sent = {"json": taken} if taken else _json(host="no host at all")
        assert (await world.send(replace(way, sent=sent))).status_code in (409, 422)
        assert await count(world.kurz, receipts) == 0
        assert (await world.send(way)).status_code == 201
        await world.kurz.database.write(lambda it: it.execute(sa.delete(receipts)))


async def _break_receipts(kurz: Kurz) -> None:
    """Makes the last statement of a create fail, after the link has been written."""

    def work(connection: sa.Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(
                "CREATE TRIGGER crash BEFORE INSERT ON receipts"
                " BEGIN SELECT RAISE(ABORT, 'crash'); END"
            )
            return
        connection.exec_driver_sql(
            "CREATE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'crash'; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER crash BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION crash()"
        )

    await kurz.database.write(work)


async def _mend_receipts(kurz: Kurz) -> None:
    def work(connection: sa.Connection) -> None:
        on = "" if connection.dialect.name == "sqlite" else " ON receipts"
        connection.exec_driver_sql(f"DROP TRIGGER crash{on}")

    await kurz.database.write(work)


async def test_a_crash_before_the_commit_leaves_neither_link_nor_receipt(world):
    way = WAYS["a link"]
    await _break_receipts(world.kurz)
    with capture_logs():  # drawing the traceback would take seconds
        assert (await world.send(way)).status_code == 500
    for table in (links, link_tags, history, receipts, usage):
        assert await count(world.kurz, table) == 0
    assert (await world.send(way, {})).status_code == 201  # who sends no key is not concerned
    await _mend_receipts(world.kurz)
    assert (await world.send(way)).status_code == 201
    assert await world.made(links) == 2


async def test_a_crash_spends_no_quota_and_harms_nobody_beside_it(kurz, clock):
    """On SQLite the writes of one moment share a transaction."""

    def crash(_: object) -> bytes:
        raise RuntimeError("crash")

    def receipt(number: int, write: Callable[[Any], bytes]) -> Receipt:
        return Receipt("account:1", bytes([number]), b"", clock.now(), write)

    draft = Draft(original_url=URL, owner_id=1)
    allowances = (Allowance("account:1", 100, 202603),)
    results = await asyncio.gather(
        *(
            kurz.links.create(
                draft,
                allowances=allowances,
                receipt=receipt(number, crash if number % 3 == 0 else lambda _: b"kept"),
            )
            for number in range(9)
        ),
        return_exceptions=True,
    )
    failed = [number for number, result in enumerate(results) if isinstance(result, RuntimeError)]
    assert failed == [0, 3, 6]
    assert await count(kurz, links) == 6
    assert sorted(row["key_hash"] for row in await rows(kurz, receipts)) == [
        bytes([number]) for number in range(9) if number % 3
    ]
    [spent] = await rows(kurz, usage)
    assert spent["links"] == 6


# Deterministic links


async def test_a_key_on_an_existing_link_is_kept_too(world):
    """Nothing was made, and still the key stands for this request."""
    way = WAYS["a workspace's link"]
    made = await world.send(way, {})
    found = await world.send(way)
    assert (made.status_code, found.status_code) == (201, 200)
    retry = await world.send(way)
    assert whole(retry) == whole(found)
    assert retry.headers["idempotency-replayed"] == "true"
    other = replace(way, sent=_json(original_url=f"{URL}/2"))
    assert code_of(await world.send(other)) == REUSED
    assert await world.made(links) == 1


async def test_a_retry_of_a_revival_does_not_revive_again(world):
    way = WAYS["a workspace's link"]
    made = (await world.send(way, {})).json()
    path = f"/api/v1/workspaces/{made['workspace_id']}/links/{made['id']}"
    owner = world.owner.headers
    await world.client.delete(path, headers=owner)
    revived = await world.send(way)
    assert revived.status_code == 201
    await world.client.delete(path, headers=owner)
    assert whole(await world.send(way)) == whole(revived)
    [row] = await rows(world.kurz, links)
    assert row["status"] == Status.DELETED


# Many links in one request


async def test_items_that_failed_are_done_when_the_request_is_sent_again(world):
    way = WAYS["many links"]
    taken = await world.send(
        Way(LINKS, _json(original_url=URL, custom_code="chosen"), {}, links), {}
    )
    first = (await world.send(way)).json()["results"]
    assert [item["status"] for item in first] == [201, 422, 409]
    path = f"{LINKS}/{taken.json()['id']}"
    moved = await world.client.patch(
        path, json={"custom_code": "moved"}, headers=world.owner.headers
    )
    assert moved.status_code == 200
    second = (await world.send(way)).json()["results"]
    assert [item["status"] for item in second] == [201, 422, 201]
    assert second[0] == first[0]
    assert (await world.send(way)).json()["results"] == second
    assert await world.made(links) == 3


def _bulk(*items: dict[str, Any]) -> Way:
    return Way(f"{LINKS}/bulk", {"json": {"items": [*items]}}, {}, links)


async def test_a_changed_list_does_nothing_at_all(world):
    """Neither items that the first list did not have, nor ones that failed then, nor edits."""
    made = (await world.send(WAYS["a link"], {})).json()
    good = {"act": "create", "link": {"original_url": URL}}
    bad = {"act": "create", "link": {"original_url": "nonsense"}}
    assert (await world.send(_bulk(good, bad))).status_code == 200
    assert await world.made(links) == 2
    for items in (
        [good, good],
        [good, bad, good],
        [bad, good],
        [{"act": "delete", "id": made["id"]}],
        [good, bad, {"act": "edit", "id": made["id"], "changes": {"title": "x"}}],
        [good],
    ):
        assert code_of(await world.send(_bulk(*items))) == REUSED
    assert await world.made(links) == 2
    shown = await world.client.get(f"{LINKS}/{made['id']}", headers=world.owner.headers)
    assert shown.json()["version"] == 1


async def test_a_list_that_made_nothing_keeps_its_key_too(world):
    bad = {"act": "create", "link": {"original_url": "nonsense"}}
    good = {"act": "create", "link": {"original_url": URL}}
    assert (await world.send(_bulk(bad))).status_code == 200
    assert (await world.send(_bulk(bad))).status_code == 200
    assert code_of(await world.send(_bulk(good))) == REUSED
    assert await world.made(links) == 0


async def test_a_key_of_one_link_is_none_for_a_list(world):
    await world.send(WAYS["a link"])
    assert code_of(await world.send(WAYS["many links"])) == REUSED
    assert await world.made(links) == 1


async def test_a_list_without_a_key_is_done_as_often_as_it_is_sent(world):
    for _ in range(2):
        assert (await world.send(_bulk({"act": "create", "link": {"original_url": URL}}), {})).text
    assert await world.made(links) == 2
    assert await count(world.kurz, receipts) == 0


# The key itself

GOOD_KEYS = ["a", "x" * 255, 'with spaces, and "signs" ~!@#$%^&*()', '"quoted"', "0"]
BAD_KEYS = {
    "empty": b"",
    "256 characters": b"x" * 256,
    "not ASCII": "schlüssel".encode("latin-1"),
    "UTF-8": "ключ".encode(),
    "a tab": b"a\tb",
    "NUL": b"a\0b",
    "DEL": b"a\x7fb",
    "a line break": b"a\nb",
}


async def test_a_key_has_up_to_255_printable_characters(world):
    for number, key in enumerate(GOOD_KEYS):
        answers = [await world.send(WAYS["a link"], {"idempotency-key": key}) for _ in range(2)]
        assert whole(answers[0]) == whole(answers[1])
        assert answers[0].status_code == 201
        assert await world.made(links) == number + 1


@pytest.mark.parametrize("path", [LINKS, "/", f"{LINKS}/bulk"])
async def test_any_other_key_is_refused_and_nothing_is_made(world, path):
    way = next(item for item in WAYS.values() if item.path == path and not item.is_anonymous)
    for key in BAD_KEYS.values():
        request = world.client.build_request("POST", path, headers=world.owner.headers, **way.sent)
        headers = httpx2.Headers([*request.headers.raw, (b"idempotency-key", key)])
        request = httpx2.Request("POST", request.url, headers=headers, content=request.content)
        answer = await world.client.send(request)
        assert code_of(answer) == (422, "idempotency-key-refused"), key
    assert await world.made(links) == 0
    assert await count(world.kurz, receipts) == 0


async def test_keys_differ_by_case_and_every_character(world):
    for key in ("key", "Key", "key ", "key1", "key\u005c0001"):
        await world.send(WAYS["a link"], {"idempotency-key": key.strip() + "." * key.count(" ")})
    assert await world.made(links) == 5


async def test_a_key_cannot_be_made_to_look_like_an_item_of_a_list(world):
    """Items are told apart by a character that no key has."""
    await world.send(WAYS["many links"])
    for key in ("5c6b9f1e-7d3a0", "5c6b9f1e-7d3a 0", "5c6b9f1e-7d3a\\0000"):
        answer = await world.send(WAYS["a link"], {"idempotency-key": key})
        assert answer.status_code == 201
        assert "idempotency-replayed" not in answer.headers


async def test_a_stored_answer_opens_for_its_own_caller_and_key_only(world, people):
    """Moved to another row, the sealed answer opens nothing."""
    other = await people.add()
    way = WAYS["a link"]
    await world.send(way)
    await world.send(way, who=other.headers)
    stored = {row["caller"]: row for row in await rows(world.kurz, receipts)}
    mine = stored[f"account:{world.owner.id}"]
    theirs = receipts.c.caller == f"account:{other.id}"
    await world.kurz.database.write(
        lambda it: it.execute(sa.update(receipts).where(theirs).values(answer=mine["answer"]))
    )
    assert code_of(await world.send(way, who=other.headers)) == REUSED
    assert await world.made(links) == 2


async def test_a_request_that_is_given_up_can_be_sent_again(world):
    """Whoever leaves in the middle finds one link afterwards, whichever came first."""
    way = WAYS["a link"]
    for number in range(10):
        key = {"idempotency-key": f"left-{number}"}
        task = asyncio.ensure_future(world.send(way, key))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        answer = await world.send(way, key)
        assert answer.status_code == 201
        assert whole(await world.send(way, key)) == whole(answer)
        assert await world.made(links) == number + 1
