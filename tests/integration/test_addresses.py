"""kurz on IPv4, on IPv6 and on a Unix socket: every kind of traffic gets its redirects, and
each is counted once, even if the server is killed."""

import asyncio
import json
import socket
import stat
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kurz.clicks.trimming import network_of
from support.http import BASE_URL, HOST, Line, make_world, request
from support.journal_reader import Click, read_all
from support.modes import MODES, D, Mode
from support.program import Program

VISITS = 60  # in each mode of traffic
AT_ONCE = 12
KILLS = 2


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


async def visit(program: Program, mode: Mode, number: int) -> int:
    """On one connection after another, each as long as the mode has it; gives the number of
    redirects. `number` tells those apart who visit at the same time."""
    line, found = None, 0
    async with AsyncExitStack() as lines:
        for place in range(VISITS // AT_ONCE):
            if line is None or not mode.keeps:
                line = await lines.enter_async_context(await Line.open(program))
            visitor = number + place if mode.varies else number
            answer = await line.ask(mode.request("/live", visitor, host=HOST.decode()))
            assert answer.status == 302
            found += 1
    return found


async def visit_in_every_mode(program: Program) -> int:
    found = await asyncio.gather(
        *(visit(program, mode, number) for mode in MODES for number in range(AT_ONCE))
    )
    return sum(found)


def recorded(tmp_path: Path) -> list[Click]:
    return [*read_all(tmp_path / "data" / "journal")]


async def test_every_redirect_is_recorded_with_the_visitor_whom_a_local_proxy_names(
    program, tmp_path
):
    visits = await visit_in_every_mode(program)
    assert visits == len(MODES) * VISITS
    clicks = recorded(tmp_path)
    assert len(clicks) == visits
    assert {click.network for click in clicks} == {network_of(bytes([192, 0, 2, 1]))}


async def test_no_kill_loses_or_doubles_a_redirect(program, tmp_path):
    answered = 0
    for _ in range(KILLS):
        for mode in MODES:
            answered += await visit(program, mode, 0)
        await asyncio.to_thread(program.kill)
        assert len(recorded(tmp_path)) >= answered
        await asyncio.to_thread(program.start)
    assert answered == len(MODES) * KILLS * (VISITS // AT_ONCE)
    await asyncio.to_thread(program.stop)
    await asyncio.to_thread(program.run, "jobs", "--once")
    stats = json.loads(await asyncio.to_thread(program.run, "stats", "live", "--json"))
    assert stats["totals"]["clicks"] == answered == len(recorded(tmp_path))


async def test_a_request_to_the_api_is_answered(program):
    body = b'{"original_url": "https://example.com/"}'
    fields = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    async with await Line.open(program) as line:
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


@pytest.mark.parametrize("address", ["unix"], indirect=True)
@pytest.mark.parametrize("end", [Program.stop, Program.kill])
def test_a_unix_socket_that_was_left_behind_is_replaced(program, address, end):
    path = Path(address.removeprefix("unix:"))
    end(program)
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
        client.connect(str(path))
    path.chmod(0o600)
    program.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert asyncio.run(visit(program, D, 0)) > 0
