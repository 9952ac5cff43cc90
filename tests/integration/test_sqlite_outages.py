"""A store that is away, locked, full or broken: 503 for what needs it, and well again after."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresPair, PostgresServer
from support import nursery
from support.long_run import in_the_long_run
from support.postgres_troubles import frozen, swallowed
from support.program import Program
from support.slack import slack

pytestmark = pytest.mark.deadlines

API = "/api/v1/links"
BROWSER = {"accept": "text/html"}
PERSON = {"email": "ada@example.com", "password": "correct horse battery staple"}
OTHER_HOST = {"host": "never.seen.example"}
RECOVERY_SECONDS = slack(5.0)
LATE_SECONDS = slack(0.7)
ANSWER_SECONDS = 2 + slack(1)  # that a create may wait
LOCK = """
import pysqlite3, sys
connection = pysqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""
CHECK = """
import pysqlite3, sys
print(pysqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone()[0])
"""


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may break."""
    with PostgresServer() as server:
        yield server


def create(client: httpx2.Client, url: str = "https://example.com/") -> httpx2.Response:
    return client.post(API, json={"original_url": url})


def check_outage(answer: httpx2.Response) -> None:
    """503 with a time to come back, as a page or as a problem, and no insides of ours."""
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["cache-control"] == "no-store"
    assert "location" not in answer.headers
    for inside in ("Traceback", "asyncpg", "sqlite", "127.0.0.1"):
        assert inside not in answer.text
    if answer.headers["content-type"] == "application/problem+json":
        assert answer.json()["type"] == "/api/problems/store-unavailable"
    else:
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


def await_recovery(client: httpx2.Client, path: str, status: int = 302) -> None:
    """Waits until a request gets through."""
    started = time.monotonic()
    while client.get(path).status_code != status:
        assert time.monotonic() - started < RECOVERY_SECONDS
        time.sleep(0.05)


def timed(
    call: Callable[..., httpx2.Response], *arguments: Any, **options: Any
) -> tuple[httpx2.Response, float]:
    """The answer to a call, and the seconds it took."""
    started = time.monotonic()
    answer = call(*arguments, **options)
    return answer, time.monotonic() - started


def test_postgres_killed_means_503_and_all_works_again_after_its_restart(
    own_postgres, start_program
):
    program = start_program(KURZ_DATABASE_URL=own_postgres.url())
    with program.client() as client:
        code = create(client, "https://example.com/kept").json()["short_code"]
        assert client.get(f"/{code}").status_code == 302
        other = create(client, "https://example.com/other").json()["short_code"]
        own_postgres.kill()
        for _ in range(15):  # more than the pool has connections
            check_outage(client.get(f"/{other}"))
            # What is in memory goes on working.
            assert client.get(f"/{code}").headers["location"] == "https://example.com/kept"
        for path in (f"/{other}", f"/{other}+", "/nothing", f"/@team/{code}"):
            for headers in ({}, BROWSER):
                answer, seconds = timed(client.get, path, headers=headers)
                check_outage(answer)
                assert seconds < ANSWER_SECONDS
        answer, seconds = timed(create, client)
        check_outage(answer)
        assert seconds < ANSWER_SECONDS
        check_outage(client.post("/", content="https://example.com/"))
        check_outage(client.get("/readyz"))
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.head(f"/{other}").status_code == 503
        own_postgres.start()
        await_recovery(client, f"/{other}")
        for _ in range(15):
            assert client.get(f"/{code}").headers["location"] == "https://example.com/kept"
        assert create(client).status_code == 201
        await_recovery(client, "/readyz", 200)
        assert client.get("/nothing").status_code == 404
    assert "request failed" not in program.log()


def test_postgres_restarted_behind_idle_connections_is_noticed_by_nobody(
    own_postgres, start_program
):
    program = start_program(KURZ_DATABASE_URL=own_postgres.url())
    with program.client() as client, ThreadPoolExecutor(8) as pool:
        code = create(client).json()["short_code"]
        # Opens several connections of the pool.
        assert {answer.status_code for answer in pool.map(client.get, [f"/{code}"] * 40)} == {302}
        own_postgres.kill()
        own_postgres.start()
        assert [client.get(f"/{code}").status_code for _ in range(10)] == [302] * 10


@pytest.mark.parametrize("trouble", [swallowed, *in_the_long_run(frozen)])
def test_a_postgres_that_hangs_means_503_in_bounded_time(own_postgres, start_program, trouble):
    with FaultProxy(own_postgres.port) as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
        program = start_program(KURZ_DATABASE_URL=url)
        with program.client() as client, ThreadPoolExecutor(20) as pool:
            kept = create(client).json()["short_code"]
            assert client.get(f"/{kept}").status_code == 302
            code = create(client).json()["short_code"]
            token = client.post("/api/v1/auth/register", json=PERSON).json()["token"]
            person = {"authorization": f"Bearer {token}"}
            with trouble(own_postgres, proxy):
                visits = [pool.submit(timed, client.get, f"/{code}") for _ in range(10)]
                visits.append(pool.submit(timed, client.get, f"/@team/{code}"))
                visits.append(pool.submit(timed, client.get, f"/{code}", headers=OTHER_HOST))
                creates = [pool.submit(timed, create, client) for _ in range(5)]
                creates.append(pool.submit(timed, client.get, "/readyz"))
                creates.append(pool.submit(timed, client.get, "/api/v1/me", headers=person))
                for calls, longest_seconds in ((visits, 0.25), (creates, 1.0)):
                    for call in calls:
                        answer, seconds = call.result()
                        check_outage(answer)
                        assert seconds < longest_seconds + LATE_SECONDS
                assert client.get("/healthz").status_code == 200
                assert client.get(f"/{kept}").status_code == 302
            await_recovery(client, f"/{code}")
            started = time.monotonic()
            while create(client).status_code != 201 or client.get("/readyz").status_code != 200:
                assert time.monotonic() - started < RECOVERY_SECONDS
        assert "request failed" not in program.log()


def test_when_the_standby_is_promoted_the_program_goes_on_with_it(start_program):
    with PostgresPair() as pair:
        hosts = f"127.0.0.1:{pair.primary.port},127.0.0.1:{pair.standby.port}"
        program = start_program(KURZ_DATABASE_URL=f"postgresql://postgres@{hosts}/postgres")
        with program.client() as client:
            codes = [create(client).json()["short_code"] for _ in range(20)]
            pair.primary.kill()
            check_outage(create(client))
            pair.standby.promote()
            for code in codes:
                await_recovery(client, f"/{code}")
            started = time.monotonic()
            while create(client).status_code != 201:
                assert time.monotonic() - started < RECOVERY_SECONDS
            assert client.get("/readyz").status_code == 200
        assert "request failed" not in program.log()


def test_a_start_without_postgres_says_so_in_one_line(tmp_path):
    ended = run_serve(tmp_path, KURZ_DATABASE_URL="postgresql://postgres@127.0.0.1:1/x")
    check_refused_start(ended, 69)


def run_serve(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A `kurz serve` that is expected to end by itself."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("KURZ_")}
    environment.setdefault("KURZ_DATA_DIR", str(tmp_path / "kurz-data"))
    done = nursery.run(["serve", "--port", "0"], {**inherited, **environment}, seconds=30)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def check_refused_start(ended: subprocess.CompletedProcess[str], status: int) -> None:
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("kurz: ")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.returncode == status


@contextmanager
def locked(database: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the write lock of a database."""
    command = [sys.executable, "-c", LOCK, str(database)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        yield holder
        assert holder.stdin is not None
        holder.stdin.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "kurz-data" / "kurz.db"


def test_while_another_process_writes_redirects_go_on_and_creates_wait_then_503(
    start_program, database
):
    program = start_program()
    with program.client() as client:
        code = create(client, "https://example.com/kept").json()["short_code"]
        with locked(database):
            answer, seconds = timed(create, client)
            check_outage(answer)
            assert "database is locked" not in answer.text  # the driver's words
            assert 1.5 < seconds < ANSWER_SECONDS
            for _ in range(20):
                answer, seconds = timed(client.get, f"/{code}")
                assert (answer.status_code, answer.headers["location"]) == (
                    302,
                    "https://example.com/kept",
                )
                assert seconds < 2  # what a write may wait
            assert client.get("/nothing").status_code == 404
            assert client.get("/readyz").status_code == 200
        answer, seconds = timed(create, client)
        assert answer.status_code == 201
        assert seconds < slack(1)
    assert "request failed" not in program.log()


def test_a_create_that_finds_the_lock_gone_in_time_succeeds(start_program, database):
    program = start_program()
    with program.client() as client, ThreadPoolExecutor(8) as pool:
        create(client)
        with locked(database):
            waiting = [pool.submit(create, client) for _ in range(8)]
            time.sleep(0.7)
        assert [future.result().status_code for future in waiting] == [201] * 8


def test_no_create_waits_longer_because_others_wait_too(start_program, database):
    program = start_program()
    with program.client() as client, ThreadPoolExecutor(2) as pool:
        create(client)
        with locked(database):
            first = pool.submit(timed, create, client)
            time.sleep(0.3)
            second = pool.submit(timed, create, client)
            for answer, seconds in (first.result(), second.result()):
                check_outage(answer)
                assert seconds < ANSWER_SECONDS


def test_a_start_under_a_lock_waits_for_it_or_says_so_in_one_line(
    tmp_path, start_program, database
):
    start_program().stop()
    with locked(database):
        check_refused_start(run_serve(tmp_path), 69)


def limit_files(program: Program, size: int) -> None:
    """No file of the program may grow beyond this size: for it the disk is full there."""
    for pid in (program.process.pid, *program.children):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def fill(client: httpx2.Client, acknowledged: dict[str, str]) -> None:
    """Creates links until the disk is full."""
    for number in range(2000):
        url = f"https://example.com/{number}/{'x' * 1000}"
        answer = create(client, url)
        if answer.status_code != 201:
            check_outage(answer)
            return
        acknowledged[answer.json()["short_code"]] = url
    pytest.fail("the disk was never full")


def check_all(client: httpx2.Client, acknowledged: dict[str, str]) -> None:
    for code, url in acknowledged.items():
        answer = client.get(f"/{code}")
        assert (answer.status_code, answer.headers["location"]) == (302, url)


def integrity(database: Path) -> str:
    return subprocess.check_output([sys.executable, "-c", CHECK, database], text=True).strip()


def test_a_full_disk_stops_creates_only_and_loses_nothing(start_program, database):
    program = start_program()
    acknowledged: dict[str, str] = {}
    largest = max(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))
    with program.client() as client:
        limit_files(program, largest + 200_000)
        fill(client, acknowledged)
        assert len(acknowledged) > 10
        limit_files(program, 4096)  # not even a small write fits any more
        for _ in range(5):
            check_outage(create(client))
            check_outage(client.post("/", content="https://example.com/"))
        check_all(client, acknowledged)
        assert client.get("/healthz").status_code == 200
        # Room again: no restart is needed.
        limit_files(program, resource.RLIM_INFINITY)
        url = "https://example.com/after"
        after = create(client, url)
        assert after.status_code == 201
        acknowledged[after.json()["short_code"]] = url
        # Full again, and then killed on the spot.
        limit_files(program, 4096)
        check_outage(create(client))
    assert "request failed" not in program.log()
    program.kill()
    program.start()
    with program.client() as client:
        check_all(client, acknowledged)
        assert create(client).status_code == 201
    assert program.stop() == 0
    assert integrity(database) == "ok"


def test_a_full_disk_for_the_log_harms_no_answer(tmp_path):
    program = Program({"KURZ_DATA_DIR": str(tmp_path / "kurz-data")}, Path("/dev/full")).start()
    try:
        with program.client() as client:
            address = client.post("/", content="https://example.com/").text.strip()
            for _ in range(3):
                assert client.get("/nothing").status_code == 404
                assert create(client, "javascript:x").status_code == 422
                assert client.get(address).status_code == 302
        with program.client(limits=httpx2.Limits(max_connections=1)) as client:
            ports = set()
            for _ in range(3):
                answer = client.get("/nothing")
                stream = answer.extensions["network_stream"]
                ports.add(stream.get_extra_info("client_addr")[1])
            assert len(ports) == 1  # the connection was kept
    finally:
        program.stop()


BROKEN: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"not a database at all " * 1000),
    "a folder": lambda path: path.mkdir(),
    "cut off": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(60)),
    "not to be opened": lambda path: path.symlink_to(path.parent / "nowhere" / "kurz.db"),
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN)
def test_a_start_on_a_file_that_is_no_database_says_so_in_one_line(tmp_path, database, spoil):
    database.parent.mkdir()
    spoil(database)
    ended = run_serve(tmp_path)
    assert ended.returncode in (69, 78)
    check_refused_start(ended, ended.returncode)


def test_a_start_in_a_data_folder_that_cannot_be_made_says_so_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    ended = run_serve(tmp_path, KURZ_DATA_DIR=str(tmp_path / "file" / "kurz-data"))
    assert ended.returncode in (69, 78)
    check_refused_start(ended, ended.returncode)


def test_a_database_spoilt_under_a_running_program_means_503(start_program, database):
    program = start_program()
    with program.client() as client:
        code = create(client).json()["short_code"]
        for path in database.parent.glob("kurz.db*"):
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.write(b"\xa5" * size)
        for _ in range(3):
            check_outage(create(client))
            assert client.get(f"/{code}").status_code in (302, 503)
        assert client.get("/healthz").status_code == 200
    assert "request failed" not in program.log()


def test_no_create_is_acknowledged_into_a_database_that_was_removed(start_program, database):
    program = start_program()
    with program.client() as client:
        create(client)
        for path in database.parent.glob("kurz.db*"):
            path.unlink()
        check_outage(create(client))
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
    assert "request failed" not in program.log()
