"""What `kurz doctor` and `kurz serve` say of installations that do not work: the table in the
guide, row by row, in real processes."""

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from kurz.server.forwarding import ENOUGH, NOBODY, SOME
from servers.postgres import PostgresServer
from servers.psql import Psql
from support import nursery
from support.broken import FILE_LIMIT, SITUATIONS, on_full_disk
from support.broken_scene import Scene
from support.program import Program
from support.terminal import KURZ, Terminal

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "troubleshooting.md"
ROW = re.compile(r"^\| (.+?) \| `(.+)` \| (`[✗!] .+?`|\d+) \| (\d+|warns|starts) \|$", re.MULTILINE)


class Row(NamedTuple):
    sentence: str
    doctor: str  # the head of a line, or an exit code
    serve: str  # an exit code, or what it does


ROWS = {name: Row(*rest) for name, *rest in ROW.findall(PAGE.read_text())}


@pytest.fixture
def scene(tmp_path, sqlite_template, postgres, postgres_template, make_database, valkey):
    home = tmp_path / "home"
    home.mkdir()
    names = {f"{home}/data": "/srv/kurz", f"(ID {os.geteuid()})": "(ID 1000)"}
    with ExitStack() as closing:

        def copy() -> str:
            return str(make_database(postgres_template)).rpartition("/")[2]

        yield Scene(home / "data", sqlite_template, postgres, valkey, closing, copy, names)


@pytest.fixture
def bare_terminal(tmp_path):
    return Terminal({"KURZ_DATA_DIR": str(tmp_path / "data"), "KURZ_PORT": "0"})


def test_the_table_is_whole():
    assert list(ROWS) == list(SITUATIONS)
    assert len(ROWS) >= 15


@pytest.mark.parametrize("name", SITUATIONS)
def test_both_commands_say_what_is_wrong(scene, tmp_path, name):
    own = {"KURZ_DATA_DIR": str(scene.folder), "KURZ_PORT": "0"} | SITUATIONS[name](scene)
    run = Runs(scene, name, own)
    check_doctor(run("doctor"), ROWS[name], scene)
    if ROWS[name].serve.isdigit():
        check_refusal(run("serve"), int(ROWS[name].serve), ROWS[name], scene)
    else:
        check_start(own, tmp_path / "log", ROWS[name], scene)


class Runs:
    """Commands on a broken installation."""

    def __init__(self, scene: Scene, name: str, own: dict[str, str]) -> None:
        self._scene = scene
        self._is_full = "full" in name
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        self._environment = inherited | own
        self._file_limit = FILE_LIMIT if "open files" in name else None

    def __call__(self, command: str) -> subprocess.CompletedProcess[bytes]:
        if self._is_full:
            whole = on_full_disk([str(KURZ), command], self._scene)
            return subprocess.run(whole, env=self._environment, capture_output=True, check=False)
        return nursery.run(
            [command], self._environment, file_limit=self._file_limit, is_ordinary=True
        )


def check_doctor(done: subprocess.CompletedProcess[bytes], row: Row, scene: Scene) -> None:
    printed = scene.shown(done.stdout.decode())
    assert b"hidden" not in done.stdout + done.stderr
    if row.doctor.isdigit():
        check_refusal(done, int(row.doctor), row, scene)
        return
    head = row.doctor.strip("`")
    assert done.returncode == ("✗" in head), printed + done.stderr.decode()
    assert re.search(rf"^{head} +{re.escape(row.sentence)}$", printed, re.MULTILINE), printed


def check_refusal(
    done: subprocess.CompletedProcess[bytes], code: int, row: Row, scene: Scene
) -> None:
    said = scene.shown(done.stderr.decode())
    assert done.returncode == code, said
    assert f"kurz: {row.sentence}\n" == said
    assert b"hidden" not in done.stderr


def check_start(own: dict[str, str], log: Path, row: Row, scene: Scene) -> None:
    is_limited = "open files" in row.sentence
    program = Program(own, log, file_limit=FILE_LIMIT if is_limited else None)
    try:
        program.start()
    finally:
        program.stop()
    said = scene.shown(program.log())
    assert "Traceback" not in said
    assert (f"Warning: {row.sentence}" in said) == (row.serve == "warns")


def test_a_proxy_that_names_nobody_is_noticed_until_it_does(start_program, tmp_path):
    environment = {"KURZ_DATA_DIR": str(tmp_path / "data"), "KURZ_ACCESS": "private"}
    environment["KURZ_BASE_URL"] = "https://go.example.com"
    program = start_program(**environment)
    terminal = Terminal(environment)
    with program.client(headers={"Host": "go.example.com"}) as client:
        for _ in range(ENOUGH):
            client.get("/healthz")  # of a monitor
        assert "! proxy" not in terminal.run("doctor").stdout
        for _ in range(ENOUGH):
            client.get("/api/v1/me")
    assert re.search(rf"! proxy +{NOBODY}", terminal.run("doctor").stdout)
    assert NOBODY in program.log()
    assert NOBODY in PAGE.read_text()
    assert SOME in PAGE.read_text()
    program.stop()
    program.start()
    assert "! proxy" not in terminal.run("doctor").stdout


def test_a_role_that_may_not_create_tables_is_refused(bare_terminal, postgres, make_database):
    with guest(postgres, make_database()) as url:
        done = bare_terminal.run("serve", KURZ_DATABASE_URL=url)
        found = bare_terminal.run("doctor", KURZ_DATABASE_URL=url)
    assert done.returncode == 69
    assert done.stderr.startswith("kurz: PostgreSQL does not allow this role")
    assert done.stderr.count("\n") == 1
    assert found.returncode == 1
    assert re.search("✗ database +PostgreSQL does not allow this role", found.stdout)


def test_a_role_that_may_only_read_is_found(
    bare_terminal, postgres, make_database, postgres_template
):
    """By the doctor. Redirects work with it."""
    own = make_database(postgres_template)
    with guest(postgres, own) as url, closing(Psql(own)) as owner:
        owner.tell("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
        found = bare_terminal.run("doctor", KURZ_DATABASE_URL=url)
        owner.tell("DROP OWNED BY guest")
    assert found.returncode == 1
    assert re.search("✗ database +PostgreSQL does not allow this role", found.stdout)


def test_an_empty_database_is_ready_for_the_first_start(bare_terminal, make_database):
    found = bare_terminal.run("doctor", KURZ_DATABASE_URL=make_database())
    assert found.returncode == 0
    assert "! database" in found.stdout
    assert "and empty. kurz serve creates the tables." in found.stdout


def test_wrong_keys_of_backups_are_found_on_postgres_too(bare_terminal, make_database):
    half = {"KURZ_BACKUP": "s3://bucket", "KURZ_BACKUP_S3_KEY_ID": "x"}
    half["KURZ_DATABASE_URL"] = make_database()
    for command, code in (("serve", 78), ("doctor", 1)):
        done = bare_terminal.run(command, **half)
        assert done.returncode == code
        assert "KURZ_BACKUP_S3_SECRET_KEY" in done.stdout + done.stderr


def test_an_older_embedded_database_is_upgraded_at_the_next_start(bare_terminal, tmp_path):
    assert bare_terminal.run("migrate").returncode == 0
    with sqlite3.connect(tmp_path / "data" / "kurz.db") as connection:
        connection.execute("UPDATE schema_revision SET version_num = '0001'")
    connection.close()
    found = bare_terminal.run("doctor")
    assert found.returncode == 0
    assert re.search("! database +it has schema 0001. kurz serve makes a copy", found.stdout)


def test_a_data_folder_on_a_disk_that_is_not_mounted(tmp_path):
    (tmp_path / "data").symlink_to(tmp_path / "disk" / "kurz")
    terminal = Terminal({"KURZ_DATA_DIR": str(tmp_path / "data"), "KURZ_PORT": "0"})
    for command, code in (("doctor", 1), ("serve", 78)):
        done = terminal.run(command)
        assert done.returncode == code
        said = f"{tmp_path}/disk/kurz does not exist. Mount or create it,"
        assert said in done.stdout + done.stderr


@contextmanager
def guest(postgres: PostgresServer, url: str) -> Iterator[str]:
    """The address for a role that may only connect."""
    postgres.ask("CREATE ROLE guest LOGIN")
    try:
        yield url.replace("postgres@", "guest@")
    finally:
        postgres.ask("DROP ROLE guest")


def test_the_doctor_knows_its_own_server_from_another_one(start_program, tmp_path):
    own, other = ({"KURZ_DATA_DIR": str(tmp_path / name)} for name in ("own", "other"))
    port = str(start_program(**own).port)
    assert Terminal(other).run("migrate").returncode == 0
    place = f"127.0.0.1:{port}"
    running = Terminal(own).run("doctor", KURZ_PORT=port)
    assert re.search(rf"✓ address +kurz is running on {place}$", running.stdout, re.MULTILINE)
    taken = Terminal(other).run("doctor", KURZ_PORT=port)
    assert taken.returncode == 1
    assert re.search(rf"✗ address +Cannot listen on {place} .*Another kurz", taken.stdout)


def test_the_doctor_misses_the_secret_of_an_installation(start_program, tmp_path):
    environment = {"KURZ_DATA_DIR": str(tmp_path / "data")}
    start_program(**environment).stop()
    assert " secret" not in Terminal(environment).run("doctor").stdout
    (tmp_path / "data" / "secret").unlink()
    assert "everyone has to sign in again" in Terminal(environment).run("doctor").stdout
