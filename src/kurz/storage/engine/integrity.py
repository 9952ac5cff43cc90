"""What an engine itself finds wrong in its files."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from kurz.storage.engine.sqlite import is_damage

MOST_PROBLEMS = 20
STEPS = 1_000_000  # of SQLite's virtual machine, between two calls of `tell`: some milliseconds


def check_file(connection: sa.Connection, tell: Callable[[], None]) -> list[str]:
    """Reads every page of an embedded database, and compares each index with its table. Returns the
    first problems, in SQLite's words."""
    driver: Any = connection.connection.driver_connection

    def go_on() -> int:
        tell()
        return 0

    driver.set_progress_handler(go_on, STEPS)
    try:
        found = driver.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall()
    except driver.DatabaseError as error:
        if not is_damage(error):
            raise
        return [str(error)]
    finally:
        driver.set_progress_handler(None, 0)
    # A problem may have several lines, and a line several problems.
    return [line for (text,) in found for line in text.splitlines() if line != "ok"][:MOST_PROBLEMS]


def failed_pages(connection: sa.Connection) -> int | None:
    """How many pages PostgreSQL has read with a wrong checksum, since its statistics began; None:
    its pages have no checksums."""
    if connection.execute(sa.text("SHOW data_checksums")).scalar() != "on":
        return None
    query = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
    return connection.execute(sa.text(query)).scalar() or 0
