"""The previous version of kurz and this one run side by side, on one PostgreSQL database, while its
schema is upgraded: no request fails, and each click is counted once. It needs the history of the
repository, which a shallow clone lacks, so it is one of the long tests."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kurz.errors import OlderInstanceRuns
from kurz.storage.engine.schema_state import Feature, use_feature
from support.engines import without_redis
from support.journal_reader import read_all
from support.ledger import Ledger
from support.migrations import HEAD, execute, read
from support.previous import previous_version, unpack_previous
from support.program import Program
from support.slack import IS_STRICT

engine = without_redis
SECONDS = 20
FEATURE = Feature("What the previous version does not know", HEAD)
SECRET = "at least 32 characters, or it is refused"
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / name for name in ("old", "new")}


@pytest.fixture
def programs(settings, environment, folders, tmp_path) -> Iterator[list[Program]]:
    """The previous version, and this one, on a database without a schema."""
    asyncio.run(execute(settings, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"))
    shared = environment | {"KURZ_DATABASE_URL": settings.database_url, "KURZ_SECRET": SECRET}
    if IS_STRICT:
        shared = {name: text for name, text in shared.items() if "MILLISECONDS" not in name}
    source = unpack_previous(tmp_path / "previous")
    made = [
        Program(shared | {"KURZ_DATA_DIR": str(folder)} | more, tmp_path / f"{name}.log")
        for (name, folder), more in zip(folders.items(), ({"PYTHONPATH": source}, {}), strict=True)
    ]
    yield made
    for program in made:
        program.stop()


def follow(ledger: Ledger, program: Program) -> Counter[bool]:
    """Whether this program leads where the links lead that were created on the other one."""
    with program.client() as client:
        return Counter(
            client.get(f"/{code}").headers.get("location") == url
            for code, url in [*ledger.acknowledged.items()][:50]
        )


def recorded(folders: Iterable[Path]) -> int:
    """The clicks in the journals: each of them was answered."""
    return sum(1 for folder in folders for _ in read_all(folder / "journal"))


def counted(program: Program) -> int:
    with program.client() as client:
        return int(client.get("/api/stats").json()["totalRedirects"])


@on_postgres
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_previous_version_runs_beside_this_one(programs, folders, settings):
    old, new = programs
    old.start()
    assert f"kurz {previous_version()[0]}" in old.run("--version")
    with Ledger(old) as before:
        time.sleep(SECONDS)
        assert "up to date" in new.run("migrate")
        with pytest.raises(OlderInstanceRuns, match=re.escape(previous_version()[0])):
            asyncio.run(read(settings, lambda it: use_feature(it, FEATURE)))
        new.start()
        with Ledger(new) as after:
            time.sleep(SECONDS)
            crossed = follow(before, new) + follow(after, old)
    assert crossed[True] > 20
    assert not crossed[False]
    notes = [*before.notes, *after.notes]
    print(f"{SECONDS} s before and after: {Counter(note.status for note in notes)}")
    assert before.wrongs() == after.wrongs() == []
    assert not [note for note in notes if note.status not in (200, 201, 204, 302, 404)]
    # An instance of the previous version can still be started, and counts its clicks.
    old.stop()
    old.start()
    assert not follow(after, old)[False]
    for program in programs:
        program.stop()
    clicks = recorded(folders.values())
    assert clicks > sum(note.status == 302 for note in notes)
    new.run("jobs", "--once")
    new.run("jobs", "--once", "--journals", str(folders["old"] / "journal"))
    new.start()
    assert counted(new) == clicks
    assert before.lost() == after.lost() == []
    # After the first use of a feature that it does not know, it refuses to start.
    old.stop()
    asyncio.run(read(settings, lambda it: use_feature(it, FEATURE)))
    with pytest.raises(AssertionError, match="Use a newer version"):
        old.start()
    assert not follow(after, new)[False]
