"""A PostgreSQL that may be disturbed, and databases that reach it through a proxy."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from kurz.settings.model import Settings
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.routes.lookups import Lookups
from kurz.wiring.engine import prepare
from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresServer
from support.patience import PATIENT
from support.slack import DEADLINES


@pytest.fixture(scope="session")
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may stop for a while."""
    with PostgresServer(fsync="off", full_page_writes="off") as server:
        asyncio.run(prepare(Settings(database_url=server.url()), upgrades_postgres=False))
        yield server


@pytest.fixture(autouse=True)
def no_other_connections(own_postgres: PostgresServer) -> None:
    """Those of another test may still be asleep, and tests count connections."""
    own_postgres.ask(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )


@pytest.fixture
def proxy(own_postgres: PostgresServer) -> Iterator[FaultProxy]:
    with FaultProxy(own_postgres.port) as proxy:
        yield proxy


@pytest.fixture
def proxied_url(proxy: FaultProxy) -> str:
    return f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"


@pytest.fixture
async def database(proxied_url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(proxied_url, deadlines=DEADLINES)
    yield database
    await database.close()


@pytest.fixture
async def patient_database(proxied_url: str) -> AsyncIterator[PostgresDatabase]:
    """For what is not about how long its calls take."""
    database = PostgresDatabase(proxied_url, deadlines=PATIENT)
    yield database
    await database.close()


@pytest.fixture
def lookups(database: PostgresDatabase) -> Iterator[Lookups]:
    lookups = Lookups(database.hosts, seconds=DEADLINES.lookup_seconds)
    yield lookups
    lookups.close()


@pytest.fixture
def patient_lookups(patient_database: PostgresDatabase) -> Iterator[Lookups]:
    """As `patient_database`."""
    lookups = Lookups(patient_database.hosts, seconds=PATIENT.lookup_seconds)
    yield lookups
    lookups.close()


@pytest.fixture
async def locker(own_postgres: PostgresServer) -> AsyncIterator[asyncpg.Connection]:
    """Somebody else, who may lock tables."""
    connection = await asyncpg.connect(own_postgres.url())
    yield connection
    await connection.close()
