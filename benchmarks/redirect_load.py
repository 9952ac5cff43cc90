"""The links that `redirect.py` asks for, and the visitors who ask for them (`visitors.c`)."""

import atexit
import json
import random
import shutil
import string
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from itertools import accumulate, chain, islice
from pathlib import Path

from kurz.links.fields import MAX_CLICKS
from kurz.links.model import ROOT_WORKSPACE_ID, Link, LinkType, Status, Strategy
from kurz.settings.model import Settings
from kurz.storage.links.active import count_changes, count_existing
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.links.search import index_changes
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from redirect_servers import HERE, Server, ask

COMPILER = shutil.which("cc")
CONNECTIONS = 64
FEW = 100  # codes that are asked for again and again
HEADS = 50_000  # in turn: more than the server remembers, so that each is a new one to it
AGENTS = 20_000
DRAWN = 400_000  # more requests than most measurements of some seconds send
BATCH = 5000
URL_BYTES = 100
AGENT = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/{}.0.{}.0 Safari/537.36"
)
PAGE = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;"
    "q=0.8,application/signed-exchange;v=b3;q=0.7"
)


class Visitors(StrEnum):
    """How they come; see `visitors.c`."""

    SAME = "same"
    OTHER = "other"
    HTTP10 = "http10"
    NEW = "new"


@dataclass(frozen=True)
class Measurement:
    """`cpu_us` is of all processes, `jobs_us` the part of it that counts clicks in the background
    (if it was in the tree that was measured)."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    jobs_us: float = 0.0

    @property
    def worker_us(self) -> float:
        return self.cpu_us - self.jobs_us


class Codes:
    """A file of codes, one per line, in the order in which they are asked for."""

    def __init__(self, path: Path, codes: Sequence[str]) -> None:
        self.path = path
        self.first = codes[0]
        self.count = len(codes)
        path.write_text("".join(f"{code}\n" for code in codes))


class Heads:
    """A file of header fields: the same for all, or one set per visitor."""

    def __init__(
        self, path: Path, accept: str = PAGE, *, count: int = 1, host: str = "go.example.com"
    ) -> None:
        agents = zipf(AGENTS, count)
        heads = [_head(number, agent, accept, host) for number, agent in enumerate(agents)]
        self.path = path
        self.first = f" HTTP/1.1\r\n{heads[0]}"
        path.write_bytes("".join(heads).encode())


def zipf(size: int, count: int) -> list[int]:
    """Numbers below `size`: a few come often, most are rare."""
    weights = [*accumulate(1 / rank for rank in range(1, size + 1))]
    return random.Random(7).choices(range(size), cum_weights=weights, k=count)


def _head(number: int, agent: int, accept: str, host: str) -> str:
    fields = {
        "Host": host,
        "Upgrade-Insecure-Requests": "1",
        "User-Agent": AGENT.format(120 + agent % 20, 6000 + agent),
        "Accept": accept,
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-User": "?1",
        "Sec-Fetch-Dest": "document",
        "Referer": f"https://news.example.org/articles/2026/some-story-{number}",
        "Accept-Encoding": "gzip, deflate, br, zstd",
        "Accept-Language": "en-GB,en;q=0.9,de;q=0.8",
    }
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"


def make_codes(count: int) -> list[str]:
    chance = random.Random(11)
    letters = string.ascii_letters + string.digits
    codes: dict[str, None] = {}
    while len(codes) < count:
        codes["".join(chance.choices(letters, k=7))] = None
    return list(codes)


def url_of(code: str) -> str:
    return f"https://www.example.com/{code}/".ljust(URL_BYTES, "x")


async def fill(
    data: Path,
    live: Sequence[str],
    expired: Sequence[str] = (),
    limited: Sequence[str] = (),
    database_url: str | None = None,
) -> None:
    """A data folder, or a database on PostgreSQL, with these links at its root. Nothing is left to
    index or count: a server would do it while it is measured."""
    settings = Settings(data_dir=data, database_url=database_url)
    await prepare(settings, upgrades_postgres=False)
    now = datetime.now(UTC)
    async with open_kurz(settings) as kurz:
        store = SqlBulkStore(kurz.database)
        links = chain(
            (make_link(code, now, None) for code in live),
            (make_link(code, now, now - timedelta(minutes=1)) for code in expired),
            (make_link(code, now, None, MAX_CLICKS) for code in limited),
        )
        while batch := list(islice(links, BATCH)):
            stored = await store.insert(batch, (), now)
            if not all(isinstance(found, int) for found in stored):
                sys.exit("the links could not be stored")
        while settings.is_embedded and (await kurz.database.write(index_changes, BATCH)) > 0:
            pass
        for count in (count_existing, partial(count_changes, until=MAX_CLICKS)):
            while await kurz.database.write(count, limit=BATCH):
                pass


def make_link(
    code: str, now: datetime, expires_at: datetime | None, max_clicks: int | None = None
) -> Link:
    made_at = now - timedelta(days=1)
    return Link(
        id=0,
        workspace_id=ROOT_WORKSPACE_ID,
        short_code=code,
        version=1,
        strategy=Strategy.RANDOM,
        original_url=url_of(code),
        canonical_url=url_of(code),
        location=url_of(code),
        owner_id=None,
        link_type=LinkType.TEMPORARY if expires_at else LinkType.PERMANENT,
        status=Status.ACTIVE,
        created_at=made_at,
        updated_at=made_at,
        expires_at=expires_at,
        max_clicks=max_clicks,
    )


def check(server: Server, code: str, head: str, *expected: str) -> None:
    """Stops everything if one answer is not as it should be."""
    answer = ask(server.port, f"GET /{code}{head}".encode()).decode("latin-1").lower()
    missing = [text for text in expected if text.lower() not in answer]
    if missing:
        sys.exit(f"/{code} should be answered with {missing}:\n{answer}")


def drive(
    server: Server,
    codes: Codes,
    heads: Heads,
    *,
    visitors: Visitors = Visitors.SAME,
    status: str = "302",
    seconds: float = 0,
    cores: str = "1",
) -> Measurement:
    """Sends visitors for some seconds, from any code on; for 0, until every code was asked for."""
    command = ["taskset", "-c", cores, str(visitors_program()), str(server.port), visitors]
    command += [str(CONNECTIONS), str(seconds), status, str(codes.path), str(heads.path)]
    before, jobs_before = server.cpu_seconds(), server.jobs_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    server.wait_for_jobs()
    cpu, jobs = server.cpu_seconds() - before, server.jobs_seconds() - jobs_before
    if done.returncode:
        sys.exit(f"port {server.port} could not be measured: {done.stderr}")
    found = json.loads(done.stdout)
    count = found["requests"]
    if not count or found["broken"] or found["wrong"]:
        sys.exit(f"port {server.port} gave wrong answers: {done.stdout}")
    return Measurement(
        per_second=count / found["micros"] * 1e6,
        p50_ms=found["p50"] / 1000,
        p99_ms=found["p99"] / 1000,
        cpu_us=cpu / count * 1e6,
        jobs_us=jobs / count * 1e6,
    )


@cache
def visitors_program() -> Path:
    """`visitors.c`, compiled."""
    if COMPILER is None:
        sys.exit("This needs a C compiler: apt-get install gcc libc6-dev")
    program = Path(tempfile.mkdtemp(prefix="kurz-visitors-")) / "visitors"
    command = [COMPILER, "-O2", "-o", str(program), str(HERE / "visitors.c")]
    subprocess.run(command, check=True)
    atexit.register(shutil.rmtree, program.parent, ignore_errors=True)
    return program
