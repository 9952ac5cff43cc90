"""More clients than a server may open files for: everybody is answered, whatever the others do."""

import asyncio
import contextlib
import re
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support import http
from support.feed import until
from support.http import BASE_URL, Line, get, make_world
from support.long_run import in_the_long_run
from support.program import Program

ORDINARY = get("/live")
# Visitors between their connection and their answer. With thousands at once, this process would
# take longer to send a request than the server waits for one when it is full.
ARRIVING = 200
SLOW = b"POST /api/v1/links HTTP/1.1\r\nHost: kurz.test\r\nContent-Length: 1000\r\n\r\n{"


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """The clients' own."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crowds")
    asyncio.run(make_world(folder / "data"))
    return folder


def start(world: Path, file_limit: int, workers: int) -> Program:
    environment = {
        "KURZ_DATA_DIR": str(world / "data"),
        "KURZ_BASE_URL": BASE_URL,
        "KURZ_METRICS": "public",
        "KURZ_WORKERS": str(workers),
    }
    return Program(environment, world / "log", file_limit=file_limit).start()


async def visit(program: Program, lines: list[Line]) -> int:
    """The status that a visitor gets, who then keeps the connection open."""
    line = await Line.open(program)
    lines.append(line)
    answer = await line.ask(ORDINARY)
    return answer.status


def metrics(program: Program) -> dict[str, int]:
    with program.client() as client:
        text = client.get("/metrics").text
    return {n: int(float(v)) for n, v in re.findall(r"(?m)^kurz_(connections\w*) (\S+)$", text)}


@asynccontextmanager
async def kept_open() -> AsyncIterator[list[Line]]:
    lines: list[Line] = []
    try:
        yield lines
    finally:
        for line in lines:
            with contextlib.suppress(OSError):  # the server has closed it
                line.reset()


# Hard limits of open files, workers, and visitors: many times what fits.
CROWDS = [(256, 1, 600), (256, 2, 900)]
LARGE_CROWDS = [(1024, 1, 3000), (1024, 2, 5000)]


@pytest.mark.parametrize(
    ("file_limit", "workers", "visitors"), [*CROWDS, *in_the_long_run(*LARGE_CROWDS)]
)
async def test_visitors_who_keep_their_connections_are_all_answered(
    world, file_limit, workers, visitors
):
    program = start(world, file_limit, workers)
    try:
        async with kept_open() as lines:
            arriving = asyncio.Semaphore(ARRIVING)

            async def arrive() -> int:
                async with arriving:
                    return await visit(program, lines)

            visits = (arrive() for _ in range(visitors))
            assert set(await asyncio.gather(*visits)) == {302}
            found = metrics(program)
        assert found["connections_cap"] < file_limit * workers
        assert found["connections"] <= found["connections_cap"] + workers
        assert found["connections_closed_early_total"] > 0
        assert found["connections_refused_total"] == 0
        await until(lambda: "too many connections" in program.log())  # told once a second
    finally:
        program.stop()
    http.check_log(program)


@pytest.mark.parametrize(("file_limit", "slow"), [(256, 260), *in_the_long_run((1024, 1050))])
async def test_slow_bodies_keep_no_visitor_out(world, file_limit, slow):
    """They come back whenever they are closed."""

    async def drip() -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError):
                async with await Line.open(program) as line:
                    await line.send(SLOW)
                    while True:
                        with contextlib.suppress(TimeoutError):
                            await line.rest(8.0)
                            break
                        await line.send(b" ")
            await asyncio.sleep(1)

    program = start(world, file_limit, 1)
    dripping = [asyncio.create_task(drip()) for _ in range(slow)]
    try:
        await asyncio.sleep(1)
        async with kept_open() as lines:
            visits = [await visit(program, lines) for _ in range(slow)]
        assert visits == [302] * slow
        assert metrics(program)["connections_refused_total"] == 0
    finally:
        for task in dripping:
            task.cancel()
        await asyncio.gather(*dripping, return_exceptions=True)
        program.stop()


def test_the_soft_limit_of_files_is_raised_to_the_hard_one(world):
    program = start(world, 300, 1)
    try:
        for pid in (program.process.pid, *program.children):
            assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (300, 300)
    finally:
        program.stop()
