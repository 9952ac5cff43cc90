"""Which requests are refused from their bytes while there is no place for them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from kurz.people.workspaces import Site
from kurz.redirect.counters import RedirectCounters
from kurz.redirect.hot import HotSet
from kurz.redirect.lane import Lane
from kurz.redirect.parts import RedirectParts
from kurz.server.capacity import Capacity
from kurz.server.connection import Connection
from kurz.server.overload import BoundedWork, WorkKind
from kurz.server.quick_refusals import QuickRefusals
from support.clock import FrozenClock
from support.stage import Wire

POST = "POST {path} HTTP/1.1\r\n{host}Content-Length: 2\r\n{field}\r\n{{}}"
OURS, OWN_DOMAIN = "Host: s.example\r\n", "Host: own.example\r\n"
KNOWN = {b"s.example": Site(0), b"own.example": Site(5, is_custom_domain=True)}


async def app(*_: object) -> None: ...


def request(path: str = "/api/v1/links", host: str = OURS, field: str = "") -> bytes:
    return POST.format(path=path, host=host, field=field).encode()


def make_lane(counters: RedirectCounters) -> Lane:
    """One that knows no link."""
    nothing: Any = None
    resolver: Any = SimpleNamespace(hot=HotSet(1, 1), is_feed_stale=False)
    visits: Any = SimpleNamespace(generation=0, counters=counters)
    fresh = SimpleNamespace(fresh_until_ns=2**63)
    parts = RedirectParts(resolver, nothing, visits, nothing, FrozenClock())
    lane = Lane(parts, nothing, nothing, fresh)
    lane.renew(5)
    return lane


async def refuse(*chunks: bytes, creates: int = 0) -> tuple[list[int], int]:
    """The statuses of quick answers, and how many refusals are counted."""
    bounded = BoundedWork(app, {**dict.fromkeys(WorkKind, 0), WorkKind.CREATES: creates})
    quick = QuickRefusals(bounded, SimpleNamespace(known=KNOWN))
    answers = [answer for chunk in chunks if (answer := quick.answer(chunk)) is not None]
    assert len(answers) == quick.answers
    statuses = [int(answer.removeprefix(b"HTTP/1.1 ")[:3]) for answer in answers]
    return statuses, bounded.counts()["creates_refused"]


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
        request(field="Connection: keep-alive\r\n").replace(b"HTTP/1.1", b"HTTP/1.0"),
        request()[:-1],
        request() + b"GET",
        request().replace(b"Content-Length: 2", b"Content-Length: x"),
        request("/api/v1/auth/login"),
        request().replace(b"POST", b"GET"),
    ],
)
async def test_all_others_take_the_asgi_path_and_are_counted_there(chunk):
    assert await refuse(chunk) == ([], 0)
    # The parser begins anew behind each of them.
    assert await refuse(chunk, request()) == ([503], 1)


async def test_as_many_as_there_are_places_for_come_to_their_task():
    assert await refuse(*[request()] * 5, creates=3) == ([503] * 2, 2)


async def test_an_answer_is_written_before_its_connection_is_closed_to_make_room():
    bounded = BoundedWork(app, dict.fromkeys(WorkKind, 0))
    counters = RedirectCounters()
    lane = make_lane(counters)
    lane.answer_other = QuickRefusals(bounded, SimpleNamespace(known=KNOWN)).answer
    capacity, state = Capacity(1, flush=lane.flush), ServerState()
    config = uvicorn.Config(bounded, interface="asgi3", lifespan="off", log_config=None, ws="none")
    wires = [Wire(), Wire()]
    refused, newcomer = (
        Connection(config, state, {}, shortcut=lane.answer, capacity=capacity) for _ in wires
    )
    refused.connection_made(wires[0])
    deadline = refused.deadline
    wires[0].on_write = lambda _: open_at_writing.append(not wires[0].is_closed)
    open_at_writing: list[bool] = []
    refused.data_received(request())
    assert refused.deadline != deadline
    assert open_at_writing == []
    newcomer.connection_made(wires[1])  # in the same turn of the loop
    assert open_at_writing == [True]
    assert wires[0].statuses == [503]
    assert wires[0].is_closed
    assert counters.lane_answers == 0
    await asyncio.sleep(0)
    assert wires[0].statuses == [503]
    for connection in (refused, newcomer):
        connection.connection_lost(None)
