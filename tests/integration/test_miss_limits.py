"""Whoever tries many codes is slowed down; whoever follows links is not."""

import socket

import pytest

from kurz.links.model import Status
from kurz.people.limits import LIMITS, LimitClass
from support.engines import without_redis

ALLOWED = LIMITS[LimitClass.MISS][0].rate.count
PROXY = "127.0.0.1"

# Redis gives back by its own clock, and is not waited for on a busy machine: both would let more
# through. What counts as a miss is the same.
engine = without_redis


@pytest.fixture
async def client(connect):
    """A client of the application as it is by default; other tests turn the limits off."""
    return await connect(rate_limits="on")


async def statuses(client, *paths: str, **options) -> list[int]:
    return [(await client.get(path, **options)).status_code for path in paths]


def codes(number: int) -> list[str]:
    return [f"/miss{index}" for index in range(number)]


async def exhaust(client, **options) -> None:
    assert await statuses(client, *codes(ALLOWED), **options) == [404] * ALLOWED


async def test_misses_beyond_the_limit_answer_429(client):
    await exhaust(client)
    refused = await client.get("/another")
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["cache-control"] == "no-store"
    assert refused.headers["retry-after"].isdecimal()
    assert refused.headers["ratelimit-policy"] == f'"miss";q={ALLOWED};w=60'
    assert refused.headers["ratelimit"].startswith('"miss";r=0;t=')
    problem = refused.json()
    assert (problem["type"], problem["status"]) == ("/api/problems/too-many-requests", 429)
    assert str(problem["retry_after_seconds"]) == refused.headers["retry-after"]


async def test_people_see_a_page(client):
    await exhaust(client)
    refused = await client.get("/another", headers={"accept": "text/html"})
    assert (refused.status_code, refused.headers["content-type"]) == (
        429,
        "text/html; charset=utf-8",
    )
    assert "retry-after" in refused.headers
    assert "wait a moment" in refused.text


async def test_head_and_get_count_alike(client):
    for path in codes(ALLOWED):
        assert (await client.head(path)).status_code == 404
    assert (await client.head("/another")).status_code == 429
    assert await statuses(client, "/one-more") == [429]


async def test_links_are_followed_however_many_and_after_many_misses(client, add_link):
    path = f"/{(await add_link()).short_code}"
    assert await statuses(client, *[path] * 3 * ALLOWED) == [302] * 3 * ALLOWED
    await exhaust(client)
    assert await statuses(client, "/another", path, "/", "/robots.txt", f"{path}+") == [
        429,
        302,
        200,
        200,
        200,
    ]


async def test_dead_links_are_no_misses(client, add_link):
    path = f"/{(await add_link(status=Status.BANNED)).short_code}"
    assert await statuses(client, *[path] * 2 * ALLOWED) == [410] * 2 * ALLOWED


@pytest.mark.parametrize("status", [Status.DELETED, Status.PAUSED])
async def test_hidden_links_count_like_those_that_never_were(client, add_link, status):
    paths = [f"/{(await add_link(status=status)).short_code}" for _ in range(ALLOWED + 1)]
    assert await statuses(client, *paths) == [404] * ALLOWED + [429]
    assert await statuses(client, "/another") == [429]


async def test_what_is_known_to_be_nowhere_is_asked_for_in_vain_as_often_as_one_likes(client):
    assert await statuses(client, *["/nothing"] * 2 * ALLOWED) == [404] * 2 * ALLOWED
    assert await statuses(client, *codes(ALLOWED)) == [404] * (ALLOWED - 1) + [429]
    assert await statuses(client, "/nothing") == [404]


async def test_hidden_previews_are_misses(connect, add_link):
    client = await connect(access="private", rate_limits="on")
    path = f"/{(await add_link()).short_code}"
    assert await statuses(client, *[f"{path}+"] * ALLOWED) == [404] * ALLOWED
    assert await statuses(client, f"{path}+", path) == [429, 302]


@pytest.mark.parametrize("path", ["/a/b", "/@nobody/abc", "/assets/x.js"])
async def test_every_path_without_a_link_is_a_miss(client, path):
    assert await statuses(client, *[path] * ALLOWED) == [404] * ALLOWED
    assert await statuses(client, path) == [429]


async def test_each_address_is_counted_for_itself(connect):
    client = await connect(peer=PROXY, rate_limits="on")
    await exhaust(client, headers={"x-forwarded-for": "198.51.100.1"})
    ask = ["198.51.100.1", "203.0.113.5, 198.51.100.1", "198.51.100.2"]
    found = [
        await statuses(client, f"/x{index}", headers={"x-forwarded-for": address})
        for index, address in enumerate(ask)
    ]
    assert found == [[429], [429], [404]]


async def test_an_ipv6_network_is_one_visitor(connect):
    client = await connect(peer=PROXY, rate_limits="on")
    for index, path in enumerate(codes(ALLOWED)):
        headers = {"x-forwarded-for": f"2001:db8:1:2::{index:x}"}
        assert await statuses(client, path, headers=headers) == [404]
    for path, address, status in [
        ("/x", "2001:db8:1:2:ffff::", 429),
        ("/y", "2001:db8:1:3::", 404),
    ]:
        assert await statuses(client, path, headers={"x-forwarded-for": address}) == [status]


async def test_a_stranger_cannot_name_another_address(connect):
    client = await connect(peer="198.51.100.1", rate_limits="on")
    for index, path in enumerate(codes(ALLOWED)):
        headers = {"x-forwarded-for": f"203.0.113.{index}"}
        assert await statuses(client, path, headers=headers) == [404]
    assert await statuses(client, "/x", headers={"x-forwarded-for": "203.0.113.99"}) == [429]


async def test_limits_that_are_off_limit_nothing(connect):
    client = await connect(rate_limits="off")
    assert await statuses(client, *codes(3 * ALLOWED)) == [404] * 3 * ALLOWED


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_guesses_on_new_connections_are_charged(start_program, environment, version):
    """The fast lane gets the first request of a connection before there is a transport."""
    program = start_program(**environment, KURZ_RATE_LIMITS="on")
    found = []
    for path in codes(ALLOWED + 1):
        with socket.create_connection(("127.0.0.1", program.port), timeout=10) as client:
            client.sendall(f"GET {path} {version}\r\nHost: localhost\r\n\r\n".encode())
            found.append(int(client.recv(4096).split()[1]))
    assert found == [404] * ALLOWED + [429]
