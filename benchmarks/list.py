"""How long a page of 50 takes in a workspace of a million links, on both engines: every order, with
every filter, the first page and a deep one. Also the operator's lists of all links, and lists of
tags. The time is that of the service, the CPU that of this process and of PostgreSQL's server."""

import argparse
import asyncio
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import sqlalchemy as sa

from kurz.clock import SystemClock, from_micros, to_micros
from kurz.links.model import Filter, Scope, Sort, Status
from kurz.paging import Part
from kurz.settings.model import Settings
from kurz.storage.links.search import index_changes, leave_merging_to_us, merge_index
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from servers.postgres import PostgresServer

TEAM = 7
NOW = to_micros(SystemClock().now())
DAY = 86_400_000_000
GOAL_MS = 20
WORDS = """
    spring summer autumn winter sale launch report quarter review guide pricing offer event press
    podcast letter career team product feature update release mobile desktop cloud travel hotel
    flight city museum concert ticket garden kitchen recipe coffee bread cheese music soccer
    tennis school course lesson student library science physics biology history
""".split()  # noqa: SIM905  a column of fifty strings is no easier to read
RARE_WORDS = {"zebra": 0.01, "quagga": 0.001, "okapi": 0.00001}
FILLED = (
    *("id", "workspace_id", "space", "short_code", "version", "strategy", "original_url"),
    *("canonical_url", "owner_id", "link_type", "status", "created_at", "updated_at", "expires_at"),
    *("deleted_at", "redirect_status", "title", "tags", "forward_query", "max_clicks"),
    *("clicks_used", "redirect_count"),
)


class Data:
    """Links as a workspace of some years has them: most made by few people, some tags on nearly
    everything, a part imported with old dates, one big clean-up, many expired."""

    def __init__(self, count: int) -> None:
        self._chance = random.Random(5)
        self.count = count
        self.owners = [self._chance.getrandbits(52) for _ in range(10)]
        self.tags = [f"{WORDS[number % len(WORDS)]}-{number}" for number in range(3000)]
        self._hosts = ["www.example.com", *(f"{word}.example" for word in WORDS)]
        self._weights = {
            len(values): list(itertools.accumulate(1 / (rank + 1) for rank in range(len(values))))
            for values in (self.owners, self.tags, self._hosts)
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for link_id in range(1, self.count + 1):
            url, title = self._texts()
            times, state = self._times(link_id)
            tags = tuple(dict.fromkeys(self._some(self.tags, self._chance.choice((0, 1, 1, 2, 3)))))
            clicks = int(min(self._chance.paretovariate(0.6), 10**9)) - 1
            yield (
                *(link_id, TEAM, TEAM, f"{self._chance.getrandbits(40):x}-{link_id % 100}", 1),
                *("random", url, url, self._some(self.owners, 1)[0], "PERMANENT", state[0], *times),
                *(302, title, json.dumps(tags) if tags else None, False, *state[1:], clicks),
            )

    def _some(self, values: list[Any], count: int) -> list[Any]:
        """By Zipf's law: the second is half as frequent as the first."""
        return self._chance.choices(values, cum_weights=self._weights[len(values)], k=count)

    def _texts(self) -> tuple[str, str | None]:
        one, two, three = self._chance.choices(WORDS, k=3)
        number = self._chance.randrange(10**6)
        url = f"https://{self._some(self._hosts, 1)[0]}/{one}/{two}-{number}?utm_source={three}"
        if self._chance.random() < 0.4:
            return url, None
        rare = [word for word, share in RARE_WORDS.items() if self._chance.random() < share]
        return url, " ".join([two.title(), three, *rare])

    def _times(self, link_id: int) -> tuple[tuple[int | None, ...], tuple[Any, ...]]:
        """(created, updated, expires, deleted), (status, max_clicks, clicks_used)."""
        chance, part = self._chance, link_id / self.count
        created = NOW - int((1 - part) * 730 * DAY) - 2 * DAY
        if 0.3 < part <= 0.4:  # imported
            created = NOW - chance.randrange(730 * DAY, 4000 * DAY)
        updated = created + (chance.randrange(2 * DAY) if chance.random() < 0.2 else 0)
        expires, deleted, lot = None, None, chance.random()
        if lot < 0.34:
            expires = created + chance.randrange(DAY, 500 * DAY)
        state: tuple[Any, ...] = ("ACTIVE", None, 0)
        if 0.5 < part <= 0.56:  # the clean-up, an hour ago
            deleted = updated = NOW - chance.randrange(3_600_000_000)
        elif (lot := chance.random()) < 0.06:
            deleted = updated = min(updated + chance.randrange(60 * DAY), NOW - 1)
        elif lot < 0.07:
            state = ("PAUSED", None, 0) if lot < 0.066 else ("ACTIVE", 50, 50)
            state = ("BANNED", None, 0) if lot < 0.061 else state
        if deleted is not None:
            state = ("DELETED", None, 0)
        return (created, updated, expires, deleted), state


def fill_sqlite(connection: sa.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Rows of `FILLED`, with their tags and changes."""
    driver: Any = connection.connection.driver_connection
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'ix_links_%'"
    indexes = driver.execute(query).fetchall()
    for name, _ in indexes:
        driver.execute(f"DROP INDEX {name}")
    marks = ", ".join("?" * len(FILLED))
    driver.executemany(f"INSERT INTO links ({', '.join(FILLED)}) VALUES ({marks})", rows)  # noqa: S608
    driver.execute(
        "INSERT INTO link_tags SELECT space, value, status = 'DELETED', links.id"
        " FROM links, json_each(tags) WHERE tags IS NOT NULL ORDER BY 1, 2, 3, 4"
    )
    driver.execute(
        "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
        " SELECT id, workspace_id, short_code, version, created_at FROM links ORDER BY id"
    )
    for _, definition in indexes:
        driver.execute(definition)


async def fill_index_of_texts(kurz: Kurz) -> None:
    await kurz.database.write(leave_merging_to_us)
    while await kurz.database.write(index_changes, 20_000):
        for _ in range(40):
            await kurz.database.write(merge_index)
    while await kurz.database.write(merge_index):
        pass


async def fill_postgres(url: str, rows: Iterable[tuple[Any, ...]]) -> None:
    connection = await asyncpg.connect(url)
    query = "SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix_links_%'"
    indexes = await connection.fetch(query)
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['indexname']}")
    await connection.copy_records_to_table("links", records=rows, columns=FILLED)
    await connection.execute(
        "INSERT INTO link_tags SELECT space, each.value, status = 'DELETED', links.id FROM links,"
        " json_array_elements_text(tags::json) AS each WHERE tags IS NOT NULL"
    )
    await connection.execute("SET maintenance_work_mem = '512MB'")
    for index in indexes:
        await connection.execute(index["indexdef"])
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


@dataclass
class Timed:
    """One kind of page: how long it took, and the CPU for one."""

    engine: str
    name: str
    sort: str
    is_deep: bool
    total: int
    median_ms: float
    p95_ms: float
    cpu_ms: float


def cases(data: Data) -> dict[str, Filter]:
    words = {"common": "example", "medium": "zebra", "rare": "okapi", "no hit": "unfindable"}
    pasted = "https://www.example.com/kitchen/coffee-12"
    month = from_micros(NOW - 60 * DAY)
    return {
        "no filter": Filter(),
        **{status.lower(): Filter(status=status) for status in Status},
        "tag common": Filter(tag=data.tags[0]),
        "tag medium": Filter(tag=data.tags[20]),
        "tag rare": Filter(tag=data.tags[-1]),
        "tag common, active": Filter(tag=data.tags[0], status=Status.ACTIVE),
        "tag common, expired": Filter(tag=data.tags[5], status=Status.EXPIRED),
        "tag medium, paused": Filter(tag=data.tags[20], status=Status.PAUSED),
        "owner": Filter(owner_id=data.owners[3]),
        "dates": Filter(created_from=month, created_before=month + timedelta(days=30)),
        **{f"search {name}": Filter(search=word) for name, word in words.items()},
        "search a word": Filter(search="museum"),
        "search a URL": Filter(search=pasted),
    }


async def measure(
    kurz: Kurz, engine: str, data: Data, runs: int, cpu_seconds: Callable[[], float]
) -> AsyncIterator[Timed]:
    async def timed(what: tuple[str, str, bool, int], call: Callable[[], Awaitable[Any]]) -> Timed:
        before = cpu_seconds()
        times = sorted([await seconds_of(call) * 1000 for _ in range(runs)])
        cpu = (cpu_seconds() - before) / runs * 1000
        p95 = times[int(len(times) * 0.95)]
        return Timed(engine, *what, statistics.median(times), p95, cpu)

    for scope, name, wanted in lists(data):
        first = await kurz.links.list(scope, wanted)
        depth = max(first.total // 2, 1)
        deep = (await kurz.links.list(scope, wanted, limit=depth)).next_cursor
        for cursor in [None] if deep is None else [None, deep]:
            what = (name, str(wanted.sort), cursor is not None, first.total)
            yield await timed(what, partial(kurz.links.list, scope, wanted, cursor=cursor))
    for limit in 50, 200:
        what = (f"{limit} tags", "tag", False, limit)
        yield await timed(what, partial(kurz.tagging.list, TEAM, Part(None, limit)))


def lists(data: Data) -> Iterator[tuple[Scope, str, Filter]]:
    """The operator's lists have the orders that the command line offers."""
    for name, wanted in cases(data).items():
        for sort in Sort:
            yield Scope(TEAM), name, replace(wanted, sort=sort)
    for name in "no filter", "expired", "banned", "search common", "search rare", "search no hit":
        yield Scope(), f"operator, {name}", replace(cases(data)[name], with_deleted=True)
    yield Scope(), "operator, trash", Filter(status=Status.DELETED, sort=Sort.UPDATED_DOWN)


async def seconds_of(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


@asynccontextmanager
async def sqlite(folder: Path, data: Data) -> AsyncIterator[tuple[Kurz, Callable[[], float]]]:
    settings = Settings(data_dir=folder / "kurz-data")
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings) as kurz:
        await kurz.database.write(fill_sqlite, data.rows())
        await fill_index_of_texts(kurz)
        yield kurz, time.process_time


@asynccontextmanager
async def postgres(folder: Path, data: Data) -> AsyncIterator[tuple[Kurz, Callable[[], float]]]:
    with PostgresServer(shared_buffers="128MB") as server:  # PostgreSQL's own default
        settings = Settings(data_dir=folder, database_url=server.url())
        await prepare(settings, upgrades_postgres=True)
        await fill_postgres(server.url(), data.rows())

        def cpu_seconds() -> float:
            return time.process_time() + sum(map(_cpu_of, _children(server.pid)))

        async with open_kurz(settings) as kurz:
            yield kurz, cpu_seconds


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _cpu_of(pid: str) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def report(found: list[Timed]) -> None:
    """A line for each filter: the medians of all its orders, and the slowest of them."""
    print(
        f"\n{'':30}{'links':>8}{'typical ms':>12}{'slowest ms':>12}{'its p95':>9}{'its CPU':>9}"
        "  slowest order"
    )
    for (engine, name), rows in itertools.groupby(found, lambda row: (row.engine, row.name)):
        each = list(rows)
        worst = max(each, key=lambda row: row.median_ms)
        typical = statistics.median(row.median_ms for row in each)
        total = f"{worst.total:,}" + ("+" if worst.total == 10_000 else "")
        print(
            f"{engine + ' ' + name:30}{total:>8}{typical:12.1f}{worst.median_ms:12.1f}"
            f"{worst.p95_ms:9.1f}{worst.cpu_ms:9.1f}  {worst.sort}{' deep' * worst.is_deep}"
        )
    slow = [row for row in found if row.median_ms >= GOAL_MS]
    print(f"\n{len(found) - len(slow)} of {len(found)} kinds of pages under {GOAL_MS} ms")


async def run(options: argparse.Namespace) -> list[Timed]:
    found: list[Timed] = []
    engines = {"sqlite": sqlite, "postgres": postgres}
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as temporary:
        for engine in options.engines:
            data = Data(options.links)
            async with engines[engine](Path(temporary), data) as (kurz, cpu_seconds):
                async for row in measure(kurz, engine, data, options.runs, cpu_seconds):
                    found.append(row)
                    print(f"\r{len(found)} measured", end="", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--engines", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    found = asyncio.run(run(options))
    report(found)
    if options.json is not None:
        options.json.write_text(json.dumps([vars(row) for row in found], indent=2))


if __name__ == "__main__":
    main()
