"""A restore that is killed leaves nothing that could be taken for a whole installation."""

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import history
from kurz.wiring.core import Kurz
from servers.postgres import PostgresServer
from support.clicks import wait_until
from support.terminal import KURZ, Terminal

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
ROWS, ROW_BYTES = 1000, 4000
GIVEN = 0.6  # of the backup, when the restore is killed


async def fill(kurz: Kurz) -> None:
    """Links, and rows that cannot be compressed well."""
    source = random.Random(1)
    rows = [
        {
            "link_id": number,
            "version": 1,
            "changed_at": number,
            "action": "edit",
            "changes": source.randbytes(ROW_BYTES // 2).hex(),
        }
        for number in range(ROWS)
    ]
    await kurz.database.write(lambda it: it.execute(sa.insert(history), rows).rowcount)


@pytest.fixture
def terminal(environment: dict[str, str], data_dir: Path) -> Terminal:
    return Terminal(environment | {"KURZ_DATA_DIR": str(data_dir)})


@pytest.fixture
def backup(terminal: Terminal, tmp_path: Path) -> bytes:
    terminal.do("create", "https://example.com/", "--code", "known")
    terminal.prepare(fill)
    terminal.do("backup", "--portable", str(tmp_path / "kurz.backup"))
    return (tmp_path / "kurz.backup").read_bytes()


@contextmanager
def restoring(given: bytes, pipe: Path, environment: dict[str, str]) -> Iterator[int]:
    """A restore that waits for the rest of the backup."""
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [KURZ, "backup", "restore", pipe],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with pipe.open("wb") as file:
            file.write(given)
            file.flush()
            yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_killed_restore_leaves_no_database_in_the_folder(terminal, backup, tmp_path):
    folder = tmp_path / "restored"
    environment = terminal.environment | {"KURZ_DATA_DIR": str(folder)}
    unfinished = folder / "restore.part" / "kurz.db"
    given = backup[: int(len(backup) * GIVEN)]
    with restoring(given, tmp_path / "pipe", environment) as pid:
        wait_until(unfinished.exists)  # all that was given is read, except for what is buffered
        os.kill(pid, signal.SIGKILL)
    assert [path.name for path in folder.iterdir()] == ["restore.part"]
    shown = Terminal(environment).run("show", "known")
    assert (shown.returncode, shown.stderr.count("\n")) == (78, 1)
    assert "no kurz database" in shown.stderr


def test_a_killed_restore_leaves_an_empty_database_on_the_server(
    terminal,
    backup,
    tmp_path,
    postgres: PostgresServer,
    make_database: Callable[..., str],
):
    address = make_database()
    name = address.rpartition("/")[2]
    environment = terminal.environment | {
        "KURZ_DATA_DIR": str(tmp_path / "restored"),
        "KURZ_DATABASE_URL": address,
    }
    rows = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608  ours
    with restoring(backup[: int(len(backup) * GIVEN)], tmp_path / "pipe", environment) as pid:
        copied = rows + " AND state = 'idle in transaction' AND query ILIKE 'COPY%history%'"
        wait_until(lambda: postgres.ask(copied) == "1")
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: postgres.ask(rows) == "0")
    again = Terminal(environment | {"KURZ_DATA_DIR": str(tmp_path / "again")})
    (tmp_path / "whole.backup").write_bytes(backup)
    again.do("restore", str(tmp_path / "whole.backup"))  # which refuses any table
    assert again.json("show", "known")["original_url"] == "https://example.com/"
