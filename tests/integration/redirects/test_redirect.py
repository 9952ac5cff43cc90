"""Following short links: the redirect itself, forwarded queries, and what is on the wire."""

import asyncio
import re
import socket
from datetime import timedelta

import httpx2
import pytest
import sqlalchemy as sa

from kurz.links.model import Status
from kurz.storage.schema.base import metadata
from kurz.storage.schema.links import search_position
from kurz.wiring.core import Kurz
from support.engines import usually_on
from support.program import Program
from support.redirects import PAGE, PROGRAM, TEAM, URL, look, on_sqlite, redirect


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
