"""Fixtures that every kind of test shares: real engines, a frozen clock, whole programs."""

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
    """One server for all tests that do not break it; each takes a database of its own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """An empty database."""
    name = f"kurz_{uuid4().hex}"
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
async def kurz(settings: Settings, clock: FrozenClock) -> AsyncIterator[Kurz]:
    """The parts of kurz over a fresh database of the engine."""
    await prepare(settings, upgrades_postgres=False)
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
