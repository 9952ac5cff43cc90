"""Lists change while two workers serve: nobody restarts anything."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.every_worker import DEADLINE_SECONDS, connect_to_each
from support.program import Program

WORKERS = 2
GOOD, BAD = "https://good.example/", "https://bad.example/"


@pytest.fixture
def blocklist(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("0.0.0.0 bad.example\n")
    return path


@pytest.fixture
def program(start_program: Callable[..., Program], blocklist: Path) -> Program:
    return start_program(KURZ_WORKERS=str(WORKERS), KURZ_BLOCKLISTS=str(blocklist))


def wait_until(holds: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def create(program: Program, url: str) -> tuple[int, str]:
    with program.client() as client:
        answer = client.post("/api/v1/links", json={"original_url": url})
        return answer.status_code, answer.json().get("short_code", "")


def every_worker_says(program: Program, url: str, status: int) -> bool:
    """New connections go to whoever accepts them first."""
    return all(create(program, url)[0] == status for _ in range(10))


def is_answered(program: Program, code: str, status: int) -> bool:
    wires = connect_to_each(program, WORKERS)
    try:
        return all(wire.get(f"/{code}").status == status for wire in wires)
    finally:
        for wire in wires:
            wire.close()


def test_a_changed_list_counts_for_new_and_existing_links(program, blocklist):
    assert every_worker_says(program, BAD, 422)
    status, code = create(program, GOOD)
    assert status == 201
    assert is_answered(program, code, 302)
    blocklist.write_text("0.0.0.0 good.example\n")
    wait_until(lambda: every_worker_says(program, GOOD, 422), DEADLINE_SECONDS)
    assert every_worker_says(program, BAD, 201)
    wait_until(lambda: is_answered(program, code, 410), DEADLINE_SECONDS)
    blocklist.write_text("0.0.0.0 bad.example\n")
    wait_until(lambda: is_answered(program, code, 302), DEADLINE_SECONDS)


@pytest.mark.long
def test_links_are_held_while_the_list_is_gone_and_released_when_it_is_back(program, blocklist):
    away = blocklist.rename(blocklist.with_name("away.txt"))

    def held() -> str | None:
        _, code = create(program, GOOD)
        return code if is_answered(program, code, 403) else None

    wait_until(held, DEADLINE_SECONDS)
    code = held()
    assert code is not None
    _, bad = create(program, BAD)
    assert is_answered(program, bad, 403)
    assert "cannot be read" in program.run("admin", "lists")
    away.rename(blocklist)
    wait_until(lambda: is_answered(program, code, 302), DEADLINE_SECONDS)
    wait_until(lambda: is_answered(program, bad, 410), DEADLINE_SECONDS)
    assert "Traceback" not in program.log()


def test_another_list_counts_from_a_renewal_on(
    start_program: Callable[..., Program], tmp_path: Path, blocklist: Path
):
    config = tmp_path / "kurz.toml"
    config.write_text(f'blocklists = ["{blocklist}"]\n')
    program = start_program(KURZ_CONFIG=str(config))
    assert create(program, GOOD)[0] == 201
    (tmp_path / "other.txt").write_text("good.example\n")
    config.write_text(f'blocklists = ["{blocklist}", "{tmp_path}/other.txt"]\n')
    os.kill(program.process.pid, signal.SIGHUP)
    wait_until(lambda: create(program, GOOD)[0] == 422, DEADLINE_SECONDS)
    assert create(program, BAD)[0] == 422
