"""The lane does not answer from a memory that is in doubt."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kurz.freshness.ports import NotNow
from kurz.freshness.routes import Route
from kurz.redirect.hot import HotSet
from kurz.redirect.lane import Lane, LaneResult
from kurz.redirect.parts import RedirectParts
from kurz.redirect.resolve import Resolver
from support.clock import FrozenClock
from support.links import route

HEAD = b" HTTP/1.1\r\nHost: a\r\n\r\n"
CLOCK = FrozenClock()
ROUTE = route()


class Store:
    def peek(self, workspace_id: int, short_code: str) -> Route | None:
        raise NotNow

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        return ROUTE


class Client:
    """A connection whose head the lane has read before."""

    def __init__(self, lane: Lane) -> None:
        self.transport: Any = None
        self.client: tuple[str, int] | None = ("127.0.0.1", 1)
        self.deadline = 0.0
        self.lane_head: bytes | None = HEAD
        self.lane_parsed: Any = SimpleNamespace(
            epoch=lane._epoch,
            prefix=b"",
            visit=b"",
            subject="127.0.0.1",
            page_language="",
            closes=False,
        )
        self.is_last = self.is_waiting = False
        self.until: asyncio.Task[Any] | None = None

    def park(self, data: bytes, began_ns: int, until: asyncio.Task[Any]) -> None:
        self.is_waiting, self.until = True, until


@pytest.mark.parametrize("is_feed_stale", [False, True])
async def test_a_link_in_memory_is_looked_up_again_before_it_is_answered(is_feed_stale):
    resolver = Resolver(HotSet(100, 10**9), Store(), CLOCK)
    await resolver.get(0, "abc")
    misses: Any = SimpleNamespace(is_slowed=lambda _: False)
    nothing: Any = None
    visits: Any = SimpleNamespace(generation=0, counters=None)
    parts = RedirectParts(resolver, nothing, visits, misses, CLOCK)
    lane = Lane(parts, nothing, nothing, SimpleNamespace(fresh_until_ns=2**63))
    resolver.set_stale(is_feed_stale=is_feed_stale)
    lane.renew(5)
    lane._call_soon = lambda _: None
    client = Client(lane)
    data = b"GET /abc" + HEAD
    result = lane.answer(client, data)
    assert result is (LaneResult.PARKED if is_feed_stale else LaneResult.ANSWERED)
    assert client.is_waiting is is_feed_stale
    if client.until is not None:
        await client.until
        client.is_waiting = False
        assert lane.answer(client, data) is LaneResult.ANSWERED  # it was checked a moment ago
        assert not client.is_waiting
