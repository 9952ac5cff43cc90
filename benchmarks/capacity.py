"""How much space a link and a click take, on both engines: tables and their indexes, once the jobs
process has done everything with them; the journal; PostgreSQL's log; and a link in Redis. The
figures of docs/explanation/capacity.md."""

import argparse
import asyncio
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import redis

from click_load import write_journal
from engines import ENGINES, SQLITE, server_cpu_seconds
from kurz.links.model import Link
from kurz.settings.model import Settings
from kurz.storage.engine.deadlines import deadline
from kurz.storage.links.bulk import SqlBulkStore
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from redirect_load import BATCH, Codes, Heads, Visitors, drive, make_codes, make_link
from redirect_servers import KURZ, Stores, kurz, shared_stores
from soak_samples import Probe, ask_postgres

AGENTS = 5000
OWNER_ID = 123_456_789
SETTLED = ("kurz_count_backlog", "kurz_destinations_backlog", "kurz_search_backlog")
DEADLINE_SECONDS = 1800
# What a table of the database belongs to; the rest is counted together.
SIZES = """
    SELECT relname, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables
"""


@dataclass
class Place:
    """A database of an engine."""

    folder: Path
    stores: Stores | None

    @property
    def settings(self) -> Settings:
        url = None if self.stores is None else self.stores.database_url
        return Settings(data_dir=self.folder / "data", database_url=url)

    @contextmanager
    def serving(self, **more: str) -> Iterator[Probe]:
        url = self.settings.database_url
        settings = {"metrics": "public", **more} | ({} if url is None else {"database_url": url})
        data = self.folder / "data"
        with kurz(data, program=KURZ, workers=1, cores="0-1", **settings) as server:
            yield Probe(server, self.folder / "data", self.stores)

    def sizes(self) -> dict[str, Counter[str]]:
        """Bytes of tables, and of their indexes."""
        return self._sqlite_sizes() if self.stores is None else self._postgres_sizes(self.stores)

    def _sqlite_sizes(self) -> dict[str, Counter[str]]:
        found = {"table": Counter[str](), "indexes": Counter[str]()}
        with closing(sqlite3.connect(self.folder / "data" / "kurz.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(FULL)")
            owners = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master"))
            query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
            for name, size in connection.execute(query).fetchall():
                owner = owners.get(name, name)
                kind = "table" if owner == name else "indexes"
                found[kind][_told(owner)] += size
        return found

    def _postgres_sizes(self, stores: Stores) -> dict[str, Counter[str]]:
        asyncio.run(ask_postgres(stores.database_url, ["VACUUM"]))
        found = {"table": Counter[str](), "indexes": Counter[str]()}
        for name, table, indexes in asyncio.run(ask_postgres(stores.database_url, [SIZES]))[0]:
            found["table"][_told(name)] += table
            found["indexes"][_told(name)] += indexes
        return found

    def log_position(self) -> int:
        """Bytes that PostgreSQL has written to its log, and 0 on SQLite."""
        if self.stores is None:
            return 0
        query = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS at"
        [[(position,)]] = asyncio.run(ask_postgres(self.stores.database_url, [query]))
        return int(position)


def _told(table: str) -> str:
    """Parts of a table together: partitions, and those of the search index."""
    for whole in ("click_events", "link_search"):
        if table.startswith(whole):
            return whole
    return table


def anonymous(code: str, now: datetime) -> Link:
    return make_link(code, now, now + timedelta(days=30))


def owned(code: str, now: datetime) -> Link:
    chance = random.Random(code)
    tags = tuple(sorted({f"tag-{chance.randrange(100)}" for _ in range(2)}))
    link = make_link(code, now, None)
    return replace(link, owner_id=OWNER_ID, title=f"Some title of {code}", tags=tags)


async def insert(place: Place, links: Iterator[Link]) -> list[int]:
    await prepare(place.settings, upgrades_postgres=False)
    ids: list[int] = []
    with deadline(DEADLINE_SECONDS):  # nothing fails because the machine is busy
        async with open_kurz(place.settings) as opened:
            store = SqlBulkStore(opened.database)
            while batch := list(islice(links, BATCH)):
                found = await store.insert(batch, (), datetime.now(UTC))
                if not all(isinstance(each, int) for each in found):
                    sys.exit("the links could not be stored")
                ids += [each for each in found if isinstance(each, int)]
    return ids


def wait_until(is_done: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while not is_done():
        if time.monotonic() > until:
            sys.exit("the jobs process does not catch up")
        time.sleep(1)


def settle(place: Place, journal: Callable[[Path], int] | None = None) -> float:
    """A server does what it has to do with new links, and counts a journal. Returns the bytes of
    the journal."""
    size = 0.0 if journal is None else float(journal(place.folder / "data" / "journal"))
    with place.serving() as probe:
        time.sleep(12)  # until backlogs were looked at

        def is_done() -> bool:
            found = probe.metrics()
            return not any(found.get(name) for name in SETTLED) and not (
                found["kurz_clicks_backlog_bytes"] or found["kurz_click_copies_waiting"]
            )

        wait_until(is_done)
    return size


def print_growth(
    what: str,
    before: Mapping[str, Counter[str]],
    after: Mapping[str, Counter[str]],
    count: int,
    log_bytes: int,
) -> dict[str, float]:
    """The growth of each table, for each of so many."""
    told: dict[str, float] = {}
    print(f"\n{what}, bytes each:\n\n| | table | indexes |\n|---|--:|--:|")
    sums = [0.0, 0.0]
    for table in sorted({*after["table"], *after["indexes"]}):
        parts = [(after[it][table] - before[it][table]) / count for it in ("table", "indexes")]
        sums = [total + part for total, part in zip(sums, parts, strict=True)]
        if sum(parts) >= 0.5:
            print(f"| `{table}` | {parts[0]:.0f} | {parts[1]:.0f} |")
            told[table], told[f"{table}, indexes"] = parts
    print(f"| sum | {sums[0]:.0f} | {sums[1]:.0f} |")
    if log_bytes:
        print(f"PostgreSQL's log: {log_bytes / count:.0f} bytes each")
        told["log"] = log_bytes / count
    return told


def measure(engine: str, folder: Path, options: argparse.Namespace) -> dict[str, object]:
    with nullcontext() if engine == SQLITE else shared_stores() as stores:
        place = Place(folder, stores)
        codes = make_codes(2 * options.links)
        now, found = datetime.now(UTC), dict[str, object]()
        asyncio.run(insert(place, iter(())))
        halves = ("an anonymous link", anonymous), ("a link of an account", owned)
        ids: list[int] = []
        for number, (name, make) in enumerate(halves):
            some = codes[number * options.links : (number + 1) * options.links]
            before, log = place.sizes(), place.log_position()
            links = (make(code, now) for code in some)
            ids += asyncio.run(insert(place, links))
            log = place.log_position() - log
            settle(place)
            title = f"{engine}: {name}"
            found[title] = print_growth(title, before, place.sizes(), len(some), log)
        before, log = place.sizes(), place.log_position()
        size = settle(place, lambda it: write_journal(it, ids, options.clicks, AGENTS))
        log = place.log_position() - log
        title = f"{engine}: a click"
        found[title] = print_growth(title, before, place.sizes(), options.clicks, log)
        print(f"journal: {size / options.clicks:.0f} bytes a click")
        found["journal"] = size / options.clicks
        if stores is not None:
            found["lookup"] = measure_lookups(place, stores, codes[: options.cached])
            found["Redis"] = measure_redis(place, stores, codes[: options.cached])
        return found


def measure_lookups(place: Place, stores: Stores, codes: list[str]) -> float:
    """CPU time of PostgreSQL's processes for a link that is not in memory."""
    heads, asked = Heads(place.folder / "heads"), Codes(place.folder / "codes", codes)
    stat = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    [[(backend,)]] = asyncio.run(ask_postgres(stores.database_url, [stat]))
    status = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()
    postgres = int(status[1])
    options = {"destination_checks": "off", "database_lookup_milliseconds": "10000"}
    with place.serving(**options) as probe:
        time.sleep(12)  # until nothing else is to be done
        before = server_cpu_seconds(postgres)
        drive(probe.server, asked, heads, visitors=Visitors.OTHER, cores="0-1")
        found = (server_cpu_seconds(postgres) - before) / len(codes) * 1e6
    print(f"\nPostgreSQL: {found:.0f} µs for each lookup and its click")
    return found


def measure_redis(place: Place, stores: Stores, codes: list[str]) -> float:
    heads, asked = Heads(place.folder / "heads"), Codes(place.folder / "codes", codes)
    with redis.Redis.from_url(stores.redis_url) as client:
        before = client.info("memory")["used_memory"]
        with place.serving(redis_url=stores.redis_url) as probe:
            for _ in range(3):  # some writes are dropped if many come at once
                drive(probe.server, asked, heads, visitors=Visitors.OTHER, cores="0-1")
            time.sleep(1)
            keys = stores.kept()
            found = (client.info("memory")["used_memory"] - before) / keys
    print(f"\nRedis: {found:.0f} bytes a link, of {keys:,} links")
    return float(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=50_000, help="of each kind")
    parser.add_argument("--clicks", type=int, default=500_000)
    parser.add_argument("--cached", type=int, default=20_000, help="links in Redis")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    found = {}
    for engine in options.engines:
        with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
            found[engine] = measure(engine, Path(folder), options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
