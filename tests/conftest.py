"""Fixtures that every kind of test shares: real engines, a frozen clock, whole programs."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings as hypothesis_settings

from kurz.bootstrap import Kurz, open_kurz, prepare
from kurz.people.passwords import Passwords
from kurz.settings import Settings
from servers.postgres import PostgresServer
from support.clock import FrozenClock
from support.people import People
from support.program import Program

# A busy machine must not fail a property; the examples are what matters.
hypothesis_settings.register_profile("kurz", deadline=None)
hypothesis_settings.load_profile("kurz")

ENGINES = ("sqlite", "postgres")


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


@pytest.fixture
def postgres_url(postgres: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database: with our schema for tests of a whole kurz, else empty."""
    name = f"kurz_{uuid4().hex}"
    if {"kurz", "program"} & set(request.fixturenames):
        postgres.create_database(name, request.getfixturevalue("postgres_template"))
    else:
        postgres.create_database(name)
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Makes a test run on both engines."""
    name: str = request.param
    return name


@pytest.fixture
def settings(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """Settings for an empty database of the engine; nobody is slowed down."""
    url = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    return Settings(data_dir=tmp_path / "kurz-data", database_url=url, rate_limits="off")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def kurz(
    settings: Settings, clock: FrozenClock, sqlite_template: Path
) -> AsyncIterator[Kurz]:
    """The parts of kurz over a fresh database of the engine."""
    if settings.is_embedded:
        settings.data_dir.mkdir(mode=0o700)
        shutil.copy(sqlite_template, settings.database_path)
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
    engine: str, start_program: Callable[..., Program], request: pytest.FixtureRequest
) -> Program:
    """A running `kurz serve` on a fresh database of the engine."""
    if engine == "postgres":
        return start_program(KURZ_DATABASE_URL=request.getfixturevalue("postgres_url"))
    return start_program()
