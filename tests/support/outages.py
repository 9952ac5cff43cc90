"""Programs whose store is away: what they answer, and that they recover."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from support import nursery
from support.slack import slack

API = "/api/v1/links"
RECOVERY_SECONDS = slack(5.0)
ANSWER_SECONDS = 2 + slack(1)  # that a create may wait


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
