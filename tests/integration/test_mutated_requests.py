"""The fast lane and the ASGI path answer alike and record alike, whatever is in a head and in
whichever mode it comes."""

import asyncio
import re
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from support import http
from support.http import SECONDS, comparable, from_where_they_differ, get
from support.journal_reader import read_all
from support.long_run import in_the_long_run
from support.mutations import VISITS, Case, cases
from support.program import Program
from support.wire import socket_address

AT_ONCE = 100
# Until the next request is sent without an answer. A whole head is answered even if its body is
# not whole, but what comes instead of the body may be refused first.
PATIENCE_SECONDS = (0.1, 10.0)
END_OF_HEAD = re.compile(rb"\n\r?\n")
SILENCE_SECONDS = 2.0
LAST = get("/live-1", "Connection: close")


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[dict[str, Program]]:
    programs = http.start_pair(tmp_path, KURZ_WORKERS="1")
    yield programs
    for program in programs.values():
        program.stop()
        http.check_log(program)


async def answers(program: Program, case: Case) -> bytes:
    visits = [case.visit(number) for number in range(VISITS)]
    scripts = [visits] if case.mode.keeps else [[visit] for visit in visits]
    return b"".join([await exchange(program, script) for script in scripts])


async def exchange(program: Program, requests: Sequence[Sequence[bytes]]) -> bytes:
    """All that comes back over a connection for requests in pieces, and a last one, which ends it.
    Also what came before a server that reads no more has reset the connection."""
    loop = asyncio.get_running_loop()
    received, has_news = bytearray(), asyncio.Event()
    family, address = socket_address(program.host, program.port)
    with socket.socket(family) as raw:
        raw.settimeout(0)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await loop.sock_connect(raw, address)

        async def read() -> None:
            with suppress(ConnectionError):
                while data := await loop.sock_recv(raw, 65_536):
                    received.extend(data)
                    has_news.set()
            has_news.set()

        reading = asyncio.create_task(read())
        for pieces in [*requests, [LAST]]:
            has_news.clear()
            with suppress(ConnectionError):
                for piece in pieces:
                    await loop.sock_sendall(raw, piece)
                    await asyncio.sleep(0.001)
            if pieces != [LAST] and not reading.done():
                is_whole = END_OF_HEAD.search(b"".join(pieces)) is not None
                with suppress(TimeoutError):
                    await asyncio.wait_for(has_news.wait(), PATIENCE_SECONDS[is_whole])
        await asyncio.wait([reading], timeout=SILENCE_SECONDS)
        if not reading.done():  # the last one was taken for a part of what was not whole
            with suppress(OSError):
                raw.shutdown(socket.SHUT_WR)
        await asyncio.wait_for(reading, SECONDS)
    return comparable(bytes(received))


def recorded(folder: Path) -> Counter[tuple[object, ...]]:
    """All but when it was and how long it took."""
    return Counter(
        (
            click.link_id,
            click.workspace_id,
            click.flags,
            click.network,
            click.visitor,
            click.language,
            click.referrer,
            click.user_agent,
        )
        for click in read_all(folder / "journal")
    )


@pytest.mark.parametrize("count", [400, *in_the_long_run(10_000)])
async def test_mutated_requests_are_answered_and_recorded_alike(programs, tmp_path, count):
    turns = asyncio.Semaphore(AT_ONCE)
    statuses: Counter[bytes] = Counter()
    differing = []

    async def compare(case: Case) -> None:
        async with turns:
            on, off = await asyncio.gather(*(answers(each, case) for each in programs.values()))
        statuses.update(re.findall(rb"HTTP/1\.1 (\d+) ", on))
        if on != off:
            differing.append(case)
            print(case, *from_where_they_differ(on, off), sep="\n")

    await asyncio.gather(*(compare(case) for case in cases(seed=count, count=count)))
    print(f"{count} requests: {dict(statuses)}")
    assert not differing, len(differing)
    on, off = (recorded(tmp_path / lane) for lane in ("on", "off"))
    assert on == off, (on - off, off - on)
    assert len(on) > count / 4
