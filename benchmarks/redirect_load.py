"""The links that `redirect.py` asks for, and wrk, which asks for them."""

import json
import random
import shutil
import signal
import string
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice
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

WRK = shutil.which("wrk")
CONNECTIONS = 64
ONCE_SECONDS = 3600  # more than asking for every code once takes
FEW = 100  # codes that are asked for again and again
VISITORS = 10_000  # in turn: more than the server remembers, so that each is a new one to it
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


@dataclass(frozen=True)
class Measurement:
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


class Codes:
    """A file of codes for wrk, a line each."""

    def __init__(self, path: Path, codes: Sequence[str]) -> None:
        self.path = path
        self.first = codes[0]
        self.count = len(codes)
        path.write_text("".join(f"{code}\n" for code in codes))


class Heads:
    """A file of what follows the code in requests: the same for all, or one a visitor."""

    def __init__(
        self, path: Path, accept: str = PAGE, *, visitors: int = 1, is_forwarded: bool = False
    ) -> None:
        heads = [_head(number, accept, is_forwarded=is_forwarded) for number in range(visitors)]
        self.path = path
        self.first = heads[0]
        path.write_bytes("".join(heads).encode())


def _head(visitor: int, accept: str, *, is_forwarded: bool) -> str:
    fields = {
        "Host": "go.example.com",
        "Connection": "keep-alive",
        "Upgrade-Insecure-Requests": "1",
        "User-Agent": AGENT.format(120 + visitor % 20, 6000 + visitor),
        "Accept": accept,
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-User": "?1",
        "Sec-Fetch-Dest": "document",
        "Referer": "https://news.example.org/articles/2024/some-story",
        "Accept-Encoding": "gzip, deflate, br, zstd",
        "Accept-Language": "en-GB,en;q=0.9,de;q=0.8",
    }
    if is_forwarded:
        fields["X-Forwarded-For"] = f"198.51.{visitor // 250}.{visitor % 250 + 1}"
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f" HTTP/1.1\r\n{lines}\r\n"


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
            (_link(code, now, None) for code in live),
            (_link(code, now, now - timedelta(minutes=1)) for code in expired),
            (_link(code, now, None, MAX_CLICKS) for code in limited),
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


def _link(
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
    is_refused: bool = False,
    seconds: int = 0,
    cores: str = "1",
) -> Measurement:
    """Runs wrk for some seconds, from any code on; for 0, until it has asked for every code."""
    assert WRK is not None
    is_once = not seconds
    start = 0 if is_once else random.randrange(codes.count)
    command = ["taskset", "-c", cores, WRK, "-t1", f"-c{CONNECTIONS}", "--timeout", "30s"]
    command += [f"-d{seconds or ONCE_SECONDS}s", "-s", str(HERE / "redirect.lua")]
    command += [f"http://127.0.0.1:{server.port}/", "--", str(codes.path), str(heads.path)]
    command += [str(start), "once" if is_once else "again"]
    before = server.cpu_seconds()
    output = _output(command, is_once=is_once)
    cpu = server.cpu_seconds() - before
    line = next((line for line in output.splitlines() if line.startswith("{")), None)
    if line is None:
        sys.exit(f"wrk did not measure:\n{output}")
    found = json.loads(line)
    count = found["requests"]
    if not count or found["broken"] or found["refused"] != (count if is_refused else 0):
        sys.exit(f"port {server.port} gave wrong answers: {line}")
    return Measurement(
        per_second=count / found["micros"] * 1e6,
        p50_ms=found["p50"] / 1000,
        p99_ms=found["p99"] / 1000,
        cpu_us=cpu / count * 1e6,
    )


def _output(command: list[str], *, is_once: bool) -> str:
    """By itself wrk stays for the time it was given, also when it has nothing left to do."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            if is_once and process.stderr.readline():
                process.send_signal(signal.SIGINT)
            output, errors = process.communicate()
        finally:
            process.kill()
    return output + errors
