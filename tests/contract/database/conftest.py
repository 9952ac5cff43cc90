"""An SQLite database with a table of notes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kurz.storage.engine.sqlite import SqliteDatabase
from support.notes import create_table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(path)
    await database.write(create_table)
    yield database
    await database.close()
