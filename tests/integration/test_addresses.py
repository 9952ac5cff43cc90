"""kurz on IPv4, on IPv6 and on a Unix socket: every kind of traffic gets its redirects, and
each is counted once, even if the server is killed."""

import asyncio
import itertools
import json
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kurz.clicks.segments import list_segments
from kurz.clicks.trimming import network_of
from support.http import BASE_URL, Answer, Line, get, make_world, request
from support.journal_reader import Click, read
from support.program import Program

VISITS = 60  # in each shape of traffic
AT_ONCE = 12
KILLS = 2

Open = Callable[[], Awaitable[Line]]
Visit = Callable[[Open, int], Awaitable[int]]


@pytest.fixture(params=["ipv4", "ipv6", "unix"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    unix = f"unix:{tmp_path / 'kurz.sock'}"
    return {"ipv4": "127.0.0.1", "ipv6": "::1", "unix": unix}[request.param]


@pytest.fixture
def program(address: str, tmp_path: Path) -> Iterator[Program]:
    asyncio.run(make_world(tmp_path / "data"))
    environment = {
        "KURZ_DATA_DIR": str(tmp_path / "data"),
        "KURZ_BASE_URL": BASE_URL,
        "KURZ_HOST": address,
    }
    started = Program(environment, tmp_path / "log").start()
    yield started
    started.stop()


def opener(program: Program, address: str) -> Open:
    async def open_line() -> Line:
        path = address.removeprefix("unix:")
        if path != address:
            return Line(*await asyncio.open_unix_connection(path))
        return Line(*await asyncio.open_connection(address, program.port))

    return open_line


def head(number: int, *fields: str, version: str = "1.1") -> bytes:
    return get("/live", f"X-Forwarded-For: 192.0.2.{number % 200}", *fields, version=version)


async def same(open_line: Open, _: int) -> int:
    """The same head again and again."""
    return await _keep(open_line, itertools.repeat(head(1)))


async def others(open_line: Open, _: int) -> int:
    """Every request is another visitor's."""
    return await _keep(open_line, (head(n, f"X-Request-Id: {n}") for n in itertools.count()))


async def _keep(open_line: Open, heads: Iterator[bytes]) -> int:
    async with await open_line() as line:
        answers = [await line.ask(data) for data in itertools.islice(heads, VISITS // AT_ONCE)]
        return sum(map(is_redirect, answers))


async def old(open_line: Open, number: int) -> int:
    """HTTP/1.0, as behind nginx's plain `proxy_pass`."""
    return await _once(open_line, lambda n: head(n, version="1.0"), number)


async def new(open_line: Open, number: int) -> int:
    """A connection for each visit."""
    return await _once(open_line, head, number)


async def _once(open_line: Open, make: Callable[[int], bytes], number: int) -> int:
    found = 0
    for place in range(VISITS // AT_ONCE):
        found += await _keep(open_line, iter([make(number + place)]))
    return found


def is_redirect(answer: Answer) -> bool:
    assert answer.status == 302
    return True


async def visit_in_every_shape(open_line: Open) -> int:
    shapes: list[Visit] = [same, others, old, new]
    found = await asyncio.gather(
        *(shape(open_line, number) for shape in shapes for number in range(AT_ONCE))
    )
    return sum(found)


def recorded(tmp_path: Path) -> list[Click]:
    journal = tmp_path / "data" / "journal"
    return [click for segment in list_segments(journal) for click, _ in read(segment)]


async def test_every_redirect_is_recorded_with_the_visitor_whom_a_local_proxy_names(
    program, address, tmp_path
):
    visits = await visit_in_every_shape(opener(program, address))
    assert visits == 4 * VISITS
    clicks = recorded(tmp_path)
    assert len(clicks) == visits
    assert {click.network for click in clicks} == {network_of(bytes([192, 0, 2, 1]))}


async def test_no_kill_loses_or_doubles_a_redirect(program, address, tmp_path):
    answered = 0
    for _ in range(KILLS):
        open_line = opener(program, address)
        for shape in (same, others, old, new):
            answered += await shape(open_line, 0)
        await asyncio.to_thread(program.kill)
        assert len(recorded(tmp_path)) >= answered
        await asyncio.to_thread(program.start)
    assert answered == 4 * KILLS * (VISITS // AT_ONCE)
    await asyncio.to_thread(program.stop)
    await asyncio.to_thread(program.run, "jobs", "--once")
    stats = json.loads(await asyncio.to_thread(program.run, "stats", "live", "--json"))
    assert stats["totals"]["clicks"] == answered == len(recorded(tmp_path))


async def test_a_request_to_the_api_is_answered(program, address):
    body = b'{"original_url": "https://example.com/"}'
    fields = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    async with await opener(program, address)() as line:
        made = await line.ask(
            request("POST /api/v1/links HTTP/1.1", "Host: kurz.test", *fields, body=body)
        )
    assert made.status == 201
    assert BASE_URL.encode() in made.body


@pytest.mark.parametrize("address", ["unix"], indirect=True)
def test_only_one_server_listens_on_a_unix_socket(program, address, tmp_path):
    path = Path(address.removeprefix("unix:"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    environment = {"KURZ_BASE_URL": BASE_URL, "KURZ_HOST": address}
    second = Program({**environment, "KURZ_DATA_DIR": str(tmp_path / "other")}, tmp_path / "log-2")
    with pytest.raises(AssertionError, match="Address already in use"):
        second.start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
