"""Databases of both engines for benchmarks that call the services of kurz in their own process."""

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from kurz.settings.model import Settings
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from servers.postgres import PostgresServer

SQLITE, POSTGRES = ENGINES = ("sqlite", "postgres")


class Place(NamedTuple):
    """A database and the services over it. The CPU is that of this process and of PostgreSQL's
    server."""

    settings: Settings
    kurz: Kurz
    cpu_seconds: Callable[[], float]


@asynccontextmanager
async def opened(engine: str, folder: Path) -> AsyncIterator[Place]:
    """An empty database of the engine."""
    if engine == SQLITE:
        async with _opened(Settings(data_dir=folder / "kurz-data"), time.process_time) as place:
            yield place
        return
    with PostgresServer(shared_buffers="128MB") as server:  # PostgreSQL's own default

        def cpu_seconds() -> float:
            return time.process_time() + server_cpu_seconds(server.pid)

        settings = Settings(data_dir=folder, database_url=server.url())
        async with _opened(settings, cpu_seconds) as place:
            yield place


@asynccontextmanager
async def _opened(settings: Settings, cpu_seconds: Callable[[], float]) -> AsyncIterator[Place]:
    await prepare(settings, upgrades_postgres=True)
    async with open_kurz(settings) as kurz:
        yield Place(settings, kurz, cpu_seconds)


def server_cpu_seconds(pid: int) -> float:
    """Of the processes that a PostgreSQL server has, so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(int(Path(f"/proc/{it}/schedstat").read_text().split()[0]) for it in children) / 1e9
