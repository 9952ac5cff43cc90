"""A worker has as many creates in progress as it is set to. More are refused at once, and visitors
notice nothing."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support.every_worker import wait_until
from support.program import Program
from support.wire import Answer, Wire

LINK = {"original_url": "https://example.com/"}
API = "/api/v1/links"


@pytest.fixture
def program(tmp_path: Path, start_program: Callable[..., Program]) -> Program:
    return start_program(
        KURZ_DATA_DIR=str(tmp_path / "data"),
        KURZ_METRICS="public",
        KURZ_CREATES_IN_FLIGHT="1",
        KURZ_REQUESTS_IN_FLIGHT="1",
    )


@contextmanager
def no_writes(tmp_path: Path) -> Iterator[None]:
    """Somebody else holds the database's lock: creates wait for it."""
    with closing(sqlite3.connect(tmp_path / "data" / "kurz.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def metric(program: Program, name: str) -> float:
    with program.client() as client:
        lines = client.get("/metrics").text.splitlines()
    [value] = [line.split()[1] for line in lines if line.startswith(f"{name} ")]
    return float(value)


def raw(body: bytes) -> bytes:
    fields = "Host: localhost\r\nContent-Type: application/json\r\n"
    return f"POST {API} HTTP/1.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode()


def assert_refused(answer: Answer) -> None:
    assert (answer.status, answer.headers[b"retry-after"]) == (503, b"1")
    assert json.loads(answer.body)["type"] == "/api/problems/overloaded"


def test_what_is_above_is_refused_at_once_and_redirects_go_on(program, tmp_path):
    body = json.dumps(LINK).encode()
    with Wire(program.port) as first, Wire(program.port) as second, Wire(program.port) as visitor:
        path = f"/{json.loads(first.post(API, LINK).body)['short_code']}"
        assert visitor.get(path).status == 302
        with no_writes(tmp_path):
            first.send_raw(raw(body) + body)
            wait_until(lambda: metric(program, "kurz_creates_in_flight") == 1)
            quick = second.post(API, LINK)
            second.send_raw(raw(body))  # as a client does that sends the body behind its head
            slow = second.receive()
            second.send_raw(body)
            assert visitor.get(path).status == 302
        for answer in (quick, slow):
            assert_refused(answer)
        assert quick.headers.keys() == slow.headers.keys()
        assert quick.body == slow.body
        assert first.receive().status == 201
        assert second.post(API, LINK).status == 201
    assert metric(program, "kurz_creates_refused_total") == 2
    assert metric(program, "kurz_creates_in_flight") == 0
    assert program.log().count("overloaded") == 1


def test_a_body_that_comes_slowly_keeps_nobody_out(program):
    body = json.dumps(LINK).encode()
    with Wire(program.port) as slow, Wire(program.port) as other:
        slow.send_raw(raw(body) + body[:5])
        assert other.post(API, LINK).status == 201
        slow.send_raw(body[5:])
        assert slow.receive().status == 201


def test_a_request_without_a_body_counts(program, tmp_path):
    person = {"email": "a@example.com", "password": "a long enough one"}
    with program.client() as client:
        token = client.post("/api/v1/auth/register", json=person).json()["token"]
        client.headers["authorization"] = f"Bearer {token}"
        workspaces, team = "/api/v1/workspaces", {"slug": "team", "name": "Team"}
        path = f"{workspaces}/{client.post(workspaces, json=team).json()['id']}"
        assert client.delete(path).status_code == 200
    fields = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
    restore = f"POST {path}/restore HTTP/1.1\r\n{fields}\r\n".encode()
    with Wire(program.port) as first, Wire(program.port) as second:
        with no_writes(tmp_path):
            first.send_raw(restore)
            wait_until(lambda: metric(program, "kurz_requests_in_flight") == 1)
            second.send_raw(restore)
            assert_refused(second.receive())
        assert first.receive().status == 200
    assert metric(program, "kurz_requests_in_flight") == 0
