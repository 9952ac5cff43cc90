"""Programs that start on an empty, an old or a newer schema."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

import kurz
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.schema_state import revision
from support.engines import DATABASES, usually_on
from support.long_run import in_the_long_run
from support.migrations import (
    HEAD,
    NEXT,
    URL,
    make_with_link,
    on_postgres,
    on_sqlite,
    read,
    run_kurz,
    snapshot,
    snapshot_of_file,
    upgrade,
)
from support.program import KURZ, Program


@pytest.mark.parametrize("count", [3, *in_the_long_run(5)])
def test_programs_that_start_together_on_nothing_all_serve(environment, tmp_path, count):
    environment = environment | {"KURZ_DATA_DIR": str(tmp_path / "data")}
    programs = [Program(environment, tmp_path / f"log-{n}") for n in range(count)]
    try:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(Program.start, programs))
        made = {}
        for number, program in enumerate(programs):
            with program.client() as client:
                url = f"https://example.com/{number}"
                answer = client.post("/api/v1/links", json={"original_url": url})
                assert answer.status_code == 201
                made[answer.json()["short_code"]] = url
        assert len(made) == count
        for program in programs:
            with program.client() as client:
                for code, url in made.items():
                    assert client.get(f"/{code}").headers["location"] == url
    finally:
        for program in programs:
            program.stop()


@pytest.fixture
def next_kurz(second: Callable[..., Migrations], tmp_path: Path) -> str:
    """The folder to import the next version of kurz from, which has one more migration."""
    source = Path(kurz.__file__).parent
    copy = tmp_path / "next" / "kurz"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(second().scripts, copy / "storage" / "migrations", dirs_exist_ok=True)
    module = copy / "storage" / "engine" / "migrate.py"
    text = module.read_text()
    assert text.count(f'"{HEAD}"') == 1
    module.write_text(text.replace(f'"{HEAD}"', f'"{NEXT}"'))
    return str(copy.parent)


@on_postgres
async def test_an_old_schema_on_postgres_is_left_to_kurz_migrate(
    settings, next_kurz, start_program
):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    ended = await asyncio.to_thread(run_kurz, settings, "serve", PYTHONPATH=next_kurz)
    assert ended.returncode == 78
    assert "`kurz migrate`" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert await read(settings, snapshot) == before
    ended = await asyncio.to_thread(run_kurz, settings, "migrate", PYTHONPATH=next_kurz)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"up to date ({NEXT})" in ended.stdout
    program = start_program(PYTHONPATH=next_kurz, KURZ_DATABASE_URL=settings.database_url)
    with program.client() as client:
        assert client.get("/kept").headers["location"] == URL


def serve_once(environment: dict[str, str]) -> str:
    """Starts a program that has more to say than usual, follows the link, and stops it; gives what
    it printed at its start."""
    command = [str(KURZ), "serve"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            output = ""
            while "stop " not in output:
                line = process.stdout.readline()
                assert line
                output += line
            match = re.search(r"kurz +(http://127\.0\.0\.1:\d+)", output)
            assert match is not None
            assert httpx2.get(f"{match[1]}/kept", trust_env=False).headers["location"] == URL
        finally:
            process.terminate()
    assert process.returncode == 0
    return output


@on_sqlite
async def test_an_embedded_kurz_upgrades_itself_and_says_where_the_backup_is(settings, next_kurz):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    environment = {**os.environ, "PYTHONPATH": next_kurz, "KURZ_PORT": "0"}
    environment["KURZ_DATA_DIR"] = str(settings.data_dir)
    output = await asyncio.to_thread(serve_once, environment)
    (backup,) = settings.backup_dir.iterdir()
    assert str(backup) in output.splitlines()[0]
    assert snapshot_of_file(backup) == before
    assert await read(settings, revision) == NEXT


@on_postgres
def test_kurz_migrate_makes_an_empty_postgres_ready(settings):
    ended = run_kurz(settings, "migrate")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"up to date ({HEAD})" in ended.stdout
    again = run_kurz(settings, "migrate")
    assert (again.returncode, again.stdout) == (0, ended.stdout)
    assert run_kurz(settings, "list").returncode == 0


@usually_on("sqlite", among=DATABASES)
async def test_a_newer_schema_is_refused_and_left_alone(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second())
    before = await read(settings, snapshot)
    for command in ("serve", "migrate", "list"):
        ended = await asyncio.to_thread(run_kurz, settings, command)
        assert (command, ended.returncode) == (command, 78)
        assert f"schema {NEXT}" in ended.stderr
        assert "newer version of kurz" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    assert await read(settings, snapshot) == before
    assert not settings.backup_dir.exists() or len(list(settings.backup_dir.iterdir())) == 1
