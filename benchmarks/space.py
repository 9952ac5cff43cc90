"""How much space the clicks of a link's day take, before and after old days are folded into months;
and what folding costs. Two years of links with a few clicks a day, and of links with one a week, on
both engines."""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.clicks.months import first_open_day
from kurz.settings.model import Settings
from kurz.storage.engine.deadlines import deadline
from kurz.storage.engine.space import measure_file
from kurz.storage.followers.day_folder import DayFolder
from kurz.wiring.compacting import compact
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare
from stats_rows import ROW, TODAY, TOTAL, Data

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from servers.postgres import PostgresServer

DAYS = range(TODAY - 729, TODAY + 1)
KEPT_DAYS = 400
FIRST_KEPT = first_open_day(TODAY, KEPT_DAYS)
# Links, the share of days that have clicks, and how many clicks these days have.
TRAFFIC = {"5 clicks a day": (1.0, range(1, 10)), "1 click a week": (1 / 7, range(1, 2))}


class Rows:
    """A day's rows are next to each other, in the order of the links, as the loader writes them."""

    def __init__(self, links: int, share: float, clicks: range) -> None:
        self._chance, self._pool = random.Random(3), Data(1, 1)
        self._links, self._share, self._clicks = links, share, clicks
        self.old = self.all = 0

    def days(self) -> Iterator[tuple[Any, ...]]:
        for day in DAYS:
            for link_id in range(1, self._links + 1):
                if self._chance.random() >= self._share:
                    continue
                clicks = self._chance.choice(self._clicks)
                people, counts = self._pool.day_of_link(clicks)
                sketch = b"\0" + self._chance.randbytes(8 * people) if people else b""
                self.all += 1
                self.old += day < FIRST_KEPT
                kind = SubjectKind.LINK.value
                yield kind, link_id, day, clicks, people, people, counts, sketch

    def totals(self) -> Iterator[tuple[Any, ...]]:
        for link_id in range(1, self._links + 1):
            yield SubjectKind.LINK.value, link_id, 1, 1, 0.2, 0.05


class Timed:
    """The database; notes how long each write took, with its commit."""

    def __init__(self, kurz: Kurz) -> None:
        self._kurz = kurz
        self.seconds: list[float] = []

    async def read(self, query: Any, *args: Any) -> Any:
        return await self._kurz.database.read(query, *args)

    async def write(self, query: Any, *args: Any) -> Any:
        started = time.monotonic()
        try:
            return await self._kurz.database.write(query, *args)
        finally:
            self.seconds.append(time.monotonic() - started)


async def measure(
    kurz: Kurz, rows: Rows, size: Callable[[], Awaitable[int]], cpu_seconds: Callable[[], float]
) -> None:
    before = await size() / rows.all
    timed: Any = Timed(kurz)
    folder = DayFolder(timed, KEPT_DAYS, kurz.engine.max_held_seconds)
    cpu = cpu_seconds()
    with deadline(60):
        folded = await folder.run(TODAY, lambda: False)
    cpu = (cpu_seconds() - cpu) / folded * 1e6
    started = time.process_time()
    assert await folder.run(TODAY, lambda: False) == 0
    idle = (time.process_time() - started) * 1000
    assert folded == rows.old
    after = (await size() - before * (rows.all - rows.old)) / rows.old
    writes = sorted(timed.seconds)
    print(
        f"  {before:6.0f} bytes a day before, {after:6.1f} after ({before / after:.1f} times less);"
        f" {cpu:.1f} µs of CPU a day;"
        f" writes: p95 {writes[int(len(writes) * 0.95)] * 1000:.0f} ms,"
        f" longest {writes[-1] * 1000:.0f} ms; with nothing to do {idle:.1f} ms of CPU"
    )


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Kurz]:
    await prepare(settings, upgrades_postgres=True)
    async with open_kurz(settings) as kurz:
        yield kurz


async def on_sqlite(rows: Rows, folder: Path) -> None:
    settings = Settings(data_dir=folder / "kurz-data")
    async with opened(settings) as kurz:
        empty = (await kurz.database.read(measure_file)).total_bytes

        def fill(connection: sa.Connection) -> None:
            driver: Any = connection.connection.driver_connection
            for table, names, found in (
                ("click_days", ROW, rows.days()),
                ("click_totals", TOTAL, rows.totals()),
            ):
                marks = ", ".join("?" * len(names))
                text = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608
                driver.executemany(text, found)

        with deadline(600):
            await kurz.database.write(fill)

        async def size() -> int:
            found = await kurz.database.read(measure_file)
            return found.total_bytes - found.free_bytes - empty

        await measure(kurz, rows, size, time.process_time)
        found = await compact(kurz, lambda _: None)
        print(f"  file: {found.before / 1e6:.1f} MB, compacted {found.after / 1e6:.1f} MB")


async def on_postgres(rows: Rows, folder: Path) -> None:
    with PostgresServer(shared_buffers="128MB") as server:
        async with opened(Settings(data_dir=folder, database_url=server.url())) as kurz:
            connection = await asyncpg.connect(server.url())
            copy = connection.copy_records_to_table
            await copy("click_days", records=rows.days(), columns=ROW)
            await copy("click_totals", records=rows.totals(), columns=TOTAL)

            async def size() -> int:
                await connection.execute("VACUUM FULL click_days")
                return int(await connection.fetchval("SELECT pg_total_relation_size('click_days')"))

            def cpu_seconds() -> float:
                children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
                spent = [Path(f"/proc/{pid}/schedstat").read_text() for pid in children.split()]
                return time.process_time() + sum(int(it.split()[0]) for it in spent) / 1e9

            await connection.execute("VACUUM ANALYZE")
            await measure(kurz, rows, size, cpu_seconds)
            await connection.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1000)
    links = parser.parse_args().links
    for engine, measured in ("SQLite", on_sqlite), ("PostgreSQL", on_postgres):
        for name, (share, clicks) in TRAFFIC.items():
            print(f"{engine}, {links:,} links with {name}:", flush=True)
            rows = Rows(round(links if share == 1 else links / share), share, clicks)
            with tempfile.TemporaryDirectory() as folder:
                await measured(rows, Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
