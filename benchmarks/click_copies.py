"""What the copies of click counts cost over one checkpoint interval: PostgreSQL's log (WAL), how
many updates of links were HOT, and the CPU of the copies, on both engines. The clicks follow Zipf's
law. Links with many indexes are copied on purpose: those of `list.py`, in one workspace."""

import argparse
import asyncio
import itertools
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import sqlalchemy as sa

from engines import server_cpu_seconds
from kurz.clicks.batch import SubjectKind
from kurz.settings.model import Settings
from kurz.storage.clicks.totals import add_totals
from kurz.storage.engine.deadlines import deadline
from kurz.storage.followers.click_count_copier import BATCH, LAG, copy_clicks
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare
from list_rows import Data, fill_index_of_texts, fill_postgres, fill_sqlite
from servers.postgres import PostgresServer

COUNTED = int(SubjectKind.LINK)
SETTINGS = "ALTER SYSTEM SET checkpoint_timeout = '1h'", "ALTER SYSTEM SET max_wal_size = '64GB'"


class Visits:
    """Clicks on `active` of the links: on the most popular twice as many as on the second."""

    def __init__(self, links: int, active: int) -> None:
        self._chance = random.Random(9)
        self._links = self._chance.sample(range(1, links + 1), active)
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(active)))

    def some(self, clicks: int) -> Counter[int]:
        return Counter(self._chance.choices(self._links, cum_weights=self._weights, k=clicks))

    def totals(self, clicks: int) -> list[tuple[int, int]]:
        """As many clicks as these links had before."""
        scale = clicks / self._weights[-1]
        return [(link, int(scale / (rank + 1))) for rank, link in enumerate(self._links)]


def add(connection: sa.Connection, clicks: dict[int, int]) -> None:
    rows = [(COUNTED, link, number, number, 0.2, 0.1) for link, number in sorted(clicks.items())]
    add_totals(connection, rows)


async def set_out(kurz: Kurz, visits: Visits, history: int) -> None:
    """Links are behind their totals by as much as they may be, half of that on average."""
    chance = random.Random(4)
    copy = sa.update(links).where(links.c.id == sa.bindparam("link"))
    copy = copy.values(redirect_count=sa.bindparam("copied"))
    totals = [pair for pair in visits.totals(history) if pair[1]]
    for start in range(0, len(totals), 5000):
        part = dict(totals[start : start + 5000])
        copied = [
            {"link": link, "copied": max(0, number - int(chance.random() * LAG * number**0.5))}
            for link, number in sorted(part.items())
        ]

        def write(connection: sa.Connection, part: Any = part, copied: Any = copied) -> None:
            add(connection, part)
            connection.execute(copy, copied)

        with deadline(600):
            await kurz.database.write(write)


async def copy_all(
    kurz: Kurz, visits: Visits, options: argparse.Namespace, read_wal: Callable[[], Any]
) -> tuple[int, int, int, float]:
    """Copies, bytes of the log for them, for the totals, and this process's CPU seconds."""
    copies, copied_bytes, total_bytes, cpu = 0, 0, 0, 0.0
    for _ in range(options.rounds):
        clicks = visits.some(options.clicks)
        began = await read_wal()
        with deadline(600):
            await kurz.database.write(add, clicks)
        counted = await read_wal()
        due, before = sorted(clicks), time.process_time()
        with deadline(600):
            while due:
                await kurz.database.write(copy_clicks, due[:BATCH])
                del due[:BATCH]
        cpu += time.process_time() - before
        copies += len(clicks)
        total_bytes += counted - began
        copied_bytes += await read_wal() - counted
    return copies, copied_bytes, total_bytes, cpu


async def on_postgres(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    visits = Visits(options.links, options.active)
    with PostgresServer(shared_buffers="256MB") as server:
        settings = Settings(data_dir=folder, database_url=server.url())
        await prepare(settings, upgrades_postgres=True)
        await fill_postgres(server.url(), Data(options.links).rows())
        observer = await asyncpg.connect(server.url())
        for each in SETTINGS:
            await observer.execute(each)
        await observer.execute("SELECT pg_reload_conf()")

        async def read_wal() -> int:
            query = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
            return int(await observer.fetchval(query))

        async def updates() -> tuple[int, int]:
            await asyncio.sleep(1.5)  # statistics are written once a second
            await observer.execute("SELECT pg_stat_clear_snapshot()")
            query = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
            row = await observer.fetchrow(query + " WHERE relname = 'links'")
            assert row is not None
            return row[0], row[1]

        async with open_kurz(settings) as kurz:
            await set_out(kurz, visits, options.history)
            await observer.execute("VACUUM ANALYZE links")
            await observer.execute("CHECKPOINT")
            updated, hot = await updates()
            server_cpu = server_cpu_seconds(server.pid)
            copies, wal, counted_wal, cpu = await copy_all(kurz, visits, options, read_wal)
            server_cpu = server_cpu_seconds(server.pid) - server_cpu
            updated_after, hot_after = await updates()
        await observer.close()
    return {
        "engine": "postgres",
        "copies": copies,
        "wal_bytes_a_copy": round(wal / copies),
        "wal_bytes_a_total": round(counted_wal / copies),
        "updates_of_links": updated_after - updated,
        "hot": hot_after - hot,
        "cpu_us_a_copy": round(cpu / copies * 1e6, 1),
        "server_cpu_us_a_copy_with_totals": round(server_cpu / copies * 1e6, 1),
    }


async def on_sqlite(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    visits = Visits(options.links, options.active)
    settings = Settings(data_dir=folder / "kurz-data")
    await prepare(settings, upgrades_postgres=False)

    async def read_wal() -> int:
        return 0

    async with open_kurz(settings) as kurz:
        await kurz.database.write(fill_sqlite, Data(options.links).rows())
        await fill_index_of_texts(kurz)
        await set_out(kurz, visits, options.history)
        copies, _, _, cpu = await copy_all(kurz, visits, options, read_wal)
    return {
        "engine": "sqlite",
        "copies": copies,
        "cpu_us_a_copy": round(cpu / copies * 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=200_000)
    parser.add_argument("--active", type=int, default=100_000, help="links that are clicked")
    parser.add_argument("--history", type=int, default=10_000_000, help="clicks before")
    parser.add_argument("--rounds", type=int, default=100, help="of copies in the interval")
    parser.add_argument("--clicks", type=int, default=1000, help="in a round")
    parser.add_argument("--engines", nargs="+", default=["sqlite", "postgres"])
    options = parser.parse_args()
    for engine in options.engines:
        with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
            run = {"sqlite": on_sqlite, "postgres": on_postgres}[engine]
            print(json.dumps(asyncio.run(run(Path(folder), options))), flush=True)


if __name__ == "__main__":
    main()
