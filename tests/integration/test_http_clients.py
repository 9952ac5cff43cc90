"""Clients that idle, trickle, send junk, never read or leave: what they cost themselves, and that
they cost nobody else anything."""

import asyncio
import contextlib
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import http
from support.http import END, Line, get, request
from support.long_run import in_the_long_run
from support.program import Program
from support.slack import slack

pytestmark = pytest.mark.deadlines

KEEP_ALIVE_SECONDS = 2
HEAD_SECONDS = 10.0
WATCH_SECONDS = 1.0  # how late the server may notice that a time is over
SLACK_SECONDS = slack(3.0)
EARLY_SECONDS = 3.0  # a client that begins late
DEFER_SECONDS = 3.0  # until a connection is accepted that brings nothing
MAX_HEAD_BYTES = 16 * 1024
TRICKLING = 200
MAX_UNREAD_BYTES = 300_000_000  # by 35 clients; 40 to 134 million were seen
ORDINARY = get("/live")


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """As many as there may be: a thousand connections, beside what others have open."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Program]]:
    """With and without the fast lane. What takes long is done to both at once."""
    folder = tmp_path_factory.mktemp("clients")
    programs = http.start_pair(folder, KURZ_KEEP_ALIVE_SECONDS=str(KEEP_ALIVE_SECONDS))
    yield programs
    for program in programs.values():
        asyncio.run(_check_it_serves(program))
        program.stop()
        http.check_log(program)


@pytest.fixture(params=["on", "off"])
def program(programs: dict[str, Program], request: pytest.FixtureRequest) -> Program:
    return programs[request.param]


async def _check_it_serves(program: Program) -> None:
    async with await Line.open(program) as line:
        await hit(line)


async def hit(line: Line) -> float:
    """The seconds it took."""
    began = time.monotonic()
    answer = await line.ask(ORDINARY)
    assert (answer.status, answer.header("location")) == (302, http.URL)
    return time.monotonic() - began


def resident_bytes(program: Program) -> int:
    """Of the workers: the jobs process grows by itself, while it starts."""
    pages = [Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in program.workers]
    return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE")


# Time


async def test_an_idle_connection_ends_after_its_time_and_not_before(programs):
    async def idle(program: Program, data: bytes) -> None:
        async with await Line.open(program) as line:
            await line.ask(data)
            await asyncio.sleep(KEEP_ALIVE_SECONDS * 0.4)
            await line.ask(data)
            began = time.monotonic()
            assert await line.rest() == b""
            seconds = time.monotonic() - began
        # The lane's time is renewed once a second, for all connections at once.
        assert seconds > KEEP_ALIVE_SECONDS - WATCH_SECONDS - 0.1, data
        assert seconds < KEEP_ALIVE_SECONDS + WATCH_SECONDS + SLACK_SECONDS, data

    requests = [ORDINARY, get("/unknown"), get("/healthz"), get("/live", method="HEAD")]
    await asyncio.gather(*(idle(p, data) for p in programs.values() for data in requests))


async def test_every_answer_renews_the_time(programs):
    async def go_on(program: Program, requests: list[bytes]) -> None:
        async with await Line.open(program) as line:
            await line.ask(get("/healthz"))  # from here on it is the idle time that runs
            for number in range(8):
                await line.ask(requests[number % len(requests)])
                await asyncio.sleep(0.5)
            await hit(line)

    mixes = [[ORDINARY], [ORDINARY, get("/healthz")], [get("/unknown")], [get("/healthz")]]
    await asyncio.gather(*(go_on(p, mix) for p in programs.values() for mix in mixes))


POST = b"POST / HTTP/1.1\r\nHost: kurz.test\r\nContent-Length: 1000\r\n\r\n"
# Nothing at all, a head, a head behind an answer, a body.
OPENINGS = [
    b"",
    b"GET /live HTTP/1.1\r\nX: ",
    ORDINARY + b"GET /",
    get("/healthz") + b"GET /",
    POST,
]


@pytest.mark.long
@pytest.mark.parametrize("count", [TRICKLING, *in_the_long_run(2000)])
async def test_trickling_clients_are_cut_off_and_slow_nobody_down(programs, count):
    """A byte a second each."""
    ended: list[float] = []

    async def trickle(program: Program, opening: bytes) -> None:
        async with await Line.open(program) as line:
            await line.send(opening)
            began = time.monotonic()
            for _ in range(60):
                with contextlib.suppress(TimeoutError):
                    received = await line.rest(1.0)
                    break
                if opening:
                    with contextlib.suppress(ConnectionError):
                        await line.send(b"x")
            statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
            assert statuses[-1:] == ([b"408"] if opening else []), opening
            ended.append(time.monotonic() - began)

    async def visit(program: Program) -> float:
        await asyncio.sleep(2)
        async with await Line.open(program) as line:
            return sorted([await hit(line) for _ in range(200)])[100]

    clients = [
        asyncio.create_task(trickle(program, opening))
        for program in programs.values()
        for opening in OPENINGS * (count // len(OPENINGS))
    ]
    for median in await asyncio.gather(*map(visit, programs.values())):
        assert median < slack(0.05)
    assert not ended
    await asyncio.gather(*clients)
    assert len(ended) == len(clients)
    assert min(ended) > HEAD_SECONDS - EARLY_SECONDS
    # One that sends nothing at all is met later.
    assert max(ended) < DEFER_SECONDS + HEAD_SECONDS + WATCH_SECONDS + SLACK_SECONDS


async def test_a_body_that_turns_to_junk_is_refused(programs):
    async def turn(program: Program) -> None:
        head = b"POST / HTTP/1.1\r\nHost: kurz.test\r\nTransfer-Encoding: chunked\r\n\r\n"
        async with await Line.open(program) as line:
            await hit(line)
            await line.send(head + b"5\r\nhttps\r\n")
            await asyncio.sleep(0.1)
            await line.send(b"zz\r\n")
            answer = await line.answer()
            assert answer is not None
            assert answer.status == 400
            assert await line.rest() == b""

    await asyncio.gather(*map(turn, programs.values()))


# Size


def _long(size: int, kind: str) -> bytes:
    """A request whose head counts `size` bytes."""
    frame = {
        "one header": b"GET /live HTTP/1.1\r\nHost: kurz.test\r\nX: %s\r\n\r\n",
        "many headers": b"GET /live HTTP/1.1\r\nHost: kurz.test\r\n%s\r\n",
        "query": b"GET /live?%s HTTP/1.1\r\nHost: kurz.test\r\n\r\n",
    }[kind]
    free = size - len(frame) + 2
    return frame % (b"X: 4567\r\n" * (free // 9) if kind == "many headers" else b"x" * free)


@pytest.mark.parametrize("kind", ["one header", "many headers", "query"])
@pytest.mark.parametrize("pieces", [1, 2, 40])
async def test_a_head_may_have_16_kib_and_no_more(program, kind, pieces):
    for size, status in [(MAX_HEAD_BYTES - 100, 302), (MAX_HEAD_BYTES + 600, 431)]:
        for is_warm in (False, True):
            async with await Line.open(program) as line:
                if is_warm:
                    await hit(line)
                data = _long(size, kind)
                step = len(data) // pieces + 1
                for start in range(0, len(data), step):
                    if pieces > 1:
                        await asyncio.sleep(0.002)
                    await line.send(data[start : start + step])
                answer = await line.answer()
                assert answer is not None
                assert answer.status == status
                if status == 302:
                    await hit(line)
                else:
                    assert await line.rest() == b""


@pytest.mark.parametrize(
    "start",
    [
        b"GET /",
        b"GET /live?",
        b"GET /live HTTP/1.1\r\nHost: kurz.test\r\nX: ",
        b"GET / HTTP/1.1\r\nX",
    ],
)
async def test_a_head_without_end_is_refused_while_it_arrives(program, start):
    async with await Line.open(program) as line:
        await hit(line)
        await line.send(start)
        with contextlib.suppress(ConnectionError):
            for _ in range(30):
                await line.send(b"x" * 1000)
                await asyncio.sleep(0.001)
        answer = await line.answer()
        assert answer is not None
        assert answer.status == 431
        assert await line.rest() == b""


FLOOD_BYTES = 40 * 1024 * 1024
CHUNKED = "Transfer-Encoding: chunked"
JSON = "Content-Type: application/json"
CREATE = request("POST /api/v1/links HTTP/1.1", "Host: kurz.test", JSON, CHUNKED)


@pytest.mark.parametrize(
    ("head", "flood", "statuses"),
    [
        # Small chunks up to the largest body there may be, then trailers; to a link, which does not
        # wait for a body; and without a token, which is refused without one.
        (CREATE, b"1\r\n \r\n", {413}),
        (CREATE + b"1\r\nx\r\n0\r\n", b"a:b\r\n", {431}),
        (get("/live", CHUNKED), b"1\r\n \r\n", {302}),
        (get("/live", CHUNKED) + b"0\r\n", b"a:b\r\n", {302, 431}),
        (get("/api/v1/me", CHUNKED), b"1\r\n \r\n", {401}),
    ],
)
async def test_a_flood_gets_its_answer_and_costs_nobody_else_anything(
    program, head, flood, statuses
):
    async def pour(line: Line) -> None:
        piece = flood * (65_536 // len(flood))
        with contextlib.suppress(ConnectionError):
            await line.send(head)
            for _ in range(FLOOD_BYTES // len(piece)):
                await line.send(piece)

    await _check_it_serves(program)
    before = resident_bytes(program)
    async with await Line.open(program) as line:
        pouring = asyncio.create_task(pour(line))
        answer = await line.answer()
        while not pouring.done():
            # A new one each time: on a busy machine, seconds may pass in which it would be idle.
            async with await Line.open(program) as other:
                assert await hit(other) < slack(0.5)
            assert resident_bytes(program) - before < 30 * 1024 * 1024
        await pouring
    assert answer is not None
    assert answer.status in statuses
    assert answer.closes


async def test_a_client_that_is_still_sending_sees_why_it_was_refused(program):
    """It reads only when it has sent everything."""
    body = b"x" * 900_000
    head = request("POST /api/v1/links HTTP/1.1", "Host: kurz.test", JSON, "Content-Length: 900000")
    async with await Line.open(program) as line:
        await line.send(head)
        for start in range(0, len(body), 100_000):
            await line.send(body[start : start + 100_000])
            await asyncio.sleep(0.02)
        answer = await line.answer()
        assert answer is not None
        assert answer.status == 413
        assert answer.closes
        assert await line.rest() == b""


# Clients that do not read, or leave


async def test_clients_that_never_read_cost_little_memory_and_nobody_else_time(programs):
    """One request at a time, which the lane takes, and as many as fit into a packet."""

    async def pour(program: Program, data: bytes, chunks: int) -> Line:
        line = await Line.open(program, buffer_bytes=4096, reads=False)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(4):
                for _ in range(chunks):
                    await line.send(data)
                    await asyncio.sleep(0)
        return line

    async def stand(program: Program) -> None:
        await _check_it_serves(program)
        before = resident_bytes(program)
        pouring = [pour(program, ORDINARY, 30_000) for _ in range(5)]
        pouring += [pour(program, ORDINARY * 5000, 100) for _ in range(30)]
        started = asyncio.gather(*pouring)
        await asyncio.sleep(2)
        async with await Line.open(program) as line:
            took = sorted([await hit(line) for _ in range(20)])
        lines = await started
        assert resident_bytes(program) - before < MAX_UNREAD_BYTES
        assert took[10] < slack(0.5)
        for line in lines:
            line.reset()

    await asyncio.gather(*map(stand, programs.values()))


async def test_a_client_that_resets_is_nobodys_mistake(program):
    beginnings = [
        b"",
        b"GET",
        ORDINARY,
        ORDINARY * 100,
        get("/healthz"),
        get("/healthz") * 100,
        b"POST / HTTP/1.1\r\nHost: kurz.test\r\nContent-Length: 100\r\n\r\nhttps",
        b"junk" + END,
    ]
    for data in beginnings * 3:
        for is_warm in (False, True):
            async with await Line.open(program) as line:
                if is_warm:
                    await hit(line)
                await line.send(data)
                line.reset()
    await _check_it_serves(program)
