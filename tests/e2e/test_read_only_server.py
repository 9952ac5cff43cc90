"""`kurz serve --read-only --from-backup`: redirects while the real server is repaired."""

import os
import signal
import subprocess
from pathlib import Path

import httpx2
import pytest

from kurz.cli import server_address
from support.clicks import wait_until
from support.terminal import KURZ, Terminal

BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.fixture
def server(program, environment, data_dir):
    return program, Terminal(environment | {"KURZ_DATA_DIR": str(data_dir)})


@on_sqlite
def test_links_work_and_nothing_changes(server, environment, tmp_path, start_program):
    _, terminal = server
    terminal.do("create", "https://example.com/a", "--code", "plain")
    terminal.do("create", "https://example.com/b", "--code", "limited", "--max-clicks", "5")
    file, folder = tmp_path / "kurz.backup", tmp_path / "standby"
    terminal.do("backup", str(file))
    terminal.do("restore", str(file), "--data-dir", str(folder))
    standby = start_program(**environment, KURZ_DATA_DIR=str(folder), KURZ_READ_ONLY="on")
    assert "read-only" in standby.output
    assert "set-up" not in standby.output
    with standby.client() as client:
        for _ in range(3):
            assert client.get("/plain").headers["location"] == "https://example.com/a"
        assert client.get("/limited", headers=BROWSER).status_code == 503
        page = client.get("/limited", headers=BROWSER | {"accept": "text/html"})
        assert page.headers["content-type"].startswith("text/html")
        for method, path in (
            ("POST", "/api/v1/links"),
            ("POST", "/"),
            ("PATCH", "/api/v1/links/1"),
            ("DELETE", "/api/v1/links/1"),
            ("POST", "/api/v1/auth/register"),
            ("POST", "/plain+"),
        ):
            answer = client.request(method, path, json={"original_url": "https://example.com/"})
            assert answer.status_code == 503, (method, path)
            assert int(answer.headers["retry-after"]) >= 60
            assert answer.json()["type"] == "/api/problems/server-read-only"
        assert client.get("/healthz").status_code == 200
        assert client.get("/api/stats").status_code == 200
    standby.stop()
    # The real server counts the clicks that the other one has recorded.
    terminal.do("jobs", "--once", "--journals", str(folder / "journal"))
    wait_until(lambda: terminal.json("show", "plain")["redirect_count"] == 3)


@on_sqlite
def test_a_backup_is_restored_and_served_by_one_command(server, environment, tmp_path):
    _, terminal = server
    terminal.do("create", "https://example.com/a", "--code", "plain")
    file, folder = tmp_path / "kurz.backup", tmp_path / "standby"
    terminal.do("backup", str(file))
    arguments = ["serve", "--from-backup", str(file), "--data-dir", str(folder)]
    refused = terminal.run(*arguments)
    assert (refused.returncode, refused.stderr.count("\n")) == (4, 1)
    assert "--read-only" in refused.stderr
    assert not folder.exists()
    process = subprocess.Popen(
        [KURZ, *arguments, "--read-only", "--port", "0"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: is_answered(folder))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def is_answered(folder: Path) -> bool:
    address = server_address.read(folder)
    if address is None:
        return False
    answer = httpx2.get(f"{address}/plain", trust_env=False)
    return answer.headers["location"] == "https://example.com/a"
