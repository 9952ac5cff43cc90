"""`kurz backup` beside a running server, and what a restored server knows."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.clicks import wait_until
from support.terminal import Terminal

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
PERSON = {"email": "ada@example.com", "password": "correct horse battery staple"}
TOTALS = "SELECT coalesce(sum(clicks), 0) FROM click_totals WHERE kind = 0"


@pytest.fixture
def server(program, environment, data_dir) -> Any:
    """A running server, and a terminal beside it."""
    return program, Terminal(environment | {"KURZ_DATA_DIR": str(data_dir)})


def ask(database: Path, query: str) -> Any:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def unpack(file: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    subprocess.run(["tar", "-xzf", file, "-C", folder], check=True)
    return folder


@on_sqlite
def test_a_restored_server_knows_what_was_there_and_issues_nothing_twice(
    server, tmp_path, start_program, environment, data_dir
):
    program, terminal = server
    with program.client() as client:
        token = client.post("/api/v1/auth/register", json=PERSON).json()["token"]
        client.headers["authorization"] = f"Bearer {token}"
        first = client.post("/api/v1/links", json={"original_url": "https://example.com/1"}).json()
        assert client.get(f"/{first['short_code']}").status_code == 302
        wait_until(lambda: ask(data_dir / "kurz.db", TOTALS) == [(1,)])
        [jobs] = program.jobs
        os.kill(jobs, signal.SIGSTOP)  # the next clicks are only in the journal
        for _ in range(2):
            assert client.get(f"/{first['short_code']}").status_code == 302
        file = tmp_path / "kurz.backup"
        made = terminal.json("backup", str(file))
        later = [
            client.post("/api/v1/links", json={"original_url": f"https://example.com/{it}"}).json()
            for it in range(2, 6)
        ]
    os.kill(jobs, signal.SIGCONT)
    assert (made["links"], made["accounts"], made["has_secret"]) == (1, 1, True)
    assert (made["clicks"], made["journals"]) == (1, 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [*(data_dir / "backups").iterdir()] == []
    assert terminal.json("backup", "verify", str(file))["links"] == 1
    program.stop()

    folder = tmp_path / "restored"
    restored = Terminal(environment | {"KURZ_DATA_DIR": str(folder)})
    said = restored.do("restore", str(file))
    assert "sign in again" in said
    assert "bans of links" in said
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    again = start_program(KURZ_DATA_DIR=str(folder), **environment)
    with again.client() as client:
        wait_until(lambda: ask(folder / "kurz.db", TOTALS) == [(3,)])
        answer = client.get(f"/{first['short_code']}")
        assert answer.headers["location"] == "https://example.com/1"
        bearer = {"authorization": f"Bearer {token}"}
        assert client.get("/api/v1/me", headers=bearer).status_code == 401
        signed_in = client.post("/api/v1/auth/sign-in", json=PERSON).json()
        client.headers["authorization"] = f"Bearer {signed_in['token']}"
        new = [
            client.post("/api/v1/links", json={"original_url": f"https://example.com/{it}"}).json()
            for it in range(10, 20)
        ]
    assert not {it["id"] for it in new} & {it["id"] for it in (first, *later)}
    assert ask(folder / "kurz.db", "SELECT min(id) FROM links WHERE id > 1")[0][0] > 1_000_000
    assert "change log was replaced" not in again.log()


@on_sqlite
def test_a_link_is_restored_as_before(server, tmp_path):
    _, terminal = server
    terminal.do("create", "https://example.com/", "--code", "known")
    terminal.do("delete", "known")
    (tmp_path / "known").write_text("a file of that name")
    terminal.do("restore", "known")
    unknown = terminal.run("restore", f"http://localhost/{'x' * 5000}")
    assert unknown.returncode in (2, 3)
    assert unknown.stderr.count("\n") == 1


@on_sqlite
def test_a_disk_may_have_its_own_folder(server, tmp_path):
    _, terminal = server
    file, folder = tmp_path / "kurz.backup", tmp_path / "restored"
    left = tmp_path / ".kurz.backup.0123.part"
    left.touch()
    os.utime(left, (1, 1))
    terminal.do("backup", str(file))
    assert not left.exists()
    (folder / "lost+found").mkdir(parents=True)
    terminal.do("restore", str(file), "--data-dir", str(folder))
    assert (folder / "kurz.db").exists()


@on_sqlite
def test_a_backup_has_no_salts_limits_or_changes(server, tmp_path):
    program, terminal = server
    terminal.do("create", "https://example.com/", "--code", "known")
    with program.client() as client:
        assert client.get("/known").status_code == 302
    wait_until(lambda: ask(tmp_path / "kurz-data" / "kurz.db", "SELECT 1 FROM visitor_salts"))
    [(salt,)] = ask(tmp_path / "kurz-data" / "kurz.db", "SELECT salt FROM visitor_salts LIMIT 1")
    file = tmp_path / "kurz.backup"
    terminal.do("backup", str(file))
    found = unpack(file, tmp_path / "unpacked") / "kurz.db"
    for table in ("visitor_salts", "limits", "leases", "changes"):
        assert ask(found, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608  our own words
    assert ask(found, "SELECT count(*) FROM links") == [(1,)]
    assert ask(found, "SELECT count(*) FROM installation")[0][0] >= 3
    assert salt not in found.read_bytes()


@on_sqlite
def test_what_is_there_is_not_replaced(server, tmp_path, data_dir):
    _, terminal = server
    file = tmp_path / "kurz.backup"
    file.write_text("mine")
    refused = terminal.run("backup", str(file))
    assert (refused.returncode, refused.stderr.count("\n")) == (4, 1)
    assert "--force" in refused.stderr
    assert file.read_text() == "mine"
    terminal.do("backup", "--force", str(file))
    full = terminal.run("backup", "restore", str(file))
    assert (full.returncode, full.stderr.count("\n")) == (4, 1)
    assert "is not empty" in full.stderr
    assert (data_dir / "kurz.db").exists()


@on_sqlite
@pytest.mark.parametrize("change", ["damaged", "newer"])
def test_a_backup_that_cannot_be_used_leaves_the_folder_as_it_was(server, tmp_path, change):
    _, terminal = server
    file, folder = tmp_path / "kurz.backup", tmp_path / "restored"
    if change == "newer":
        with closing(sqlite3.connect(tmp_path / "kurz-data" / "kurz.db")) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
            connection.commit()
        refused = terminal.run("backup", str(file))
        assert refused.returncode == 78
        assert not file.exists()
        return
    terminal.do("backup", str(file))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    for arguments in (["verify", str(file)], ["restore", str(file), "--data-dir", str(folder)]):
        refused = terminal.run("backup", *arguments)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "damaged" in refused.stderr
    assert not folder.exists()


@on_sqlite
def test_a_backup_is_encrypted_with_a_passphrase_from_a_file(server, tmp_path):
    _, terminal = server
    secret = tmp_path / "passphrase"
    secret.write_text("correct horse battery\n")
    keys = {"KURZ_BACKUP_PASSPHRASE_FILE": str(secret)}
    file = tmp_path / "kurz.backup"
    assert terminal.run("backup", str(file), **keys).returncode == 0
    assert b"age-encryption.org/v1" in file.read_bytes()
    locked = terminal.run("backup", "verify", str(file))
    assert (locked.returncode, locked.stderr.count("\n")) == (2, 1)
    folder = str(tmp_path / "restored")
    assert (
        terminal.run("backup", "restore", str(file), "--data-dir", folder, **keys).returncode == 0
    )


@on_sqlite
def test_a_backup_needs_free_space(server, tmp_path):
    _, terminal = server
    file = tmp_path / "kurz.backup"
    refused = terminal.run("backup", str(file), KURZ_MIN_FREE_MEGABYTES="1000000")
    assert (refused.returncode, refused.stderr.count("\n")) == (4, 1)
    assert "free space" in refused.stderr
    assert not file.exists()


@on_sqlite
def test_a_backup_can_be_in_a_bucket(server, tmp_path, s3):
    _, terminal = server
    s3.make_bucket("kurz-backups")
    place = "s3://kurz-backups/some/kurz.backup"
    settings = {
        "KURZ_BACKUP_S3_ENDPOINT": s3.url,
        "KURZ_BACKUP_S3_KEY_ID": "anybody",
        "KURZ_BACKUP_S3_SECRET_KEY": "whatever",
    }
    done = terminal.run("backup", place, **settings)
    assert done.returncode == 0, done.stderr
    assert "exists" in terminal.run("backup", place, **settings).stderr
    shown = terminal.run("backup", "verify", place, "--json", **settings)
    assert json.loads(shown.stdout)["kind"] == "sqlite"
    folder = str(tmp_path / "restored")
    done = terminal.run("restore", place, "--data-dir", folder, **settings)
    assert done.returncode == 0, done.stderr
    missing = terminal.run("backup", "verify", place + "2", **settings)
    assert (missing.returncode, missing.stderr.count("\n")) == (3, 1)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"], indirect=True)
def test_links_move_from_one_engine_to_the_other_by_commands(
    terminal, environment, tmp_path, make_database, engine
):
    terminal.do("create", "https://example.com/", "--code", "known")
    file = tmp_path / "kurz.backup"
    portable = ["--portable"] if engine == "sqlite" else []
    made = terminal.json("backup", *portable, str(file))
    assert (made["kind"], made["links"]) == ("portable", 1)
    assert terminal.json("backup", "verify", str(file))["kind"] == "portable"
    other = {it: value for it, value in environment.items() if it != "KURZ_DATABASE_URL"}
    if engine == "sqlite":
        other["KURZ_DATABASE_URL"] = make_database()
    moved = Terminal(other | {"KURZ_DATA_DIR": str(tmp_path / "moved")})
    said = moved.do("restore", str(file))
    assert ("PostgreSQL" in said) == (engine == "sqlite")
    assert moved.json("show", "known")["original_url"] == "https://example.com/"
    again = moved.run("restore", str(file))
    assert (again.returncode, again.stderr.count("\n")) == (4, 1)
    assert "is not empty" in again.stderr
