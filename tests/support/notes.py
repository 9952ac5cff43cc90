"""A table of notes for tests of databases, and queries that go well or wrong."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.storage.engine.sqlite import SqliteDatabase, default_driver

DRIVERS = {"the driver of kurz": default_driver, "Python's own": sqlite3}
driver_of_every_kind = pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS.keys())


class Mistake(Exception):
    """A query that goes wrong by itself."""


def create_table(connection: sa.Connection) -> None:
    connection.exec_driver_sql("CREATE TABLE notes (text VARCHAR NOT NULL)")


def add(connection: sa.Connection, text: str) -> str:
    connection.execute(sa.text("INSERT INTO notes VALUES (:text)"), {"text": text})
    return text


def add_and_fail(connection: sa.Connection, text: str) -> None:
    add(connection, text)
    raise Mistake(text)


def add_twice_badly(connection: sa.Connection, text: str) -> None:
    """The second insert breaks a rule of the table."""
    add(connection, text)
    connection.execute(sa.text("INSERT INTO notes VALUES (NULL)"))


def texts(connection: sa.Connection) -> list[str]:
    return sorted(connection.execute(sa.text("SELECT text FROM notes")).scalars())


def texts_in(path: Path) -> list[str]:
    """What a stranger finds in the file."""
    driver: Any = default_driver
    with closing(driver.connect(path)) as connection:
        return sorted(text for (text,) in connection.execute("SELECT text FROM notes"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that keeps the database to itself."""
    driver: Any = default_driver
    with closing(driver.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


class Gate:
    """Keeps the writing thread busy until a test lets it go on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, _: sa.Connection) -> None:
        self.entered.set()
        assert self.opened.wait(10)

    async def hold(self, database: SqliteDatabase) -> asyncio.Task[None]:
        task = asyncio.create_task(database.write(self))
        await asyncio.to_thread(self.entered.wait, 10)
        return task


def fail_for_a_reason(_: sa.Connection) -> None:
    raise Mistake("mine") from KeyError("the reason")
