"""`kurz admin compact`, beside a running server and without one."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kurz.storage.engine.sqlite import default_driver
from support.terminal import Terminal

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
URL = "https://example.com/kept"
MIB = 1024**2


@pytest.fixture
def server(program, environment, data_dir) -> Any:
    """A running server, and a terminal beside it."""
    terminal = Terminal(environment | {"KURZ_DATA_DIR": str(data_dir)})
    terminal.do("create", URL, "--code", "kept")
    return program, terminal


def leave_space(path: Path, mib: int = 8) -> None:
    """Writes and deletes as much as a large job does; a row at the end of the file is left."""
    driver: Any = default_driver
    with closing(driver.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE padding (id INTEGER PRIMARY KEY, text BLOB)")
        for _ in range(4 * mib):
            connection.execute("INSERT INTO padding (text) VALUES (zeroblob(256 * 1024))")
        connection.execute("DELETE FROM padding WHERE id < ?", (4 * mib,))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def make_older(path: Path) -> None:
    """As the versions before created it."""
    driver: Any = default_driver
    with closing(driver.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum=NONE")
        connection.execute("VACUUM")
        assert connection.execute("PRAGMA auto_vacuum").fetchall() == [(0,)]


def padding(path: Path) -> list[tuple[int, int]]:
    driver: Any = default_driver
    with closing(driver.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows: list[tuple[int, int]] = connection.execute(
            "SELECT id, length(text) FROM padding"
        ).fetchall()
        return rows


@on_sqlite
def test_a_new_database_is_compacted_beside_the_server(server, data_dir):
    program, terminal = server
    path = data_dir / "kurz.db"
    leave_space(path)
    before = path.stat().st_size
    assert before > 8 * MIB
    done = terminal.run("admin", "compact")
    assert done.returncode == 0, done.stderr
    assert "MiB are free" in done.stderr
    assert path.stat().st_size < before - 7 * MIB
    assert done.stdout.startswith("before  ")
    assert padding(path) == [(32, 256 * 1024)]
    with program.client() as client:
        assert client.get("/kept").headers["location"] == URL
    again = terminal.json("admin", "compact")
    assert again["bytes_before"] == again["bytes_after"] == path.stat().st_size
    assert again["tables"] == []


@on_sqlite
@pytest.mark.parametrize("is_older", [False, True])
def test_a_file_that_somebody_reads_is_shortened_later(terminal, tmp_path, is_older):
    terminal.do("create", URL)
    path = tmp_path / "data" / "kurz.db"
    if is_older:
        make_older(path)
    leave_space(path)
    before = path.stat().st_size
    driver: Any = default_driver
    with closing(driver.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM links").fetchall()
        done = terminal.run("admin", "compact", "--json")
        assert done.returncode == 0, done.stderr
        assert "cannot become shorter yet" in done.stderr
        assert json.loads(done.stdout)["bytes_after"] == path.stat().st_size == before
    assert terminal.json("admin", "compact")["bytes_after"] < before - 7 * MIB


@on_sqlite
def test_an_older_database_is_rewritten_when_no_server_runs(server, data_dir):
    program, terminal = server
    path = data_dir / "kurz.db"
    program.stop()
    make_older(path)
    leave_space(path)
    program.start()
    refused = terminal.run("admin", "compact")
    assert refused.returncode == 4
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1
    assert "Stop kurz serve" in refused.stderr
    program.stop()
    before = path.stat().st_size
    done = terminal.json("admin", "compact")
    assert done["bytes_before"] == before
    assert done["bytes_after"] == path.stat().st_size < before - 7 * MIB
    assert padding(path) == [(32, 256 * 1024)]
    assert [it.name for it in data_dir.iterdir() if "etilqs" in it.name] == []
    program.start()
    leave_more = terminal.run("admin", "compact")  # which needs no rewriting any more
    assert leave_more.returncode == 0, leave_more.stderr


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_tables_of_postgresql_are_vacuumed_beside_the_server(server):
    program, terminal = server
    done = terminal.json("admin", "compact")
    tables = {table["name"] for table in done["tables"]}
    assert {"links", "click_days", "click_totals", "changes"} <= tables
    assert not any(name.startswith("click_events") for name in tables)
    assert sum(it["bytes_after"] for it in done["tables"]) == done["bytes_after"] > 0
    shown = terminal.run("admin", "compact")
    assert "tables of" in shown.stderr
    assert "before  " in shown.stdout
    with program.client() as client:
        assert client.get("/kept").headers["location"] == URL
