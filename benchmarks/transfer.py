"""How fast links are imported and exported, and what a row costs: CSV and JSON Lines, on SQLite and
PostgreSQL, into a workspace (whose lists have indexes) and in one process, as `kurz import` does."""

import argparse
import asyncio
import contextlib
import gc
import json
import random
import statistics
import string
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kurz.bootstrap import Kurz, open_kurz, prepare
from kurz.links.bulk import BulkStore
from kurz.links.codes.permutation import KEY_BYTES
from kurz.links.model import Link, Scope
from kurz.links.transfers import Format, OneTarget, Outcome, Summary, Target
from kurz.people.own_hosts import OwnHosts
from kurz.people.workspaces import Workspace
from kurz.settings import Settings
from kurz.storage.bulk import SqlBulkStore
from kurz.transfer.codes import RowCodes
from kurz.transfer.exporting import Exporter
from kurz.transfer.importing import Importer
from kurz.transfer.writing import WRITERS, head

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))
CHUNK = 256 * 1024
ENGINES = ("SQLite", "PostgreSQL")


@dataclass
class Series:
    """What the rounds of one act gave."""

    per_second: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def round(self, rows: int) -> Iterator[None]:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.per_second.append(rows / (time.perf_counter() - wall))
        self.cpu_us.append((time.process_time() - cpu) / rows * 1e6)


def make_links(count: int, workspace_id: int) -> list[Link]:
    """Links as people have them: a title, two tags of twenty, some clicks."""
    chance = random.Random(7)
    letters = string.ascii_letters + string.digits
    start = datetime(2024, 1, 1, tzinfo=UTC)
    links = []
    for number in range(count):
        url = f"https://www.example.com/blog/{chance.randrange(10**9)}/post?utm_source=letter&n={number}"
        made_at = start + timedelta(microseconds=chance.randrange(10**13))
        links.append(
            Link(
                id=0,
                workspace_id=workspace_id,
                short_code="".join(chance.choices(letters, k=8)),
                version=1,
                strategy="custom",  # type: ignore[arg-type]  as text it is written the same
                original_url=url,
                canonical_url=url,
                location=url,
                owner_id=None,
                link_type="PERMANENT",  # type: ignore[arg-type]  as above
                status="ACTIVE",  # type: ignore[arg-type]  as above
                created_at=made_at,
                updated_at=made_at,
                title=f"What we did in week {number % 52}",
                tags=tuple(f"tag-{chance.randrange(20)}" for _ in range(2)),
                redirect_count=chance.randrange(1000),
                avg_redirect_ms=chance.random(),
            )
        )
    return links


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), CHUNK):
        yield data[start : start + CHUNK]


class TimedStore:
    """A store that knows how long its slowest insert took."""

    def __init__(self, store: BulkStore) -> None:
        self._store = store
        self.seconds: list[float] = []
