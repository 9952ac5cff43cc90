"""How long portable backups and their restores take, in each direction: elapsed seconds, rows a
second, and the most memory of the process that does it. The server's caches and the disk are those
of the machine."""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from engines import ENGINES, POSTGRES, opened
from growth_rows import fill
from kurz.settings.model import Settings
from kurz.storage.engine.deadlines import deadline
from kurz.storage.portable.tables import CARRIED
from kurz.wiring.backup_storage import FileTarget
from kurz.wiring.portable import PortableWriter
from kurz.wiring.restore import BackupRestorer
from servers.postgres import PostgresServer

DEADLINE_SECONDS = 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    if options.step is not None:
        step(*options.step)
        return
    for engine in options.engines:
        asyncio.run(measure(engine, options.links))


async def measure(engine: str, links: int) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as name:
        folder, file = Path(name), Path(name) / "kurz.backup"
        async with opened(engine, folder / "source") as place:
            with deadline(DEADLINE_SECONDS):
                await fill(place.kurz, links)
                rows = await place.kurz.database.read(count_rows)
            print(f"{engine}: {links:,} links, {rows:,} rows")
            settings = place.settings
            await run("back up", file, settings, rows)
        with PostgresServer(shared_buffers="128MB") as server:
            for target in ENGINES:
                address = server.url() if target == POSTGRES else None
                restored = Settings(data_dir=folder / target, database_url=address)
                await run(f"restore to {target}", file, restored, rows)
        print(f"{'size of the backup':24}{file.stat().st_size / 1024**2:8.1f} MiB")


async def run(what: str, file: Path, settings: Settings, rows: int) -> None:
    kind = "back up" if what == "back up" else "restore"
    command = [sys.executable, __file__, "--step", kind, file, settings.data_dir]
    done = await asyncio.to_thread(
        subprocess.run,
        [*map(str, command), settings.database_url or ""],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, mebibytes = map(float, done.stdout.split())
    print(f"{what:24}{seconds:8.1f} s{rows / seconds:12,.0f} rows/s{mebibytes:8.0f} MiB")


def step(kind: str, file: str, folder: str, address: str) -> None:
    settings = replace(Settings(data_dir=Path(folder)), database_url=address or None)
    started, now = time.monotonic(), datetime.now(UTC)
    if kind == "restore":
        BackupRestorer(settings).restore(FileTarget(Path(file)), now)
    else:
        PortableWriter(settings).create(FileTarget(Path(file)), now)
    print(time.monotonic() - started, peak_mebibytes())


def peak_mebibytes() -> float:
    """Of this program. `getrusage` would include the process that started it."""
    status = Path("/proc/self/status").read_text()
    [kibibytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kibibytes) / 1024


def count_rows(connection: sa.Connection) -> int:
    counts: Sequence[int] = [
        connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in CARRIED
    ]
    return sum(counts)


if __name__ == "__main__":
    main()
