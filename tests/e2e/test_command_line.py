"""The command line as a person meets it: by subprocess, on a local data folder."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from kurz.clicks.dropped import DroppedClicks
from servers.postgres import PostgresPair
from servers.valkey import ValkeyServer
from support.every_worker import wait_until
from support.long_run import in_the_long_run
from support.patience import PATIENCE
from support.terminal import KURZ, Terminal


@pytest.fixture(scope="module")
def terminal_with_links(tmp_path_factory):
    """A terminal on an embedded database with two links in it, for tests that change nothing."""
    terminal = Terminal({"KURZ_DATA_DIR": str(tmp_path_factory.mktemp("kurz") / "data")})
    terminal.run("migrate")
    for code in ("taken", "other"):
        terminal.run("create", "https://example.com/", "--code", code)
    return terminal


@pytest.fixture
def bare_terminal(tmp_path):
    """A terminal in a place where nothing has been made yet."""
    return Terminal({"KURZ_DATA_DIR": str(tmp_path / "data")})


def test_a_link_lives_its_life(terminal):
    made = terminal.run("create", "https://example.com/a", "--code", "launch", "--tag", "x")
    assert made.stdout == "http://127.0.0.1:8080/launch\n"
    assert terminal.json("show", "launch")["tags"] == ["x"]
    edited = terminal.json("edit", "launch", "--url", "https://example.com/b", "--title", "Launch")
    assert (edited["original_url"], edited["title"]) == ("https://example.com/b", "Launch")
    assert terminal.json("edit", "launch", "--clear", "title", "--pause")["status"] == "PAUSED"
    assert terminal.json("edit", "launch", "--resume")["title"] is None
    assert terminal.json("delete", "launch")["status"] == "DELETED"
    assert terminal.json("restore", "launch")["status"] == "ACTIVE"


def test_a_list_is_searched_filtered_and_paged(terminal):
    for number in range(5):
        terminal.run("create", f"https://example.com/{number}", "--code", f"code-{number}")
    terminal.run("delete", "code-0")
    page = terminal.json("list", "--limit", "2")
    assert [link["short_code"] for link in page["links"]] == ["code-4", "code-3"]
    assert page["total"] == 5
    following = terminal.json("list", "--limit", "2", "--cursor", str(page["next_cursor"]))
    assert [link["short_code"] for link in following["links"]] == ["code-2", "code-1"]
    found = terminal.json("list", "example.com/3")
    assert [link["short_code"] for link in found["links"]] == ["code-3"]
    deleted = terminal.json("list", "--status", "deleted")
    assert [link["short_code"] for link in deleted["links"]] == ["code-0"]


def test_a_table_for_people_names_every_link(terminal):
    terminal.run("create", "https://example.com/a", "--code", "first")
    terminal.run("create", "https://example.com/b", "--code", "second", "--expires-in", "3d")
    done = terminal.run("list")
    lines = done.stdout.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["/second", "/first"]
    assert "in 2 d" in lines[1] or "in 3 d" in lines[1]
    assert "2 of 2 links" in done.stderr


def test_expiry_can_be_given_as_a_span_or_an_instant(terminal):
    spanned = terminal.json("create", "https://example.com/", "--expires-in", "2h")
    assert spanned["expires_at"] is not None
    dated = terminal.json("create", "https://example.com/", "--expires-at", "2090-01-31T18:00Z")
    assert dated["expires_at"] == "2090-01-31T18:00:00+00:00"
    both = terminal.run(
        "create", "https://e.com/", "--expires-in", "2h", "--expires-at", "2090-01-31"
    )
    assert both.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "nothing"], 3, "There is no link with this code."),
        (["create", "https://example.com/else", "--code", "taken"], 4, "is already taken"),
        (["create", "https://example.com/", "--expires-in", "soon"], 2, "12h"),
        (["create", "https://example.com/", "--title", "\x1b[31mred"], 2, "control character"),
        (["edit", "taken"], 2, "at least one field to change"),
        (["frobnicate"], 2, "frobnicate"),
        ([b"show", b"\xff\xfe"], 2, "not valid text"),
        (["delete", "https://bit.ly/taken"], 3, "another site"),
        *in_the_long_run(
            (["show", "@team/abc"], 3, "no workspace"),
            (["show", "a b\n"], 3, "There is no link"),
            (["create", "ftp://example.com/"], 2, "http://"),
            (["create", "https://example.com/", "--code", "api"], 2, "is a reserved word"),
            (["create", "https://example.com/", "--expires-at", "2001-01-01"], 2, "in the past"),
            (["create", "https://example.com/", "--redirect-status", "200"], 2, "301, 302, 307"),
            (["create", "https://example.com/", "--strategy", "deterministic"], 2, "workspaces"),
            (["create", "https://example.com/", "--workspace", "team"], 3, "no workspace"),
            (["create", "https://example.com/", "--max-clicks", "0"], 2, "--max-clicks"),
            (["edit", "taken", "--code", "other"], 4, "is already taken"),
            (["list", "--cursor", "junk"], 2, "next_cursor"),
            (["list", "--status", "nope"], 2, "active"),
            (["edit", "taken", "--title", "x", "--clear", "title"], 2, "both set and cleared"),
            (["create", "https://example.com/", "--title", "two\nlines"], 2, "control character"),
            (["restore", "taken", "--expires-in", "1d"], 2, "is active"),
        ),
    ],
    ids=str,
)
def test_a_mistake_gets_one_line_that_helps_and_a_code_of_its_own(
    terminal_with_links, arguments, code, words
):
    done = terminal_with_links.run(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("kurz: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_the_code_of_a_url_needs_no_database(bare_terminal, tmp_path):
    url = "HTTP://Example.com:80/api/users?name=john&id=123"
    done = bare_terminal.run("code", url, "--workspace", "42")
    assert done.stdout == "K5YWpCtbjZ\n"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "command", [["list"], *in_the_long_run(["show", "x"], ["create", "https://e.com/"])], ids=str
)
def test_only_serve_and_migrate_make_a_data_folder(bare_terminal, tmp_path, command):
    done = bare_terminal.run(*command)
    assert done.returncode == 78
    assert "kurz serve" in done.stderr
    assert not (tmp_path / "data").exists()


def test_the_data_folder_is_closed_to_others(bare_terminal, tmp_path):
    bare_terminal.run("migrate")
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_the_doctor_finds_what_is_wrong_and_hides_secrets(terminal, engine, postgres):
    report = terminal.json("doctor")
    verdicts = {item["about"]: item["verdict"] for item in report["findings"]}
    assert verdicts["database"] == "ok"
    assert "files" in verdicts
    assert verdicts["base URL"] == "warning"
    assert verdicts.get("clock") == (None if engine == "sqlite" else "ok")
    if engine != "sqlite":
        assert "postgresql://" not in terminal.run("doctor").stdout
    sick = terminal.run("doctor", KURZ_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert sick.returncode == 1
    assert "✗ database" in sick.stdout


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_doctor_tells_of_lost_clicks_and_of_a_disk_without_room(terminal, tmp_path):
    assert "lost clicks" not in terminal.run("doctor").stdout
    DroppedClicks(tmp_path / "data" / "dropped-clicks").add(1234)
    sick = terminal.run("doctor", KURZ_MIN_FREE_MEGABYTES="1000000")
    assert sick.returncode == 1
    assert "1,234 clicks could not be recorded" in sick.stdout
    assert "Clicks are not recorded below 1000000 MiB (KURZ_MIN_FREE_MEGABYTES)" in sick.stdout


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_doctor_says_what_is_lost_without_redis(terminal):
    with ValkeyServer() as server:
        well = terminal.run("doctor", KURZ_REDIS_URL=server.url)
        assert "a single server is reachable" in well.stdout
        server.kill()
        sick = terminal.run("doctor", KURZ_REDIS_URL=f"redis://:hidden@127.0.0.1:{server.port}/0")
    assert sick.returncode == 0
    assert "! Redis" in sick.stdout
    assert "looked up in the database" in sick.stdout
    assert "hidden" not in sick.stdout + sick.stderr


def test_the_doctor_tells_a_replica_from_another_server(terminal, engine, postgres):
    alone = terminal.run("doctor", KURZ_DATABASE_REPLICA_URLS=postgres.url())
    if engine == "sqlite":
        assert alone.returncode == 1
        assert "KURZ_DATABASE_REPLICA_URLS requires KURZ_DATABASE_URL" in alone.stdout
        return
    assert alone.returncode == 0
    assert f"127.0.0.1:{postgres.port} is not a standby" in alone.stdout
    away = terminal.run("doctor", KURZ_DATABASE_REPLICA_URLS="postgresql://me:pw1@127.0.0.1:1/x")
    assert away.returncode == 0
    assert "! replica" in away.stdout
    assert "pw1" not in away.stdout


def test_the_doctor_says_when_a_replica_follows(bare_terminal):
    with PostgresPair(fsync="off") as pair:
        urls = {
            "KURZ_DATABASE_URL": pair.primary.url(),
            "KURZ_DATABASE_REPLICA_URLS": pair.standby.url(),
            **{f"KURZ_{name.upper()}": str(value) for name, value in PATIENCE.items()},
        }
        assert bare_terminal.run("migrate", **urls).returncode == 0
        assert bare_terminal.run("list", **urls).returncode == 0  # which makes the keys
        pair.catch_up()
        place = f"127.0.0.1:{pair.standby.port}"
        found = bare_terminal.run("doctor", **urls).stdout
        assert re.search(rf"✓ replica +{place} is reachable and replicating", found)
        pair.primary.create_database("other")
        other = {**urls, "KURZ_DATABASE_URL": pair.primary.url("other")}
        assert bare_terminal.run("migrate", **other).returncode == 0
        assert bare_terminal.run("list", **other).returncode == 0
        foreign = bare_terminal.run("doctor", **other)
        assert foreign.returncode == 1
        assert re.search(rf"✗ replica +{place} is a standby of another database", foreign.stdout)


def test_the_doctor_looks_at_the_file_of_countries(terminal, tmp_path):
    file = tmp_path / "country.mmdb"
    file.write_text("no countries")
    sick = terminal.run("doctor", KURZ_GEOIP_DB=str(file))
    assert sick.returncode == 1
    assert "✗ countries" in sick.stdout
    assert "not in MaxMind's format" in sick.stdout
    assert "✗ countries" not in terminal.run("doctor", KURZ_GEOIP_DB="off").stdout


def test_the_doctor_looks_at_the_archive(terminal, tmp_path):
    missing = terminal.run("doctor", KURZ_ARCHIVE=str(tmp_path / "disk" / "archive"))
    assert missing.returncode == 1
    assert "✗ archive" in missing.stdout
    assert "No such file or directory" in missing.stdout
    half = {"KURZ_ARCHIVE": "s3://bucket", "KURZ_ARCHIVE_S3_KEY_ID": "x"}
    assert "KURZ_ARCHIVE_S3_SECRET_KEY" in terminal.run("doctor", **half).stdout
    assert "✓ archive" in terminal.run("doctor", KURZ_ARCHIVE=str(tmp_path / "archive")).stdout
    assert not (tmp_path / "archive").exists()
    assert "archive" not in terminal.run("doctor").stdout


def test_the_doctor_tells_of_settings_that_do_not_exist(terminal):
    done = terminal.run("doctor", KURZ_BASEURL="https://example.com")
    assert "KURZ_BASEURL" in done.stdout


def test_a_port_that_is_taken_is_explained(terminal, start_program, tmp_path):
    program = start_program(KURZ_DATA_DIR=str(tmp_path / "other"))
    done = terminal.run("serve", "--port", str(program.port))
    assert done.returncode == 78
    assert "--port" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("command", ["list", "serve"])
def test_a_data_folder_that_cannot_be_used_is_named(terminal, tmp_path, command):
    folder = tmp_path / ("x" * 300)
    done = terminal.run(command, KURZ_DATA_DIR=str(folder))
    assert done.returncode == 78
    assert str(folder) in done.stderr
    assert "cannot be used: File name too long." in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_line_works_beside_a_running_server(start_program, tmp_path):
    """Another process hears of a change within a second, on a machine that is not busy."""
    program = start_program()
    terminal = Terminal({"KURZ_DATA_DIR": str(tmp_path / "kurz-data")})
    terminal.do("create", "https://example.com/beside", "--code", "beside")
    with program.client() as client:
        assert client.get("/beside").headers["location"] == "https://example.com/beside"
        terminal.do("edit", "beside", "--url", "https://example.com/moved")
        moved = "https://example.com/moved"
        wait_until(lambda: client.get("/beside").headers.get("location") == moved)
        terminal.do("delete", "beside")
        wait_until(lambda: client.get("/beside").status_code == 404)
        made = client.post("/", content="https://example.com/by-server").text.strip()
    assert terminal.json("show", made)["original_url"] == "https://example.com/by-server"


def test_output_that_cannot_be_written_is_one_line(terminal_with_links):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [KURZ, "list"],
            env=terminal_with_links.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 74
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["--help"]])
def test_a_reader_who_leaves_is_no_error(terminal_with_links, arguments):
    reading, writing = os.pipe()
    os.close(reading)  # `kurz list | head`, after head has gone
    with os.fdopen(writing, "w") as nobody:
        done = subprocess.run(
            [KURZ, *arguments],
            env=terminal_with_links.environment,
            stdout=nobody,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
