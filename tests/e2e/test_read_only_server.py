"""`kurz serve --read-only --from-backup`: redirects while the real server is repaired."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

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
    with serving(arguments, environment, folder) as address:
        assert location(address, "plain") == "https://example.com/a"


@contextmanager
def serving(arguments: list[str], environment: dict[str, str], folder: Path) -> Iterator[str]:
    """`kurz serve --read-only` while the block runs; its address."""
    process = subprocess.Popen(
        [KURZ, *arguments, "--read-only", "--port", "0"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: server_address.read(folder) is not None)
        yield str(server_address.read(folder))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def location(address: str, code: str) -> str | None:
    found: str | None = httpx2.get(f"{address}/{code}", trust_env=False).headers.get("location")
    return found


@pytest.fixture
def stored(request, tmp_path):
    """Where a backup is stored, and the settings for that."""
    file = str(tmp_path / "kurz.backup")
    if request.param == "plain":
        return file, {}
    if request.param == "encrypted":
        return file, {"KURZ_BACKUP_PASSPHRASE": "correct horse battery"}
    s3 = request.getfixturevalue("s3")
    bucket = f"kurz-{uuid4().hex}"
    s3.make_bucket(bucket)
    access = {"ENDPOINT": s3.url, "KEY_ID": "anybody", "SECRET_KEY": "whatever"}
    settings = {f"KURZ_BACKUP_S3_{name}": value for name, value in access.items()}
    return f"s3://{bucket}/some/kurz.backup", settings


@pytest.mark.parametrize(
    ("engine", "stored"),
    [("sqlite", "plain"), ("postgres", "plain"), ("postgres", "encrypted"), ("postgres", "bucket")],
    indirect=True,
)
def test_a_portable_backup_of_any_engine_is_served_from_anywhere(
    server, environment, data_dir, tmp_path, stored
):
    program, terminal = server
    place, keys = stored
    with program.client() as client:
        person = {"email": "ada@example.com", "password": "correct horse battery staple"}
        token = client.post("/api/v1/auth/register", json=person).json()["token"]
        client.headers["authorization"] = f"Bearer {token}"
        scopes = {"name": "reads", "scopes": ["links:read", "stats:read"]}
        key = client.post("/api/v1/keys", json=scopes).json()["key"]
        for code in "plain", "deleted":
            link = {"original_url": f"https://example.com/{code}", "custom_code": code}
            made = client.post("/api/v1/links", json=link).json()
        assert client.delete(f"/api/v1/links/{made['id']}").status_code == 204
        assert location(str(client.base_url), "plain") == "https://example.com/plain"
    wait_until(lambda: terminal.json("show", "plain")["redirect_count"] == 1)
    made = terminal.run("backup", "--portable", place, **keys)
    assert made.returncode == 0, made.stderr

    folder = tmp_path / "standby"
    alone = {it: value for it, value in environment.items() if it != "KURZ_DATABASE_URL"}
    arguments = ["serve", "--from-backup", place, "--data-dir", str(folder)]
    with serving(arguments, {**alone, **keys}, folder) as address:
        for _ in range(3):
            assert location(address, "plain") == "https://example.com/plain"
        assert location(address, "deleted") is None
        read = partial(httpx2.get, headers={"authorization": f"Bearer {key}"}, trust_env=False)
        found = read(f"{address}/api/v1/links").json()
        assert [link["short_code"] for link in found["links"]] == ["plain"]
        assert found["links"][0]["redirect_count"] == 1
        refused = httpx2.post(f"{address}/", json={"original_url": "https://x.example/"})
        assert refused.status_code == 503
    terminal.do("jobs", "--once", "--journals", str(folder / "journal"))
    wait_until(lambda: terminal.json("show", "plain")["redirect_count"] == 4)
