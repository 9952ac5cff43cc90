"""SQLite that is locked, full or broken: 503 for what needs it."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from support.outages import (
    ANSWER_SECONDS,
    check_outage,
    check_refused_start,
    create,
    run_serve,
    timed,
)
from support.program import Program
from support.slack import slack

pytestmark = pytest.mark.deadlines
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
