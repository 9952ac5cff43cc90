"""Every way in which processes wake each other: pipes, PostgreSQL's notifications, Redis."""

from collections.abc import Iterator

import pytest

from servers.fault_proxy import FaultProxy
from servers.process import HOST
from servers.valkey import ValkeyServer
from support.engines import every_engine

# Each wakes in a way of its own.
engine = every_engine


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    """A server that may be killed."""
    with ValkeyServer() as server:
        yield server


@pytest.fixture
def dead_first_host() -> Iterator[FaultProxy]:
    """Where everything is swallowed, before PostgreSQL in its address."""
    with FaultProxy(1) as proxy:
        proxy.black_hole()
        yield proxy


@pytest.fixture
def addresses(
    addresses: dict[str, str], engine: str, request: pytest.FixtureRequest
) -> dict[str, str]:
    if engine == "postgres+redis" and "own_valkey" in request.fixturenames:
        addresses = addresses | {"redis_url": request.getfixturevalue("own_valkey").url}
    if "dead_first_host" in request.fixturenames:
        dead = f"{HOST}:{request.getfixturevalue('dead_first_host').port}"
        url = addresses["database_url"].replace("@", f"@{dead},")
        addresses = addresses | {"database_url": url}
    return addresses
