"""The loader over the real stores: counts are exact, whatever happens in between."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Subject, SubjectKind, tag_subject
from kurz.errors import StoreUnavailable
from kurz.jobs.clicks.loader import Loader
from kurz.links.model import Draft
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.engine.sqlite import default_driver
from kurz.storage.schema.clicks import click_days, click_events, click_totals, journal_position
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.loader import open_loader
from support import nursery
from support.clicks import click, loaded, wait_until, write_segment
from support.engines import DATABASES, usually_on, without_redis
from support.failpoints import Failpoints, Stopped, StoppingDatabase
from support.program import Program

engine = without_redis  # which counts no clicks

STRIDE = 7  # of the points that are tried: all of them take minutes

is_watched: ContextVar[bool] = ContextVar("is_watched", default=False)


class Counted(NamedTuple):
    in_all: int
    by_days: int
    events: int


@pytest.fixture
async def loader(kurz: Kurz) -> AsyncIterator[Loader]:
    async with open_loader(kurz) as loader:
        yield loader


@pytest.fixture
async def link_id(kurz: Kurz) -> int:
    made = await kurz.links.create(Draft(original_url="https://example.com/", tags=("news",)))
    return made.link.id


async def count_clicks(kurz: Kurz, subject: Subject) -> Counted:
    def query(connection: sa.Connection) -> Counted:
        def one(column: Any, table: sa.Table, *where: Any) -> int:
            found = connection.execute(sa.select(column).select_from(table).where(*where)).scalar()
            return int(found or 0)

        totals, days = click_totals.c, click_days.c
        return Counted(
            one(
                totals.clicks,
                click_totals,
                totals.kind == subject.kind.value,
                totals.subject == subject.id,
            ),
            one(
                sa.func.sum(days.clicks),
                click_days,
                days.kind == subject.kind.value,
                days.subject == subject.id,
            ),
            one(sa.func.count(), click_events),
        )

    return await kurz.database.read(query)


async def check(kurz: Kurz, link_id: int, clicks: int) -> None:
    subjects = [
        Subject(SubjectKind.LINK, link_id),
        tag_subject(0, "news"),
        Subject(SubjectKind.SPACE, 0),
        INSTALLATION,
    ]
    found = {subject: await count_clicks(kurz, subject) for subject in subjects}
    assert found == dict.fromkeys(subjects, Counted(clicks, clicks, clicks))


async def test_clicks_count_for_the_link_its_tags_its_space_and_all(kurz, loader, link_id):
    path = write_segment(kurz.settings.journal_dir, *[click(link_id)] * 7)
    assert await loader.load_all() == 7
    await check(kurz, link_id, 7)
    positions = await kurz.database.read(
        lambda connection: connection.execute(
            sa.select(journal_position.c.segment, journal_position.c.offset)
        ).all()
    )
    assert positions == [(bytes.fromhex(path.stem), path.stat().st_size)]


async def test_two_loaders_count_one_folder_once(kurz, link_id):
    for _ in range(4):
        write_segment(kurz.settings.journal_dir, *[click(link_id)] * 3000)
    async with open_loader(kurz) as one, open_loader(kurz) as other:
        counted = await asyncio.gather(one.load_all(), other.load_all())
    assert sum(counted) == 12_000
    await check(kurz, link_id, 12_000)


async def count_in_part(kurz: Kurz, slices: int) -> None:
    """As a loader that is stopped between two slices of a batch."""
    async with open_loader(kurz) as loader:
        database: Any = StoppingDatabase(kurz.database, slices)
        loader._store = SqlClickStore(database, kurz.clock, max_held_seconds=0.025)
        loader._pace.records = 12_000
        with pytest.raises(StoreUnavailable):
            await loader.load_all()


async def test_a_batch_that_was_counted_in_part_is_finished_first(kurz, link_id):
    """By a loader whose batches are smaller, when more clicks have come."""
    path = write_segment(kurz.settings.journal_dir, *[click(link_id)] * 12_000)
    await count_in_part(kurz, 3)
    found = await count_clicks(kurz, Subject(SubjectKind.LINK, link_id))
    assert 0 < found.events < 12_000
    with path.open("ab") as file:
        file.write(click(link_id) * 500)
    async with open_loader(kurz) as loader:
        assert await loader.load_all() == 12_500
    await check(kurz, link_id, 12_500)


async def test_damage_in_a_batch_that_was_counted_in_part_is_skipped(kurz, link_id):
    made = await kurz.links.create(Draft(original_url="https://example.org/", tags=("news",)))
    records = [click(it) for it in (link_id, made.link.id)] * 6000
    path = write_segment(kurz.settings.journal_dir, *records)
    await count_in_part(kurz, 3)
    data = bytearray(path.read_bytes())
    data[-len(click(1)) * 50] ^= 255
    path.write_bytes(data)
    async with open_loader(kurz) as loader:
        await loader.load_all()
        assert loader.counts()["clicks_damaged_bytes"] == len(click(1))
        assert loader.counts()["clicks_backlog_bytes"] == 0
    assert (await count_clicks(kurz, INSTALLATION)).in_all == 11_999


def watch_sqlite(kurz: Kurz, failpoints: Failpoints | None) -> Callable[[sa.Connection], None]:
    """Points between the steps of SQLite's machine, on the connection that writes."""

    def step() -> int:
        try:
            if failpoints is not None:
                failpoints.step()
        except Stopped:
            return 1  # the statement is interrupted
        return 0

    def install(connection: sa.Connection) -> None:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(None if failpoints is None else step, 10)

    assert kurz.settings.is_embedded
    return install


def watch_asyncpg(monkeypatch: pytest.MonkeyPatch, failpoints: Failpoints) -> None:
    """Points before and behind everything that is said to PostgreSQL from here. What goes on in the
    background says what it has to say: nobody could stop it like this without stopping the test."""
    is_watched.set(True)

    def step() -> None:
        if is_watched.get():
            failpoints.step()

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            step()
            result = await method(*args, **kwargs)
            step()
            return result

        return call

    statement = asyncpg.prepared_stmt.PreparedStatement
    names = ("prepare", "execute", "executemany", "fetch", "fetchval", "copy_records_to_table")
    methods = [(asyncpg.Connection, name) for name in names] + [(statement, "fetch")]
    for owner, name in methods:
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))


@pytest.mark.timeout(600)
async def test_stopped_within_any_transaction_it_counts_once(kurz, loader, link_id, monkeypatch):
    journal, clicks = kurz.settings.journal_dir, 0
    for at in count(0, STRIDE if kurz.settings.is_embedded else 1):
        write_segment(journal, *[click(link_id)] * 3)
        clicks += 3
        failpoints = Failpoints(at)
        if kurz.settings.is_embedded:
            await kurz.database.write(watch_sqlite(kurz, failpoints))
            failpoints.passed = 0
            with suppress(StoreUnavailable, Stopped):
                await loader.load_all()
            failpoints._at = -1
            await kurz.database.write(watch_sqlite(kurz, None))
        else:
            with monkeypatch.context() as patch, suppress(StoreUnavailable, Stopped):
                watch_asyncpg(patch, failpoints)
                await loader.load_all()
        is_over = failpoints.passed <= at
        await loader.load_all()
        await check(kurz, link_id, clicks)
        if is_over:
            break
    assert clicks > 30


@pytest.fixture
async def impatient_loader(kurz: Kurz) -> AsyncIterator[Loader]:
    """Waits for the database only as long as by default."""
    by_default = replace(kurz.settings, database_write_milliseconds=1000)
    async with open_kurz(by_default, kurz.clock) as parts, open_loader(parts) as loader:
        yield loader


async def test_a_database_that_is_away_for_a_while_costs_nothing(kurz, impatient_loader, link_id):
    write_segment(kurz.settings.journal_dir, *[click(link_id)] * 5)
    if kurz.settings.is_embedded:
        other = default_driver.connect(kurz.settings.database_path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            await impatient_loader.load_all()
        other.execute("ROLLBACK")
        other.close()
    else:
        blocker = await asyncpg.connect(kurz.settings.database_url)
        transaction = blocker.transaction()
        await transaction.start()
        await blocker.execute("LOCK TABLE journal_position IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable):
            await impatient_loader.load_all()
        await transaction.rollback()
        await blocker.close()
    assert await impatient_loader.load_all() == 5
    await check(kurz, link_id, 5)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_full_disk_costs_nothing(kurz, loader, link_id):
    def limit(connection: sa.Connection, pages: int) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").fetchall()

    write_segment(kurz.settings.journal_dir, *[click(link_id)] * 20_000)
    await kurz.database.write(limit, 1)  # what there is stays, and nothing is added
    with pytest.raises(StoreUnavailable):
        await loader.load_all()
    await kurz.database.write(limit, 1_000_000)
    await loader.load_all()
    await check(kurz, link_id, 20_000)


def visit(program: Program, times: int) -> None:
    """A new link, that many times."""
    with program.client() as client:
        made = client.post("/api/v1/links", json={"original_url": "https://example.com/"}).json()
        for _ in range(times):
            assert client.get(f"/{made['short_code']}").status_code == 302


@usually_on("postgres", among=DATABASES)
def test_what_is_left_when_it_stops_is_counted_before_it_ends(start_program, environment):
    program = start_program(**environment, KURZ_METRICS="public")
    visit(program, 1)
    wait_until(lambda: loaded(program) == 1)
    visit(program, 20)
    assert program.stop() == 0
    assert program.run("jobs", "--once") == "0 clicks counted.\n"


def test_journals_that_an_instance_left_are_adopted(start_program, environment, tmp_path):
    lost = start_program(**environment, KURZ_DATA_DIR=str(tmp_path / "lost"))
    visit(lost, 20)
    lost.kill()
    folder = tmp_path / "rescued"
    shutil.copytree(tmp_path / "lost" / "journal", folder)
    if "KURZ_DATABASE_URL" in environment:
        heir = Program({**environment, "KURZ_DATA_DIR": str(tmp_path / "heir")}, tmp_path / "log")
    else:
        shutil.rmtree(tmp_path / "lost" / "journal")
        heir = lost
    before, after = (heir.run("jobs", "--once", "--journals", str(folder)) for _ in range(2))
    assert 0 <= int(before.split()[0]) <= 20
    assert after == "0 clicks counted.\n"
    assert {path.suffix for path in folder.iterdir()} == {".clicks", ".counted", ""}


@usually_on("sqlite", among=DATABASES)
def test_journals_of_another_installation_are_refused(start_program, environment, tmp_path):
    program = start_program(**environment)
    folder = tmp_path / "theirs"
    write_segment(folder, click(1))
    (folder / "installation").write_text("fedcba9876543210\n")
    for options in (["--once"], []):
        arguments = ["jobs", "--journals", str(folder), *options]
        ended = nursery.run(arguments, program._full_environment)
        assert ended.returncode == 78
        told = ended.stderr.decode()
        assert told.startswith(f"kurz: The journals in {folder} belong to another installation")
        assert len(told.splitlines()) == 1
    assert {path.name for path in folder.iterdir() if path.suffix != ".clicks"} == {"installation"}


@usually_on("postgres", among=DATABASES)
def test_counting_once_says_that_the_own_journals_are_anothers(start_program, environment):
    program = start_program(**environment)
    program.stop()
    folder = Path(program._full_environment["KURZ_DATA_DIR"]) / "journal"
    (folder / "installation").write_text("fedcba9876543210\n")
    ended = nursery.run(["jobs", "--once"], program._full_environment)
    assert ended.returncode == 78
    told = ended.stderr.decode()
    assert told.startswith(f"kurz: The journals in {folder} belong to another installation")
