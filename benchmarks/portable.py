"""How long portable backups and their restores take, in each direction: elapsed seconds, rows a
second, CPU seconds of the command and of PostgreSQL, and the most memory of the command. The
server's caches and the disk are those of the machine."""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from engines import SQLITE, opened, server_cpu_seconds
from growth_rows import fill
from kurz.settings.model import Settings
from kurz.storage.engine.deadlines import deadline
from kurz.storage.portable.tables import CARRIED
from servers.postgres import PostgresServer

DEADLINE_SECONDS = 3600
MEASURED = Path(__file__).with_name("measured_kurz.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=100_000, help="with ten clicks each")
    parser.add_argument("--source", type=Path, help="a folder to fill, or that was filled before")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as name:
        source = options.source or Path(name) / "source"
        asyncio.run(measure(Path(name), source, options.links))


async def measure(folder: Path, source: Path, links: int) -> None:
    """There and back: the second backup is of what the first one was restored to."""
    is_filled = (source / "kurz-data" / "kurz.db").exists()
    async with opened(SQLITE, source) as place:
        with deadline(DEADLINE_SECONDS):
            if not is_filled:
                await fill(place.kurz, links)
            rows = await place.kurz.database.read(count_rows)
    print(f"{rows:,} rows; load {os.getloadavg()[0]:.1f}")
    print(
        f"{'':24}{'elapsed':>10}{'rows/s':>14}{'CPU':>10}{'server':>10}{'memory':>12}", flush=True
    )
    first, second = folder / "first.backup", folder / "second.backup"
    with PostgresServer(shared_buffers="128MB") as server:
        there = Settings(data_dir=folder / "there", database_url=server.url())
        back = Settings(data_dir=folder / "back")
        for what, arguments, settings, pid in (
            ("back up SQLite", ["backup", "--portable", first], place.settings, None),
            ("restore to PostgreSQL", ["restore", first], there, server.pid),
            ("back up PostgreSQL", ["backup", second], there, server.pid),
            ("restore to SQLite", ["restore", second], back, None),
        ):
            await run(what, [*map(str, arguments)], settings, rows, pid)
    print(f"{'size of the backup':24}{first.stat().st_size / 1024**2:8.1f} MiB")


async def run(
    what: str,
    arguments: Sequence[str],
    settings: Settings,
    rows: int,
    server_pid: int | None = None,
) -> None:
    noted = settings.data_dir.with_name("noted")
    environment = {**os.environ, "KURZ_DATA_DIR": str(settings.data_dir)}
    if settings.database_url is not None:
        environment["KURZ_DATABASE_URL"] = settings.database_url
    command = [sys.executable, str(MEASURED), str(noted), *arguments]
    started, server_before = time.monotonic(), all_cpu_seconds(server_pid)
    await asyncio.to_thread(
        subprocess.run, command, env=environment, stdout=subprocess.DEVNULL, check=True
    )
    seconds = time.monotonic() - started
    server_seconds = all_cpu_seconds(server_pid) - server_before
    cpu_seconds, kibibytes = map(float, noted.read_text().split())
    print(
        f"{what:24}{seconds:8.1f} s{rows / seconds:14,.0f}{cpu_seconds:8.1f} s"
        f"{server_seconds:8.1f} s{kibibytes / 1024:8.0f} MiB",
        flush=True,
    )


def all_cpu_seconds(pid: int | None) -> float:
    """Of a PostgreSQL server, with the processes that have ended."""
    if pid is None:
        return 0.0
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return server_cpu_seconds(pid) + sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def count_rows(connection: sa.Connection) -> int:
    counts: Sequence[int] = [
        connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in CARRIED
    ]
    return sum(counts)


if __name__ == "__main__":
    main()
