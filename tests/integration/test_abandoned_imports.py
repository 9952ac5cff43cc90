"""A client that leaves in the middle of an import."""

import json
from collections.abc import Callable
from pathlib import Path

from support.every_worker import wait_until
from support.program import Program
from support.wire import Wire

ROWS = 1000
CREDENTIALS = {"email": "ada@example.com", "password": "correct horse battery"}


def upload(rows: int, token: str) -> bytes:
    body = "".join(f'{{"url": "https://example.com/{number}"}}\n' for number in range(rows))
    fields = (
        "Host: localhost\r\nContent-Type: application/jsonl\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n"
    )
    return f"POST /api/v1/links/import HTTP/1.1\r\n{fields}\r\n{body}".encode()


def test_an_import_stops_when_its_client_is_gone(
    tmp_path: Path, start_program: Callable[..., Program]
):
    program = start_program(KURZ_DATA_DIR=str(tmp_path / "data"))
    with Wire(program.port) as wire:
        registered = json.loads(wire.post("/api/v1/auth/register", CREDENTIALS).body)
    token = registered["token"]
    with Wire(program.port) as leaving:
        leaving.send_raw(upload(ROWS, token))

    def is_over() -> bool:
        with Wire(program.port) as other:
            other.send_raw(upload(0, token))
            return other.receive().status != 409

    wait_until(is_over)
    headers = {"authorization": f"Bearer {token}"}
    with program.client() as client:
        found = client.get("/api/v1/links", headers=headers).json()
    assert found["total"] < ROWS
