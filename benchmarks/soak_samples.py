"""What `soak.py` reads of a server while it is under load: of its processes, its folder and its
database."""

import asyncio
import re
import sqlite3
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import redis

from redirect_servers import Server, Stores, children_of

COUNTS = {
    "expired or deleted links that wait": "SELECT count(*) FROM links WHERE expires_at <= {now}"
    " OR status = 'DELETED'",
    "change log": "SELECT count(*) FROM changes",
    "reserved codes": "SELECT count(*) FROM code_quarantine",
}
BACKLOGS = {
    "uncounted clicks": "kurz_clicks_backlog_bytes",
    "links to index": "kurz_search_backlog",
    "links to count": "kurz_count_backlog",
    "copies of counts": "kurz_click_copies_waiting",
}


@dataclass(frozen=True)
class Probe:
    """A server, and how to look into it from outside."""

    server: Server
    data: Path
    stores: Stores | None  # None: SQLite

    def processes(self) -> dict[str, int]:
        *workers, jobs = children_of(self.server.pid)
        named = {f"worker {number}": pid for number, pid in enumerate(workers, 1)}
        return {"supervisor": self.server.pid, **named, "jobs": jobs}

    def cpu_seconds(self) -> dict[str, float]:
        return {
            name: Server(0, pid).cpu_seconds()
            for name, pid in self.processes().items()
            if name != "supervisor"
        }

    def sample(self) -> dict[str, float]:
        processes = self.processes()
        found: dict[str, float] = {}
        for name, pid in processes.items():
            found |= {f"{name}: {what}": value for what, value in read_process(pid).items()}
        found["all processes: memory"] = sum(read_pss(pid) for pid in processes.values())
        metrics = self.metrics()
        found |= {name: metrics[metric] for name, metric in BACKLOGS.items() if metric in metrics}
        journal = self.data / "journal"
        sizes = [path.stat().st_size for path in _files(journal) if path.suffix == ".clicks"]
        found["journal: bytes"] = sum(sizes)
        found["journal: files"] = len(sizes)
        return found | self.read_database()

    def read(self, path: str) -> bytes:
        address = f"http://127.0.0.1:{self.server.port}{path}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return bytes(answer.read())

    def metrics(self) -> Mapping[str, float]:
        lines = self.read("/metrics").decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def read_database(self) -> dict[str, float]:
        now = time.time_ns() // 1000
        queries = {name: query.format(now=now) for name, query in COUNTS.items()}
        if self.stores is None:
            files = (self.data / "kurz.db", self.data / "kurz.db-wal")
            size = sum(file.stat().st_size for file in files if file.exists())
            with closing(sqlite3.connect(files[0], timeout=10)) as connection:
                found = {it: connection.execute(text).fetchone()[0] for it, text in queries.items()}
            return {**found, "database": size}
        queries["database"] = "SELECT pg_database_size(current_database())"
        answers = asyncio.run(ask_postgres(self.stores.database_url, [*queries.values()]))
        found = {name: float(rows[0][0]) for name, rows in zip(queries, answers, strict=True)}
        with redis.Redis.from_url(self.stores.redis_url) as client:
            found["Redis: keys"] = float(client.dbsize())
            found["Redis: memory"] = float(client.info("memory")["used_memory"])
        return found


def read_process(pid: int) -> dict[str, float]:
    """Memory is that without files, as in other benchmarks."""
    status = Path(f"/proc/{pid}/status").read_text()
    sizes = re.findall(r"(?:RssAnon|RssShmem):\s+(\d+)", status)
    threads = re.search(r"Threads:\s+(\d+)", status)
    return {
        "memory": 1024.0 * sum(map(int, sizes)),
        "descriptors": float(len([*Path(f"/proc/{pid}/fd").iterdir()])),
        "threads": float(threads[1]) if threads else 0.0,
    }


def read_pss(pid: int) -> float:
    """What is shared counts in proportion, and files not at all."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024.0 * sum(map(int, re.findall(r"Pss_(?:Anon|Shmem):\s+(\d+)", text)))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.exists()] if folder.exists() else []


async def ask_postgres(url: str, queries: Sequence[str]) -> list[Sequence[Sequence[Any]]]:
    """The rows of each."""
    connection = await asyncpg.connect(url)
    try:
        return [await connection.fetch(query) for query in queries]
    finally:
        await connection.close()
