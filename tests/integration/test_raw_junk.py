"""Bytes on the wire that are no proper request."""

import re
import socket
import time
from collections.abc import Iterator

from support.bad_input import API, JSON, URL, check_problem, on_sqlite
from support.engines import sqlite_first
from support.program import Program
from support.slack import slack

engine = sqlite_first  # junk never reaches an engine


def exchange(program: Program, request: bytes) -> bytes:
    """Sends raw bytes and gives all that comes back."""
    with socket.create_connection(("127.0.0.1", program.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def requests() -> dict[str, bytes]:
    host = b"Host: kurz.test\r\n"
    post = b"POST /api/v1/links HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    return {
        "no Host": b"GET /abc HTTP/1.1\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 without Host": b"GET /abc HTTP/1.0\r\n\r\n",
        "two Hosts": b"GET /abc HTTP/1.1\r\n" + host * 2 + b"Connection: close\r\n\r\n",
        "absolute form": b"GET http://evil.example/abc HTTP/1.1\r\n" + host + b"\r\n",
        "a full URL as path": b"GET http:/// HTTP/1.1\r\n" + host + b"\r\n",
        "an asterisk": b"OPTIONS * HTTP/1.1\r\n" + host + b"\r\n",
        "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\n" + host + b"\r\n",
        "no HTTP": b"hello\r\n\r\n",
        "nothing": b"",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
        "raw bytes in the path": b"GET /\xff\xfe\x80 HTTP/1.1\r\n" + host + b"\r\n",
        "a raw NUL in the path": b"GET /a\x00b HTTP/1.1\r\n" + host + b"\r\n",
        "a long path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        "a long header": b"GET /abc HTTP/1.1\r\n" + host + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
        "many headers": b"GET /abc HTTP/1.1\r\n" + host + b"X: a\r\n" * 5000 + b"\r\n",
        "a length that is no number": post + b"Content-Length: abc\r\n\r\n{}",
        "a negative length": post + b"Content-Length: -1\r\n\r\n{}",
        "a huge length": post + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
        "two lengths": post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "length and chunks": post
        + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "upgrade": b"GET /abc HTTP/1.1\r\n" + host + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "a websocket": b"GET /abc HTTP/1.1\r\n" + host + b"Connection: upgrade\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
    }


@on_sqlite
def test_raw_junk_harms_neither_the_server_nor_its_log(program):
    for name, request in requests().items():
        answer = exchange(program, request)
        statuses = re.findall(rb"^HTTP/1\.1 (\d+)", answer)
        assert all(b"400" <= status < b"500" for status in statuses), (name, answer[:200])
        assert b"Traceback" not in answer
    with program.client() as client:
        assert client.get("/readyz").status_code == 200
        assert client.post("/", content=URL).status_code == 201
    assert "Traceback" not in program.log()
    assert '"exception"' not in program.log()


@on_sqlite
def test_a_client_that_leaves_in_its_body_is_no_mistake_of_ours(program):
    start = b"POST /api/v1/links HTTP/1.1\r\nHost: kurz.test\r\nContent-Type: application/json\r\n"
    for rest in (
        b"Content-Length: 100\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    ):
        exchange(program, start + rest)
    with program.client() as client:
        assert client.post("/", content=URL).status_code == 201
    assert "request failed" not in program.log()


@on_sqlite
def test_a_large_body_over_the_wire_is_refused_while_it_arrives(program):
    def pieces() -> Iterator[bytes]:
        for _ in range(5000):
            yield b"x" * 1024

    with program.client(headers=JSON) as client:
        for content in (b"x" * 5_000_000, pieces()):
            started = time.monotonic()
            answer = client.post(API, content=content)
            assert check_problem(answer) == (413, "body-too-large")
            assert time.monotonic() - started < slack(5)
        assert client.get("/healthz").status_code == 200
