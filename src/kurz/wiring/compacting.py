"""Gives the space that a database does not use back to the file system."""

import asyncio
import contextlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kurz.errors import CompactingRefused
from kurz.rounds import rest_after
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.space import (
    PAGES_AT_ONCE,
    FileSpace,
    TableSpace,
    copies_in_memory,
    measure_file,
    measure_tables,
    release_pages,
    rewrite_file,
    shorten_file,
    vacuum,
)
from kurz.wiring.core import Kurz

APPLICATION = "kurz compact"  # in pg_stat_activity
SHORTENING_TRIES, SHORTENING_PAUSE_SECONDS = 20, 0.1  # while others read an older state


@dataclass(frozen=True)
class Compacted:
    """Bytes before and after. `tables` of PostgreSQL: before and after, the largest first."""

    before: int
    after: int
    tables: Sequence[tuple[TableSpace, TableSpace]] = ()


class Tell(Protocol):
    def __call__(self, text: str) -> None:
        """Shows what is about to be done."""


async def compact(kurz: Kurz, tell: Tell) -> Compacted:
    """Raises `CompactingRefused` if it is not possible now."""
    file = kurz.engine.file
    if file is None:
        return await _vacuum_tables(kurz, tell)
    return await _compact_file(kurz, file, tell)


async def _compact_file(kurz: Kurz, file: Path, tell: Tell) -> Compacted:
    read = kurz.database.read
    before = await read(measure_file)
    if before.is_incremental:
        tell(f"{show_bytes(before.free_bytes)} of {show_bytes(before.total_bytes)} are free.")
        # Pages that become free meanwhile are left for new rows.
        for _ in range(before.free_pages // PAGES_AT_ONCE + 1):
            started = time.monotonic()
            with deadline(LIST_SECONDS):
                await kurz.database.write(release_pages, PAGES_AT_ONCE)
            await asyncio.sleep(rest_after(started))
    else:
        is_in_memory = await read(copies_in_memory)
        _check_rewriting(kurz, file.parent, before, is_in_memory=is_in_memory)
        tell(f"Rewriting {show_bytes(before.total_bytes)}. This may take minutes.")
        await asyncio.to_thread(rewrite_file, file)
    return Compacted(before.total_bytes, await _shorten(kurz, file, tell))


async def _shorten(kurz: Kurz, file: Path, tell: Tell) -> int:
    """Cuts off what is not used at the end of the file; returns its size."""
    for _ in range(SHORTENING_TRIES):
        size = await asyncio.to_thread(shorten_file, file)
        used = (await kurz.database.read(measure_file)).total_bytes
        if size <= used:
            return used
        await asyncio.sleep(SHORTENING_PAUSE_SECONDS)
    tell(
        "Another program is reading the database, so its file cannot become shorter yet. Run this"
        " command again when that program has finished."
    )
    return size


def _check_rewriting(kurz: Kurz, folder: Path, found: FileSpace, *, is_in_memory: bool) -> None:
    """A file of an older version is rewritten once, as a whole. That takes a temporary copy, which
    may be in memory, and the log from which it is copied back."""
    if kurz.engine.has_listeners():
        raise CompactingRefused(
            "This database was created by an older version of kurz and must be rewritten once."
            " Stop kurz serve, run this command again, then start kurz serve."
        )
    size = found.total_bytes - found.free_bytes
    needed = size if is_in_memory else 2 * size
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CompactingRefused(
            f"Rewriting the database needs {show_bytes(needed)} of free space in {folder}, but"
            f" only {show_bytes(free)} is available. Free some space and run this command again."
        )
    memory = _free_memory() if is_in_memory else None
    if memory is not None and memory < size:
        raise CompactingRefused(
            f"Rewriting the database needs {show_bytes(size)} of memory, but only"
            f" {show_bytes(memory)} is available. Stop other programs and run this command again."
        )


def _free_memory() -> int | None:
    """None: this system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


async def _vacuum_tables(kurz: Kurz, tell: Tell) -> Compacted:
    before = await kurz.database.read(measure_tables)
    total = sum(table.total_bytes for table in before)
    tell(f"Vacuuming {len(before)} tables of {show_bytes(total)}.")
    await vacuum(kurz.engine.connector(APPLICATION), [table.name for table in before])
    after = {table.name: table for table in await kurz.database.read(measure_tables)}
    pairs = [(table, after[table.name]) for table in before if table.name in after]
    return Compacted(total, sum(table.total_bytes for table in after.values()), pairs)


def show_bytes(number: int) -> str:
    if number < 1024**3:
        return f"{number / 1024**2:,.1f} MiB"
    return f"{number / 1024**3:,.1f} GiB"
