"""Every door a URL comes in by, and what is behind it when it is checked: destinations inside are
kept as they are and never called; what hides where it leads does not come in at all."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from data import hostile_urls, inside_urls
from kurz.links.model import DestinationStatus
from kurz.links.urls import judge
from kurz.outbound.checker import DestinationChecker
from kurz.safety.checks import Finding, Reason
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from servers.dns import DnsServer
from servers.process import free_port
from servers.web import WebServer, redirects
from support.calls import watch_connects
from support.checking import OUTSIDE, make_checker
from support.people import Person
from support.terminal import Terminal

NOT_PUBLIC = Finding(DestinationStatus.NOT_CHECKED, Reason.NOT_PUBLIC)
# A redirect to what is no URL that kurz accepts: nobody follows it, wherever it would lead.
UNREADABLE = Finding(DestinationStatus.UNKNOWN, Reason.ANSWERED, 302)
PLAIN = "https://example.com/plain"
HIDING = [*hostile_urls.IPV4, *hostile_urls.IPV6, *hostile_urls.USERINFO, *hostile_urls.BACKSLASHES]
CANARIES = ["127.0.0.1", "::1", "169.254.169.254"]
MIN_VECTORS = 150


Put = Callable[["House", list[str]], Awaitable[None]]


class House:
    """An installation with somebody in it, and its doors."""

    def __init__(
        self, kurz: Kurz, client: httpx2.AsyncClient, person: Person, team_id: int
    ) -> None:
        self.kurz = kurz
        self.client = client
        self.person = person
        self.team_id = team_id

    async def post(self, path: str, *, is_known: bool = True, **request: Any) -> httpx2.Response:
        headers = self.person.headers if is_known else {}
        answer = await self.client.post(path, headers=headers, **request)
        assert answer.status_code in (200, 201, 422), answer.text
        return answer

    async def locations(self) -> set[str]:
        """Where the stored links lead."""
        query = sa.select(sa.func.coalesce(links.c.location, links.c.original_url))
        return await self.kurz.database.read(lambda it: set(it.execute(query).scalars()))


def _one_by_one(path: str, field: str, *, is_known: bool = True) -> Put:
    async def put(house: House, urls: list[str]) -> None:
        where = path.format(team=house.team_id)
        for url in urls:
            await house.post(where, is_known=is_known, json={field: url})

    return put


async def _as_text(house: House, urls: list[str]) -> None:
    for url in urls:
        await house.post("/", is_known=False, content=url.encode())


async def _edit(house: House, urls: list[str]) -> None:
    for url in urls:
        made = await house.post("/api/v1/links", json={"original_url": PLAIN})
        path = f"/api/v1/links/{made.json()['id']}"
        body = {"original_url": url}
        answer = await house.client.patch(path, json=body, headers=house.person.headers)
        assert answer.status_code in (200, 422), answer.text


async def _bulk(house: House, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answer = await house.post("/api/v1/links/bulk", json={"items": items})
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


async def _create_many(house: House, urls: list[str]) -> None:
    await _bulk(house, [{"action": "create", "link": {"original_url": url}} for url in urls])


async def _edit_many(house: House, urls: list[str]) -> None:
    plain = [{"action": "create", "link": {"original_url": PLAIN}} for _ in urls]
    ids = [it["link"]["id"] for it in await _bulk(house, plain)]
    changes = zip(ids, urls, strict=True)
    await _bulk(
        house, [{"action": "edit", "id": i, "changes": {"original_url": u}} for i, u in changes]
    )


def _lines(urls: list[str]) -> bytes:
    return b"".join(json.dumps({"original_url": url}).encode() + b"\n" for url in urls)


async def _import(house: House, urls: list[str]) -> None:
    path = "/api/v1/links/import?format=jsonl"
    for start in range(0, len(urls), 1000):
        await house.post(path, content=_lines(urls[start : start + 1000]))


async def _claim(house: House, urls: list[str]) -> None:
    for start in range(0, len(urls), 100):
        items = [{"original_url": url} for url in urls[start : start + 100]]
        await house.post("/api/v1/claims", json={"items": items})


async def _sync(house: House, urls: list[str]) -> None:
    for start in range(0, len(urls), 100):
        await house.post("/api/urls/sync", json={"urls": urls[start : start + 100]})


async def _claim_by_token(house: House, urls: list[str]) -> None:
    for url in urls:
        made = (
            await house.post("/api/v1/links", is_known=False, json={"original_url": url})
        ).json()
        if "claim_token" in made:
            item = {key: made[key] for key in ("short_code", "claim_token")}
            await house.post("/api/v1/claims", json={"items": [item]})


def _terminal(house: House) -> Terminal:
    settings = house.kurz.settings
    return Terminal({"KURZ_DATA_DIR": str(settings.data_dir), "KURZ_BASE_URL": "http://kurz.test"})


async def _at_the_terminal(house: House, urls: list[str]) -> None:
    for url in urls:
        done = await asyncio.to_thread(_terminal(house).run, "create", "--", url)
        assert "Traceback" not in done.stderr


async def _import_at_the_terminal(house: House, urls: list[str]) -> None:
    file = house.kurz.settings.data_dir / "links.jsonl"
    file.write_bytes(_lines(urls))
    done = await asyncio.to_thread(_terminal(house).run, "import", str(file))
    assert "Traceback" not in done.stderr


DOORS: dict[str, Put] = {
    "anonymous": _one_by_one("/api/v1/links", "original_url", is_known=False),
    "account": _one_by_one("/api/v1/links", "original_url"),
    "workspace": _one_by_one("/api/v1/workspaces/{team}/links", "original_url"),
    "text": _as_text,
    "edit": _edit,
    "bulk create": _create_many,
    "bulk edit": _edit_many,
    "import": _import,
    "claim": _claim,
    "claim by token": _claim_by_token,
    "camel case public": _one_by_one("/api/urls/public", "originalUrl", is_known=False),
    "camel case": _one_by_one("/api/urls", "originalUrl"),
    "camel case sync": _sync,
    "terminal": _at_the_terminal,
    "terminal import": _import_at_the_terminal,
}
# A process for each URL: a few of each kind are tried, and all of them in the long run.
SLOW = {"terminal": 100}
LONG = [pytest.mark.long, pytest.mark.timeout(1200)]
every_door = pytest.mark.parametrize(
    ("door", "step"),
    [
        *((door, SLOW.get(door, 1)) for door in DOORS),
        *(pytest.param(door, 1, marks=LONG) for door in SLOW),
    ],
)


@pytest.fixture
def engine() -> str:
    """One is enough: the doors are the same, and what they keep is the stores' contract."""
    return "sqlite"


@pytest.fixture
async def house(kurz, connect, people) -> House:
    person = await people.add()
    team = await people.workspace(person)
    client = await connect(rate_limits="off")
    return House(kurz, client, person, team.id)


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def dns() -> Iterator[DnsServer]:
    with DnsServer() as server:
        for name, addresses in inside_urls.names(OUTSIDE).items():
            server.put_addresses(name, *addresses)
        for name, target in inside_urls.aliases().items():
            server.put_alias(name, target)
        server.put_addresses("outside.test", OUTSIDE)
        yield server


@pytest.fixture
async def canaries(port: int) -> AsyncIterator[list[WebServer]]:
    """Servers inside, where this machine has such addresses. Nobody is to come."""
    async with AsyncExitStack() as stack:
        sitting = []
        for address in CANARIES:
            try:
                sitting.append(await stack.enter_async_context(WebServer(address, port)))
            except OSError:  # connects are watched all the same, whoever listens
                print(f"no canary on {address}: this machine does not have it")
        assert sitting
        yield sitting


@pytest.fixture
def checker(dns: DnsServer, port: int) -> DestinationChecker:
    return make_checker(dns, {port})


async def _check_all(checker: DestinationChecker, locations: set[str], dns: DnsServer) -> None:
    """Each is found to be not public, and nobody but the name server is called."""
    with watch_connects() as calls:
        for location in sorted(locations):
            assert (location, await checker.check(location, was_ok=False)) == (location, NOT_PUBLIC)
    assert {port for _, port in calls} <= {dns.port}


@every_door
async def test_what_leads_inside_is_kept_and_never_called(
    house, door, step, checker, canaries, dns, port
):
    urls = inside_urls.urls(OUTSIDE, port)[::step]
    await DOORS[door](house, urls)
    stored = await house.locations()
    assert stored - {PLAIN} == {judge(url).location for url in urls}
    await _check_all(checker, stored - {PLAIN}, dns)
    assert [canary.visits for canary in canaries] == [0] * len(canaries)


@every_door
async def test_what_hides_where_it_leads_does_not_come_in(house, door, step):
    await DOORS[door](house, HIDING[::step])
    assert await house.locations() <= {PLAIN}


async def test_there_are_enough_of_both(port):
    assert len({judge(url).location for url in inside_urls.urls(OUTSIDE, port)}) >= MIN_VECTORS
    assert len(set(HIDING)) >= 80


async def test_a_redirect_to_any_of_them_is_not_followed(checker, canaries, dns, port):
    hiding = [url for url in HIDING if url.isascii() and url.isprintable()]
    async with WebServer(OUTSIDE, port) as outside:
        expected = {key: {UNREADABLE, NOT_PUBLIC} for key in hiding}
        expected |= {key: {NOT_PUBLIC} for key in inside_urls.urls(OUTSIDE, port)}
        for url, findings in expected.items():
            outside.manners["/"] = redirects(url)
            with watch_connects() as calls:
                finding = await checker.check(f"http://outside.test:{port}/", was_ok=True)
            assert finding in findings, url
            assert [it for it in calls if it[1] != dns.port] == [(OUTSIDE, port)]
    assert [canary.visits for canary in canaries] == [0] * len(canaries)


async def test_the_canaries_would_notice(dns, canaries, port):
    """Where the operator allows it, the same URLs do lead there."""
    checker = make_checker(dns, {port}, networks=["127.0.0.0/8", "::1", "169.254.0.0/16"])
    for canary in canaries:
        host = f"[{canary.address}]" if ":" in canary.address else canary.address
        await checker.check(f"http://{host}:{port}/", was_ok=False)
        assert canary.visits == 2  # HEAD and GET
