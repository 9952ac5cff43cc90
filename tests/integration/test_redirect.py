"""Following short links: every state, every kind of visitor, every kind of host."""

import asyncio
import re
import socket
from collections import Counter
from datetime import timedelta

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.clicks.segments import list_segments
from kurz.clicks.segments import read as read_clicks
from kurz.links.model import Scope, Status
from kurz.redirect.app import FAVICON
from kurz.storage.schema import links, metadata, search_position
from support.engines import usually_on
from support.feed import until_told
from support.program import Program
from support.user_agents import PREVIEWS

URL = "https://example.com/a/path?x=1#part"
PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PROGRAM = {"accept": "*/*"}
BASE = "https://go.example.com"
TEAM = "https://links.team.example"
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def problem(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    return answer.status_code, answer.json()["type"].removeprefix("/api/problems/")


def redirect(answer: httpx2.Response) -> tuple[int, str, str]:
    assert answer.content == b""
    assert answer.headers["content-length"] == "0"
    return answer.status_code, answer.headers["location"], answer.headers["cache-control"]


def own_headers(answer: httpx2.Response) -> dict[str, str]:
    """The headers without what differs between two answers to the same question."""
    return {name: value for name, value in answer.headers.items() if name != "x-request-id"}


async def look(client: httpx2.AsyncClient, path: str) -> list[httpx2.Response]:
    """GETs as a program, GETs as a browser, and HEADs as both, which must tell the same."""
    answers = []
    for accept in (PROGRAM, PAGE):
        got = await client.get(path, headers=accept)
        headed = await client.head(path, headers=accept)
        assert headed.content == b""
        assert headed.status_code == got.status_code
        assert own_headers(headed) == own_headers(got)
        answers.append(got)
    return answers


async def check_dead(
    client: httpx2.AsyncClient, path: str, status: int, code: str, words: str
) -> None:
    as_problem, as_page = await look(client, path)
    assert problem(as_problem) == (status, code)
    assert as_page.status_code == status
    assert as_page.headers["content-type"] == "text/html; charset=utf-8"
    assert words in as_page.text
    for answer in (as_problem, as_page):
        assert "location" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["vary"] == "accept, accept-language"
        assert "example.com" not in answer.text


MISSING = (404, "link-not-found", "no link here")
EXPIRED = (410, "link-expired", "expired")
EXHAUSTED = (410, "link-exhausted", "used up")
BANNED = (410, "link-banned", "taken down")


@pytest.mark.parametrize(
    ("status", "caching"),
    [
        (None, "no-store"),
        (301, "private, max-age=60"),
        (302, "no-store"),
        (307, "no-store"),
        (308, "private, max-age=60"),
    ],
)
async def test_an_active_link_redirects(client, add_link, status, caching):
    link = await add_link(URL, redirect_status=status)
    for answer in await look(client, f"/{link.short_code}"):
        assert redirect(answer) == (status or 302, URL, caching)


@on_sqlite
async def test_the_setting_decides_the_status_of_redirects(connect):
    client = await connect(redirect_status=307)
    made = await client.post("/", content=URL)
    assert redirect(await client.get(made.text.strip())) == (307, URL, "no-store")


@on_sqlite
@pytest.mark.parametrize(
    ("given", "location"),
    [
        ("https://EXAMPLE.com", "https://example.com/"),
        ("https://example.com/a/../b//c/?b=2&a=1#x", "https://example.com/b//c/?b=2&a=1#x"),
        ("https://münchen.example/straße", "https://xn--mnchen-3ya.example/stra%C3%9Fe"),
        ("https://example.com/%0d%0aSet-Cookie:%20a=b", None),
        ("https://example.com/\U0001f600?q=ä", "https://example.com/%F0%9F%98%80?q=%C3%A4"),
    ],
)
async def test_it_leads_to_the_url_as_given_written_in_ascii(client, add_link, given, location):
    link = await add_link(given)
    answer = await client.get(f"/{link.short_code}")
    assert redirect(answer)[1] == (location or given)
    assert re.fullmatch(r"https?://[\x21-\x7e]+", answer.headers["location"])


async def test_an_unknown_code_is_not_found(client, add_link):
    link = await add_link(custom_code="AbCdEfG")
    await check_dead(client, "/nothing", *MISSING)
    await check_dead(client, "/abcdefg", *MISSING)
    await check_dead(client, "/ABCDEFG", *MISSING)
    await check_dead(client, f"/{link.short_code}/", *MISSING)
    assert redirect(await client.get("/AbCdEfG"))[0] == 302


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (Status.DELETED, MISSING),
        (Status.PAUSED, MISSING),
        (Status.BANNED, BANNED),
    ],
)
async def test_a_link_that_was_taken_away_says_so(client, add_link, status, answer):
    link = await add_link(URL, status=status)
    await check_dead(client, f"/{link.short_code}", *answer)


@on_sqlite
async def test_delete_pause_and_restore_are_seen_at_once(client, kurz, add_link):
    link = await add_link(URL)
    address, public_id = f"/{link.short_code}", kurz.links.public_id(link)
    await kurz.links.edit(public_id, Scope(), {"is_paused": True})
    await check_dead(client, address, *MISSING)
    await kurz.links.edit(public_id, Scope(), {"is_paused": False})
    assert redirect(await client.get(address))[0] == 302
    await kurz.links.delete(public_id, Scope())
    await check_dead(client, address, *MISSING)
    await kurz.links.restore(public_id, Scope())
    assert redirect(await client.get(address))[0] == 302
    await kurz.links.edit(public_id, Scope(), {"original_url": "https://example.com/new"})
    assert redirect(await client.get(address))[1] == "https://example.com/new"


async def test_a_link_answers_from_its_first_to_its_last_instant(client, add_link, clock):
    now = clock.now()
    link = await add_link(
        URL, starts_at=now + timedelta(hours=1), expires_at=now + timedelta(hours=2)
    )
    address = f"/{link.short_code}"
    clock.advance(hours=1, microseconds=-1)
    await check_dead(client, address, *MISSING)
    clock.advance(microseconds=1)
    assert redirect(await client.get(address))[0] == 302
    clock.advance(hours=1, microseconds=-1)
    assert redirect(await client.get(address))[0] == 302
    clock.advance(microseconds=1)
    await check_dead(client, address, *EXPIRED)
    clock.advance(days=1000)
    await check_dead(client, address, *EXPIRED)


@on_sqlite
@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (Status.EXPIRED, (302, URL)),
        (Status.EXHAUSTED, (302, URL)),
    ],
)
async def test_expiry_is_decided_by_the_clock_whatever_the_row_says(
    client, add_link, status, answer
):
    link = await add_link(URL, status=status)
    assert redirect(await client.get(f"/{link.short_code}"))[:2] == answer


@on_sqlite
@pytest.mark.parametrize(
    ("status", "answer"),
    [(Status.DELETED, MISSING), (Status.BANNED, BANNED), (Status.PAUSED, EXPIRED)],
)
async def test_which_reason_counts_when_a_link_has_expired_as_well(
    client, add_link, clock, status, answer
):
    link = await add_link(URL, status=status, expires_in_seconds=60)
    clock.advance(seconds=60)
    await check_dead(client, f"/{link.short_code}", *answer)


@on_sqlite
async def test_a_banned_link_is_gone_even_before_it_starts(client, add_link, clock):
    starts_at = clock.now() + timedelta(days=1)
    link = await add_link(URL, status=Status.BANNED, starts_at=starts_at)
    await check_dead(client, f"/{link.short_code}", *BANNED)


async def test_a_link_is_used_up_after_its_clicks(client, add_link):
    link = await add_link(URL, max_clicks=2)
    for _ in range(2):
        assert redirect(await client.get(f"/{link.short_code}")) == (302, URL, "no-store")
    await check_dead(client, f"/{link.short_code}", *EXHAUSTED)
    await check_dead(client, f"/{link.short_code}+", *EXHAUSTED)


async def test_exactly_as_many_redirects_as_allowed_under_parallel_visitors(
    connect, kurz, add_link
):
    link = await add_link(URL, max_clicks=25)
    visitors = [await connect(), await connect(), await connect(temporary_link_hours=7)]

    async def visit(visitor: httpx2.AsyncClient) -> int:
        answer: httpx2.Response = await visitor.get(f"/{link.short_code}")
        if answer.status_code != 503:  # a slow machine has no room for all at once
            return answer.status_code
        await asyncio.sleep(0.1)
        return await visit(visitor)

    statuses = await asyncio.gather(*(visit(visitor) for _ in range(20) for visitor in visitors))
    assert Counter(statuses) == {302: 25, 410: 35}
    row = await kurz.store.find_by_code(0, link.short_code)
    assert row.clicks_used == 25


async def test_others_hear_that_a_link_is_used_up(client, connect, add_link):
    """By the change log: looking does not ask the store."""
    link = await add_link(URL, max_clicks=1)
    other = await connect(temporary_link_hours=7)
    assert (await other.head(f"/{link.short_code}")).status_code == 200
    assert (await client.get(f"/{link.short_code}")).status_code == 302

    async def is_heard() -> bool:
        answer: httpx2.Response = await other.head(f"/{link.short_code}")
        return answer.status_code == 410

    await until_told(is_heard)


def recorded(kurz: Kurz) -> int:
    segments = list_segments(kurz.settings.journal_dir)
    return sum(1 for segment in segments for _ in read_clicks(segment))


LOOKING = {
    "HEAD": ("HEAD", {}),
    "prefetch": ("GET", {"sec-purpose": "prefetch"}),
    "prerender": ("GET", {"sec-purpose": "prefetch;prerender"}),
    "old prefetch": ("GET", {"purpose": "prefetch"}),
    "Firefox's old prefetch": ("GET", {"x-moz": "Prefetch"}),
    "Safari's preview": ("GET", {"x-purpose": "preview"}),
    "preview": ("GET+", {}),
    "link preview": ("GET", {"user-agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com)"}),
    "messenger": ("GET", {"user-agent": "WhatsApp/2.23.20.0 A"}),
    "bot": (
        "GET",
        {"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
    ),
    "bot with a long name": ("GET", {"user-agent": "Googlebot/2.1 " + 2000 * "x"}),
    "empty user agent": ("GET", {"user-agent": " "}),
}


async def test_looking_at_a_limited_link_uses_nothing_up(client, kurz, add_link):
    for number, (name, (method, headers)) in enumerate(LOOKING.items()):
        link = await add_link(URL, max_clicks=1)
        path = f"/{link.short_code}{'+' if method == 'GET+' else ''}"
        for accept in (PAGE, PROGRAM) * 3:
            answer = await client.request(method.rstrip("+"), path, headers={**headers, **accept})
            assert answer.status_code == 200, name
            assert "location" not in answer.headers, name
            assert answer.headers["cache-control"] == "no-store"
            assert "example.com" not in answer.text
        assert recorded(kurz) == number, name
        assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0, name
        assert redirect(await client.get(f"/{link.short_code}"))[0] == 302
        assert recorded(kurz) == number + 1


@on_sqlite
async def test_no_program_that_shows_previews_uses_anything_up(client, kurz, add_link):
    link = await add_link(URL, max_clicks=1)
    for agent in PREVIEWS:
        answer = await client.get(f"/{link.short_code}", headers={"user-agent": agent})
        assert answer.json()["original_url"] is None, agent
        assert "location" not in answer.headers, agent
    assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0
    assert redirect(await client.get(f"/{link.short_code}"))[0] == 302


@on_sqlite
async def test_a_program_without_a_user_agent_uses_nothing_up(client, kurz, add_link):
    link = await add_link(URL, max_clicks=1)
    request = client.build_request("GET", f"/{link.short_code}")
    del request.headers["user-agent"]
    assert (await client.send(request)).json()["original_url"] is None
    assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0


@on_sqlite
async def test_a_bot_follows_links_that_are_not_limited(client, add_link):
    link = await add_link(URL)
    answer = await client.get(f"/{link.short_code}", headers={"user-agent": "Googlebot/2.1"})
    assert redirect(answer) == (302, URL, "no-store")


@on_sqlite
async def test_a_prefetch_of_an_unlimited_link_is_a_redirect(client, add_link):
    link = await add_link(URL)
    answer = await client.get(f"/{link.short_code}", headers={"sec-purpose": "prefetch"})
    assert redirect(answer) == (302, URL, "no-store")


FORWARDED = [
    ("https://example.com/p", "utm=x&b=2", "https://example.com/p?utm=x&b=2"),
    ("https://example.com/p?a=1#frag", "utm=x", "https://example.com/p?a=1&utm=x#frag"),
    ("https://example.com/p?a=1", "a=2&b=3", "https://example.com/p?a=1&b=3"),
    ("https://example.com/p", "", "https://example.com/p"),
    ("https://example.com/p", "&&", "https://example.com/p"),
    ("https://example.com/p", "a=%0d%0ax&b=1", "https://example.com/p?a=%0d%0ax&b=1"),
]


async def test_a_visitors_query_is_forwarded_where_the_link_says_so(client, add_link):
    for original_url, query, location in FORWARDED:
        link = await add_link(original_url, forward_query=True)
        url = httpx2.URL(f"http://kurz.test/{link.short_code}").copy_with(query=query.encode())
        assert redirect(await client.get(url))[1] == location
    kept = await add_link("https://example.com/p")
    answer = await client.get(f"/{kept.short_code}?utm=x")
    assert redirect(answer)[1] == "https://example.com/p"


async def test_a_preview_tells_the_destination_and_the_age(client, add_link, clock):
    link = await add_link(URL, expires_in_seconds=3600)
    clock.advance(minutes=3)
    as_json, as_page = await look(client, f"/{link.short_code}+")
    assert as_json.headers["content-type"] == "application/json"
    assert as_json.json() == {
        "short_url": f"http://kurz.test/{link.short_code}",
        "original_url": URL,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat(),
        "is_held": False,
    }
    assert as_page.headers["content-type"] == "text/html; charset=utf-8"
    for words in ("example.com", "/a/path?x=1#part", "3 minutes ago", "in 57 minutes"):
        assert words in as_page.text
    for answer in (as_json, as_page):
        assert answer.status_code == 200
        assert "location" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"


async def test_a_preview_of_a_dead_link_is_as_dead(client, add_link, clock):
    await check_dead(client, "/nothing+", *MISSING)
    for status, answer in (
        (Status.DELETED, MISSING),
        (Status.PAUSED, MISSING),
        (Status.BANNED, BANNED),
    ):
        link = await add_link(f"{URL}-{status}", status=status)
        await check_dead(client, f"/{link.short_code}+", *answer)
    expired = await add_link(URL, expires_in_seconds=1)
    clock.advance(seconds=1)
    await check_dead(client, f"/{expired.short_code}+", *EXPIRED)


async def test_a_private_kurz_shows_no_previews_to_strangers_but_redirects(connect, add_link):
    client = await connect(access="private")
    link = await add_link(URL)
    await check_dead(client, f"/{link.short_code}+", *MISSING)
    assert redirect(await client.get(f"/{link.short_code}")) == (302, URL, "no-store")


async def test_a_slug_that_was_nobodys_is_found_once_somebody_has_it(client, people, add_link):
    for _ in range(2):
        assert (await client.get("/@later/launch")).status_code == 404
    workspace = await people.workspace(await people.add(), "later")
    await add_link(URL, workspace_id=workspace.id, custom_code="launch")
    assert redirect(await client.get("/@later/launch"))[1] == URL


async def test_a_workspace_answers_under_every_slug_it_ever_had(client, add_link, add_workspace):
    team = await add_workspace("team", "old-name")
    other = await add_workspace("other")
    await add_link("https://example.com/team", workspace_id=team, custom_code="launch")
    await add_link("https://example.com/other", workspace_id=other, custom_code="launch")
    await add_link("https://example.com/root", custom_code="rooted")
    for path, location in (
        ("/@team/launch", "https://example.com/team"),
        ("/@old-name/launch", "https://example.com/team"),
        ("/@TEAM/launch", "https://example.com/team"),
        ("/@Old-Name/launch", "https://example.com/team"),
        ("/@other/launch", "https://example.com/other"),
        ("/rooted", "https://example.com/root"),
    ):
        assert redirect(await client.get(path))[1] == location
    for path in ("/launch", "/@team/rooted", "/@team/LAUNCH", "/@nobody/launch", "/@team/"):
        await check_dead(client, path, *MISSING)
    shown = await client.get("/@team/launch+")
    assert shown.json()["short_url"] == "http://kurz.test/@team/launch"


@pytest.fixture
async def team(add_workspace, add_domain, add_link) -> int:
    """A workspace with a domain, a code on it, and a code of the same name at the root."""
    workspace_id = await add_workspace("team")
    await add_domain("links.team.example", workspace_id)
    await add_link("https://example.com/team", workspace_id=workspace_id, custom_code="launch")
    await add_link("https://example.com/root", custom_code="launch")
    await add_link("https://example.com/root", custom_code="rooted")
    team_id: int = workspace_id
    return team_id


@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_custom_domain_serves_its_workspace_and_nothing_else(connect, team, base_url):
    client = await connect(TEAM, base_url=base_url)
    assert redirect(await client.get("/launch"))[1] == "https://example.com/team"
    assert (await client.get("/launch+")).json()["original_url"] == "https://example.com/team"
    assert (await client.get("/robots.txt")).status_code == 200
    assert (await client.get("/favicon.ico")).content == FAVICON
    for path in (
        "/",
        "/rooted",
        "/@team/launch",
        "/api",
        "/api/docs",
        "/api/openapi.json",
        "/api/v1/links",
        "/api/problems/link-not-found",
        "/app",
    ):
        await check_dead(client, path, *MISSING)
    for path in ("/", "/api/v1/links", "/api/urls/public", "/launch"):
        answer = await client.post(path, json={"original_url": URL})
        assert problem(answer) == (405, "method-not-allowed")


@on_sqlite
@pytest.mark.parametrize(
    "host",
    [
        "links.team.example:8443",
        "LINKS.Team.Example",
        "links.team.example.",
        "Links.team.example:1",
    ],
)
async def test_a_custom_domain_is_known_by_any_spelling(client, team, host):
    answer = await client.get("/launch", headers={"host": host})
    assert redirect(answer)[1] == "https://example.com/team"


@on_sqlite
@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_preview_on_a_custom_domain_shows_the_address_there(connect, team, base_url):
    client = await connect(TEAM, base_url=base_url)
    assert (await client.get("/launch+")).json()["short_url"] == f"{TEAM}/launch"


async def test_the_root_of_a_custom_domain_leads_where_its_workspace_says(
    connect, add_workspace, add_domain
):
    workspace_id = await add_workspace("team", root_url="https://team.example/welcome")
    await add_domain("links.team.example", workspace_id)
    client = await connect(TEAM)
    for answer in await look(client, "/"):
        assert redirect(answer) == (302, "https://team.example/welcome", "no-store")


@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_domain_that_is_not_verified_serves_nothing_of_its_workspace(
    connect, add_workspace, add_domain, add_link, base_url
):
    workspace_id = await add_workspace("team")
    await add_domain("links.team.example", workspace_id, is_verified=False)
    await add_link("https://example.com/team", workspace_id=workspace_id, custom_code="launch")
    client = await connect(TEAM, base_url=base_url)
    answer = await client.get("/launch")
    assert problem(answer) == (
        (404, "link-not-found") if base_url is None else (421, "host-unknown")
    )


async def test_with_a_base_url_another_host_is_misdirected(connect, add_link):
    link = await add_link(URL)
    client = await connect("http://evil.example", base_url=BASE)
    for path in (f"/{link.short_code}", f"/{link.short_code}+", "/", "/robots.txt", "/api/docs"):
        as_problem, as_page = await look(client, path)
        assert problem(as_problem) == (421, "host-unknown")
        assert as_page.status_code == 421
        assert as_page.headers["content-type"] == "text/html; charset=utf-8"
        for answer in (as_problem, as_page):
            assert "location" not in answer.headers
            assert "evil.example" not in answer.text
            assert answer.headers["cache-control"] == "no-store"
    assert problem(await client.post("/", content=URL)) == (421, "host-unknown")
    for path in ("/healthz", "/readyz"):
        assert (await client.get(path)).status_code == 200


@on_sqlite
@pytest.mark.parametrize("host", ["go.example.com", "GO.example.com:8080", "go.example.com."])
async def test_with_a_base_url_its_host_is_known_by_any_spelling(connect, add_link, host):
    link = await add_link(URL)
    client = await connect(base_url=BASE)
    answer = await client.get(f"/{link.short_code}", headers={"host": host})
    assert redirect(answer)[0] == 302


@on_sqlite
async def test_a_forwarded_host_counts_for_nothing(connect, team):
    client = await connect(BASE, base_url=BASE)
    headers = {"x-forwarded-host": "links.team.example", "forwarded": "host=links.team.example"}
    answer = await client.get("/launch", headers=headers)
    assert redirect(answer)[1] == "https://example.com/root"


@on_sqlite
@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_request_without_one_host_belongs_to_no_site(connect, add_link, base_url):
    link = await add_link(URL)
    client = await connect(BASE, base_url=base_url)
    for hosts in ([], ["go.example.com", "go.example.com"], ["go.example.com", "evil.example"]):
        request = client.build_request("GET", f"/{link.short_code}")
        request.headers = httpx2.Headers([("host", host) for host in hosts])
        assert problem(await client.send(request)) == (400, "host-unclear")


async def test_the_few_fixed_files_are_there(client):
    robots = (await look(client, "/robots.txt"))[0]
    assert robots.headers["content-type"] == "text/plain; charset=utf-8"
    assert robots.text.startswith("User-agent: *\n")
    assert "Disallow: /api/" in robots.text
    favicon = (await look(client, "/favicon.ico"))[0]
    assert (favicon.headers["content-type"], favicon.content) == ("image/x-icon", FAVICON)
    assert FAVICON.startswith(b"\0\0\1\0")
    for answer in (robots, favicon):
        assert answer.headers["cache-control"] == "public, max-age=86400"


@on_sqlite
async def test_a_reserved_word_is_never_looked_up(client, kurz, add_link):
    await add_link(URL, custom_code="abc-def")
    for word in ("login", "APP", "Metrics", "v4"):

        def shadow(connection: sa.Connection, word: str = word) -> None:
            connection.execute(sa.update(links).values(short_code=word))

        await kurz.database.write(shadow)
        await check_dead(client, f"/{word}", *MISSING)


async def test_the_front_page_shows_how_to_make_a_link(connect):
    client = await connect(BASE, base_url=BASE)
    for accept in (PROGRAM, PAGE):  # a browser's has a nonce, which no two answers share
        answer = await client.get("/", headers=accept)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert BASE in answer.text


async def contents(kurz: Kurz) -> dict[str, list[str]]:
    """Every row of every table; the index of texts is apart, it follows writes in its own time."""

    def read(connection: sa.Connection) -> dict[str, list[str]]:
        return {
            table.name: sorted(map(repr, connection.execute(sa.select(table)).all()))
            for table in metadata.sorted_tables
            if table is not search_position
        }

    return await kurz.database.read(read)


async def test_the_read_path_writes_nothing(client, connect, kurz, add_link, team, clock):
    made = [
        await add_link(f"{URL}-{status}", status=status)
        for status in (Status.ACTIVE, Status.DELETED, Status.PAUSED, Status.BANNED)
    ]
    made.append(await add_link(URL, starts_at=clock.now() + timedelta(days=2)))
    made.append(await add_link(URL, expires_in_seconds=60))
    made.append(await add_link(URL, redirect_status=301, forward_query=True))
    clock.advance(seconds=60)
    paths = [f"/{link.short_code}" for link in made]
    paths += [f"{path}+" for path in paths]
    paths += ["/", "/nothing", "/@team/launch", "/@nobody/x", "/robots.txt", "/favicon.ico", "/%00"]
    paths += ["/healthz", "/readyz", "/api/docs", "/api/openapi.json", "/api/problems/x"]
    domain = await connect(TEAM)
    before = await contents(kurz)
    for path in paths:
        for visitor in (client, domain):
            for headers in (PAGE, PROGRAM, {"sec-purpose": "prefetch"}):
                await visitor.get(path, headers=headers)
                await visitor.head(path, headers=headers)
    assert await contents(kurz) == before
    assert before["links"]


@on_sqlite
async def test_the_same_application_answers_many_visitors_at_once(client, add_link):
    made = [await add_link(f"https://example.com/{number}") for number in range(20)]
    answers = await asyncio.gather(*(client.get(f"/{link.short_code}") for link in made * 10))
    assert [answer.headers["location"] for answer in answers] == [
        link.original_url for link in made * 10
    ]


def ask(program: Program, request: bytes) -> tuple[list[bytes], bytes]:
    """Sends a request as bytes and gives the head of the answer, line by line, and its body."""
    with socket.create_connection(("127.0.0.1", program.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n"), body


@usually_on("sqlite")
def test_on_the_wire_there_is_one_location_and_nothing_smuggled_in(program):
    url = "https://example.com/%0d%0aSet-Cookie:%20stolen=1%0d%0a%0d%0a<b>?q=%0D%0AX-Evil:%201"
    with program.client() as client:
        path = httpx2.URL(client.post("/", content=url).text.strip()).path.encode()
    for method in (b"GET", b"HEAD"):
        for target in (path, path + b"?%0d%0aX-Evil:%201", path + b"?a=<b>"):
            request = b"%b %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (method, target)
            head, body = ask(program, request)
            assert head[0] == b"HTTP/1.1 302 Found"
            names = [line.partition(b":")[0].lower() for line in head[1:]]
            assert names.count(b"location") == 1
            assert len(names) == len(set(names))
            assert not {b"set-cookie", b"x-evil", b"server"} & set(names)
            location = head[1 + names.index(b"location")].partition(b": ")[2]
            assert location == url.replace("<b>", "%3Cb%3E").encode()
            assert body == b""


@on_sqlite
def test_on_the_wire_head_has_no_body_and_the_connection_goes_on(program):
    requests = b"".join(
        b"%b HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n%b\r\n" % line
        for line in (
            (b"HEAD /nothing", b""),
            (b"GET /healthz", b""),
            (b"HEAD /", b"Connection: close\r\n"),
        )
    )
    with socket.create_connection(("127.0.0.1", program.port), timeout=10) as connection:
        connection.sendall(requests)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"404", b"200", b"200"]
    assert b"<html" not in answer
