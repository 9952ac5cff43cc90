"""What a copy of the database contains."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.errors import StoreUnavailable
from kurz.storage.backup.snapshot import unchanged_uri
from kurz.storage.engine import sqlite
from kurz.storage.engine.schema_state import find_state
from kurz.storage.schema.clicks import click_totals, journal_position
from kurz.storage.schema.links import links
from kurz.storage.schema.people import accounts, workspaces


class Contents(NamedTuple):
    schema: str
    oldest_schema: str
    links: int
    accounts: int
    workspaces: int
    clicks: int


def read_contents(path: Path) -> Contents:
    """Reads all of a copy, and raises `StoreUnavailable` if it is damaged."""
    with sqlite.create_engine(path).connect() as connection:
        return contents_of(connection)


def check_copy(path: Path) -> None:
    """Raises `StoreUnavailable` unless the database is sound. The file is not changed."""
    driver: Any = sqlite.default_driver
    try:
        with closing(driver.connect(unchanged_uri(path), uri=True)) as connection:
            [(found,), *_] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except driver.Error as error:
        raise StoreUnavailable(f"The database is damaged: {error}.") from None
    if found != "ok":
        raise StoreUnavailable(f"The database is damaged: {found}.")


def contents_of(connection: sa.Connection) -> Contents:
    def count(table: sa.Table) -> int:
        found: int = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        return found

    # Those of links: every click is also one of a workspace, of tags and of the installation.
    is_link = click_totals.c.kind == SubjectKind.LINK.value
    clicks = sa.select(sa.func.coalesce(sa.func.sum(click_totals.c.clicks), 0)).where(is_link)
    state = find_state(connection)
    return Contents(
        state.newest if state else "",
        state.oldest if state else "",
        count(links),
        count(accounts),
        count(workspaces),
        int(connection.execute(clicks).scalar_one()),
    )


def counted_offsets(connection: sa.Connection) -> Mapping[bytes, int]:
    """How far each segment of the journal is counted, if no batch of it is partly counted."""
    position = journal_position.c
    query = sa.select(position.segment, position.offset).where(position.slices_end.is_(None))
    return {row.segment: row.offset for row in connection.execute(query)}
