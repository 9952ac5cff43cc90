"""Clicks that cannot be recorded: their number survives a restart, and /readyz names the cause."""

import resource
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from kurz.clicks.dropped import DroppedClicks
from support.every_worker import wait_until
from support.program import Program

VISITS = 200
ADMIN = {"email": "ada@example.com", "password": "a long enough one"}
TOO_MUCH = "1000000"  # MiB


@pytest.fixture
def start(tmp_path: Path, start_program: Callable[..., Program]) -> Callable[..., Program]:
    def start(**settings: str) -> Program:
        return start_program(
            KURZ_DATA_DIR=str(tmp_path / "data"), KURZ_METRICS="public", **settings
        )

    return start


def create(client: httpx2.Client) -> str:
    answer = client.post("/api/v1/links", json={"original_url": "https://example.com/"})
    assert answer.status_code == 201
    return f"/{answer.json()['short_code']}"


def visit(client: httpx2.Client, path: str, times: int) -> None:
    for _ in range(times):
        assert client.get(path).status_code == 302


def metrics(client: httpx2.Client) -> dict[str, float]:
    lines = [line for line in client.get("/metrics").text.splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def lost_clicks(client: httpx2.Client, token: str) -> tuple[int, int, int]:
    """As an administrator is told."""
    headers = {"authorization": f"Bearer {token}"}
    journal = client.get("/api/v1/admin/system", headers=headers).json()["journal"]
    return journal["dropped"], journal["dropped_since_start"], journal["workers_failing"]


def test_their_number_survives_a_restart(start, tmp_path):
    program = start(KURZ_ADMIN_EMAIL=ADMIN["email"], KURZ_ADMIN_PASSWORD=ADMIN["password"])
    with program.client() as client:
        path = create(client)
        token = client.post("/api/v1/auth/sign-in", json=ADMIN).json()["token"]
        assert client.get("/readyz").json()["failing_writes"] == []
        for pid in program.children:  # no file may grow: for these processes the disk is full
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        visit(client, path, VISITS)
        told = metrics(client)
        lost = told["kurz_journal_dropped_total"]
        assert 0 < lost < VISITS
        assert told["kurz_journal_failing"] == 1
        ready = client.get("/readyz")
        assert ready.status_code == 200
        [failing] = ready.json()["failing_writes"]
        assert failing["what"] == "clicks"
        wait_until(lambda: lost_clicks(client, token) == (lost, lost, 1))
        written = DroppedClicks(tmp_path / "data" / "dropped-clicks")
        wait_until(lambda: written.read() == lost)  # once a second
    program.kill()
    program.start()
    with program.client() as client:
        told = metrics(client)
        assert (told["kurz_journal_dropped_total"], told["kurz_journal_failing"]) == (lost, 0)
        assert lost_clicks(client, token) == (lost, 0, 0)
        visit(client, path, 1)
        assert client.get("/readyz").json()["failing_writes"] == []
        assert metrics(client)["kurz_journal_dropped_total"] == lost


def test_nothing_is_recorded_below_the_floor_and_readiness_may_depend_on_it(start):
    program = start(KURZ_MIN_FREE_MEGABYTES=TOO_MUCH, KURZ_READY_NEEDS_WRITES="on")
    with program.client() as client:
        path = create(client)
        visit(client, path, 3)
        told = metrics(client)
        assert told["kurz_journal_dropped_total"] == 3
        assert told["kurz_journal_records_total"] == 0
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["type"] == "/api/problems/writes-fail"
        assert TOO_MUCH in ready.json()["detail"]


def test_a_failed_write_of_links_is_named(start):
    program = start()
    with program.client() as client:
        create(client)
        for pid in program.children:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        link = {"original_url": "https://example.com/"}
        refused = client.post("/api/v1/links", json=link)
        assert refused.status_code == 503
        assert refused.json()["title"] == "Database unavailable"
        for _ in range(5):
            assert client.post("/api/v1/links", json=link).status_code == 503
        told = [line for line in program.log().splitlines() if "store-unavailable" in line]
        assert len(told) == 1
        assert '"status": 503' not in program.log()
        [failing] = client.get("/readyz").json()["failing_writes"]
        assert failing["what"] == "database"
        for pid in program.children:
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        wait_until(lambda: client.post("/api/v1/links", json=link).status_code == 201)
        assert client.get("/readyz").json()["failing_writes"] == []
