"""Which requests are refused from their bytes while there is no place for them."""

import asyncio
from types import SimpleNamespace

import pytest

from kurz.people.workspaces import Site
from kurz.server.overload import BoundedWork, Work
from kurz.server.quick_refusals import QuickRefusals
from support.stage import Wire

POST = "POST {path} HTTP/1.1\r\n{host}Content-Length: 2\r\n{field}\r\n{{}}"
OURS, OWN_DOMAIN = "Host: s.example\r\n", "Host: own.example\r\n"
KNOWN = {b"s.example": Site(0), b"own.example": Site(5, is_custom_domain=True)}


async def app(*_: object) -> None: ...


def request(path: str = "/api/v1/links", host: str = OURS, field: str = "") -> bytes:
    return POST.format(path=path, host=host, field=field).encode()


async def refuse(*chunks: bytes, creates: int = 0) -> tuple[list[int], int]:
    """The statuses of quick answers, and how many refusals are counted."""
    bounded = BoundedWork(app, {**dict.fromkeys(Work, 0), Work.CREATES: creates})
    quick = QuickRefusals(bounded, SimpleNamespace(known=KNOWN), 5.0)
    loop = asyncio.get_running_loop()
    client = SimpleNamespace(transport=Wire(), deadline=0.0, loop=loop)
    taken = [quick.answer(client, chunk) for chunk in chunks]
    await asyncio.sleep(0)
    assert sum(taken) == quick.answers == len(client.transport.statuses)
    return client.transport.statuses, bounded.counts()["creates_refused"]


@pytest.mark.parametrize("path", ["/", "/api/v1/links", "/api/v1/links?x=1", "/api/urls/public"])
async def test_one_whole_create_is_refused(path):
    assert await refuse(request(path)) == ([503], 1)
    assert await refuse(request(path, "host:\ts.example \r\n")) == ([503], 1)


@pytest.mark.parametrize(
    "chunk",
    [
        request("/", OWN_DOMAIN),
        request(host=OWN_DOMAIN),
        request(host="Host: unknown.example\r\n"),
        request(host=""),
        request(host=OURS + OWN_DOMAIN),
        request(field="ORIGIN: https://a.example\r\n"),
        request(field="Connection: close\r\n"),
        request()[:-1],
        request() + b"GET",
        request().replace(b"Content-Length: 2", b"Content-Length: x"),
        request("/api/v1/auth/login"),
        request().replace(b"POST", b"GET"),
    ],
)
async def test_all_others_take_the_long_way_and_are_counted_there(chunk):
    assert await refuse(chunk) == ([], 0)
    # The parser begins anew behind each of them.
    assert await refuse(chunk, request()) == ([503], 1)


async def test_as_many_as_there_are_places_for_come_to_their_task():
    assert await refuse(*[request()] * 5, creates=3) == ([503] * 2, 2)
