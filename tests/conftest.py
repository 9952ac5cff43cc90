"""Fixtures that every kind of test shares: real engines, a frozen clock, whole programs."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare
from servers.postgres import PostgresServer
from servers.s3 import S3Server
from servers.valkey import ValkeyCluster, ValkeyServer
from support import compiled, memory
from support.browser import Chromium
from support.clock import FrozenClock
from support.engines import first_and_last
from support.loops import Loop
from support.migrated import copy_database
from support.patience import PATIENCE
from support.people import People
from support.program import Program
from support.slack import IS_STRICT

memory.use()
compiled.share()
# httpx2 looks for it at every request, on the whole path, and goes on without it.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

_PROCESSORS = [
    *structlog.get_config()["processors"][:-1],
    structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
]

# A busy machine must not fail a property; the examples are what matters.
hypothesis_settings.register_profile(
    "kurz", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("kurz")


engine = first_and_last


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A bucket is the same beside every engine: with others than SQLite it is for the long run."""
    for item in items:
        params = (
            item.callspec.params
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else {}
        )
        if params.get("archive_settings") == "bucket" and params.get("engine") != "sqlite":
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def plain_tracebacks() -> None:
    """With the variables of every function, one takes a quarter of a second of CPU."""
    structlog.configure(processors=_PROCESSORS)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": Loop}


def pytest_collection_finish() -> None:
    """What was collected stays until the end: nobody need look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what the long tests have measured, for the tables in the docs."""
    if not IS_STRICT:
        return
    for report in terminalreporter.getreports("passed"):
        if report.nodeid.startswith("tests/faults/") and report.capstdout:
            terminalreporter.write_line(f"{report.nodeid} ({report.duration:.0f} s)")
            terminalreporter.write_line(report.capstdout)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests that do not break it; each takes a database of its own. Nothing
    here survives the tests, so nothing has to reach the disk."""
    with PostgresServer(fsync="off", full_page_writes="off") as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A database with our schema, to be copied: quicker than making the schema each time."""
    name = "kurz_template"
    postgres.create_database(name)
    asyncio.run(prepare(Settings(database_url=postgres.url(name)), upgrades_postgres=False))
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `postgres_template`: a file."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("template"))
    asyncio.run(prepare(settings, upgrades_postgres=False))
    return settings.database_path


@pytest.fixture(scope="session")
def valkey() -> Iterator[ValkeyServer]:
    """One server for all tests that do not break it."""
    with ValkeyServer() as server:
        yield server


@pytest.fixture(scope="session")
def valkey_cluster() -> Iterator[ValkeyCluster]:
    """As `valkey`: a cluster."""
    with ValkeyCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One server for all tests; each takes a bucket of its own."""
    with S3Server() as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """One process for all tests; each person in them has a browser of their own in it."""
    process = Chromium()
    yield process
    process.close()


@pytest.fixture(params=["folder", "bucket"])
def archive_settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The settings of an empty archive."""
    if request.param == "folder":
        return {"archive": str(tmp_path / "archive")}
    server: S3Server = request.getfixturevalue("s3")
    bucket = f"kurz-{uuid4().hex}"
    server.make_bucket(bucket)
    return {
        "archive": f"s3://{bucket}/some/links",
        "archive_s3_endpoint": server.url,
        "archive_s3_key_id": "anybody",
        "archive_s3_secret_key": "whatever",
    }


@pytest.fixture
def redis_url(valkey: ValkeyServer) -> str:
    """An empty Redis, though what another installation left there would mean nothing."""
    valkey.ask("FLUSHALL")
    return valkey.url


@pytest.fixture
def cluster_url(valkey_cluster: ValkeyCluster) -> str:
    """As `redis_url`: a cluster."""
    for master in valkey_cluster.masters():
        master.ask("FLUSHALL")
    return valkey_cluster.url


@pytest.fixture
def make_database(postgres: PostgresServer) -> Iterator[Callable[..., str]]:
    """Makes databases, empty or copies of another one; gives their addresses."""
    names: list[str] = []

    def make(*template: str) -> str:
        names.append(f"kurz_{uuid4().hex}")
        postgres.create_database(names[-1], *template)
        return postgres.url(names[-1])

    yield make
    for name in names:
        postgres.drop_database(name)


@pytest.fixture
def postgres_url(make_database: Callable[..., str], request: pytest.FixtureRequest) -> str:
    """A database: with our schema for tests of a whole kurz, else empty."""
    if {"kurz", "program"} & set(request.fixturenames):
        return make_database(request.getfixturevalue("postgres_template"))
    return make_database()


@pytest.fixture
def addresses(engine: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings that make a kurz use the engine."""
    get = request.getfixturevalue
    found = {} if engine == "sqlite" else {"database_url": get("postgres_url")}
    if engine == "postgres+redis":
        found["redis_url"] = get("redis_url")
    if engine == "postgres+cluster":
        found["redis_url"] = get("cluster_url")
    return found


@pytest.fixture
def environment(addresses: dict[str, str]) -> dict[str, str]:
    """As `addresses`: for a program. It waits longer for the database than by default."""
    return {f"KURZ_{name.upper()}": str(value) for name, value in {**PATIENCE, **addresses}.items()}


@pytest.fixture
def settings(addresses: dict[str, str], tmp_path: Path) -> Settings:
    """Settings for an empty database of the engine; nobody is slowed down, and the database is
    waited for longer than by default."""
    return Settings(
        data_dir=tmp_path / "kurz-data",
        database_url=addresses.get("database_url"),
        redis_url=addresses.get("redis_url"),
        **PATIENCE,
        rate_limits="off",
    )


@pytest.fixture
def data_dir(addresses: dict[str, str], sqlite_template: Path, tmp_path: Path) -> Path:
    """The folder for a program: with an empty database of ours, if the engine's is there."""
    folder = tmp_path / "kurz-data"
    if "database_url" not in addresses:
        copy_database(sqlite_template, folder)
    return folder


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def kurz(
    settings: Settings, clock: FrozenClock, sqlite_template: Path
) -> AsyncIterator[Kurz]:
    """The parts of kurz over a fresh database of the engine."""
    if settings.is_embedded:
        copy_database(sqlite_template, settings.data_dir)
    async with open_kurz(settings, clock, Passwords(cost=4)) as parts:
        yield parts


@pytest.fixture
def people(kurz: Kurz) -> People:
    """Makes accounts, keys and workspaces without asking the API."""
    return People(kurz)


@pytest.fixture
def start_program(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts whole programs (`kurz serve`); they are stopped after the test."""
    programs: list[Program] = []

    def start(**environment: str) -> Program:
        environment.setdefault("KURZ_DATA_DIR", str(tmp_path / "kurz-data"))
        programs.append(Program(environment, tmp_path / f"log-{len(programs)}"))
        return programs[-1].start()

    yield start
    for program in programs:
        program.stop()


@pytest.fixture
def program(
    environment: dict[str, str], data_dir: Path, start_program: Callable[..., Program]
) -> Program:
    """A running `kurz serve` on a fresh database of the engine."""
    return start_program(**environment, KURZ_DATA_DIR=str(data_dir))
