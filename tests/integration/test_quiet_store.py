"""What is in memory is answered without the database: statements are counted at the driver."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
import structlog

from kurz.links.model import Draft
from kurz.settings.model import Settings
from kurz.wiring.core import Kurz
from support.clock import FrozenClock
from support.serving import serving

CONNECTIONS = 4
# The feed reads the log of changes once a second, whatever is served; on SQLite in a transaction.
FEED = "FROM changes"
AROUND = ("BEGIN", "ROLLBACK")
TICK_SECONDS = 1.2  # in which everything that runs each second has run
OPENING = "PRAGMA"  # of a connection: a thread that reads opens its own when it is first used


@pytest.fixture(params=["on", "off"], ids=["lane", "asgi"])
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return replace(settings, fast_lane=request.param, rate_limits="on")


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """As a server has them: not a line for every visit."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("info"))
    yield
    structlog.reset_defaults()


class Visitor:
    """A connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket()
        self._socket.settimeout(0)
        self._port = port

    async def visit(self, paths: list[str]) -> Counter[int]:
        """How often which status came back."""
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self._socket, ("127.0.0.1", self._port))
        statuses: Counter[int] = Counter()
        with self._socket:
            for path in paths:
                head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: test\r\n\r\n"
                await loop.sock_sendall(self._socket, head.encode())
                statuses[await self._status()] += 1
        return statuses

    async def _status(self) -> int:
        answer = b""
        while not _is_whole(answer):
            chunk = await asyncio.get_running_loop().sock_recv(self._socket, 65536)
            assert chunk, "closed before the answer was whole"
            answer += chunk
        return int(answer[9:12])


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    return len(body) == int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])


async def visit(port: int, paths: list[str]) -> Counter[int]:
    """Shares the visits out between some connections."""
    shares = [paths[number::CONNECTIONS] for number in range(CONNECTIONS)]
    counts = await asyncio.gather(*(Visitor(port).visit(share) for share in shares))
    return sum(counts, Counter())


async def make_links(
    kurz: Kurz, clock: FrozenClock, add_workspace: Callable[..., Awaitable[int]]
) -> tuple[list[str], list[str], list[str]]:
    """The paths of links that work, of some that have expired, and of some that never were."""
    team = await add_workspace("team")

    async def make(**fields: object) -> str:
        url = f"https://example.com/{uuid4()}"
        draft = Draft(original_url=url, **fields)  # type: ignore[arg-type]
        link = (await kurz.links.create(draft)).link
        return f"/@team/{link.short_code}" if link.workspace_id else f"/{link.short_code}"

    live = [await make() for _ in range(8)]
    live += [await make(redirect_status=301), await make(workspace_id=team)]
    live += [await make(forward_query=True) + "?a=1", await make(expires_in_seconds=7200)]
    expired = [await make(expires_in_seconds=60) for _ in range(4)]
    expired.append(await make(expires_in_seconds=60, workspace_id=team))
    clock.advance(seconds=120)
    return live, expired, [f"/nothing{number}" for number in range(5)] + ["/@team/nothing"]


async def check_silence(
    kurz: Kurz,
    clock: FrozenClock,
    statements: list[str],
    add_workspace: Callable[..., Awaitable[int]],
    *,
    hits: int,
    deaths: int,
) -> None:
    """As many hits, and as many expired hits and misses together."""
    live, expired, missing = await make_links(kurz, clock, add_workspace)
    async with serving(kurz) as port:
        statements.clear()
        first = await visit(port, [*live, *expired, *missing])
        assert any(" links" in text for text in statements)  # so they would be seen
        assert first == {302: len(live) - 1, 301: 1, 410: len(expired), 404: len(missing)}
        paths = _repeat(live, hits) + _repeat([*expired, *missing], deaths)
        statements.append("")
        while _of_visits(statements):  # what the start has left to the next second
            statements.clear()
            await asyncio.sleep(TICK_SECONDS)
        statements.clear()
        began = time.monotonic()
        statuses = await visit(port, paths)
        seconds = time.monotonic() - began
        seen = list(statements)
    ticks = sum(FEED in text for text in seen)
    others = _of_visits(seen)
    print(f"{dict(statuses)} in {seconds:.1f} s: {len(others)} statements, {ticks} of the feed")
    assert statuses[302] + statuses[301] == hits
    assert statuses[410] + statuses[404] == deaths
    assert others == []
    assert ticks <= seconds + 1
    # One of each may belong to what was under way when the counting began or ended.
    assert all(seen.count(text) <= ticks + 1 for text in AROUND)


def _of_visits(seen: list[str]) -> list[str]:
    return [
        text
        for text in seen
        if FEED not in text and text not in AROUND and not text.startswith(OPENING)
    ]


def _repeat(paths: list[str], count: int) -> list[str]:
    return (paths * (count // len(paths) + 1))[:count]


async def test_no_statement_is_needed_for_what_is_in_memory(statements, kurz, clock, add_workspace):
    await check_silence(kurz, clock, statements, add_workspace, hits=6000, deaths=4000)


@pytest.mark.long
async def test_no_statement_is_needed_for_many_more(statements, kurz, clock, add_workspace):
    await check_silence(kurz, clock, statements, add_workspace, hits=50_000, deaths=50_000)
