"""Every way in which processes wake each other: pipes, PostgreSQL's notifications, Redis."""

from collections.abc import Iterator

import pytest

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
def addresses(
    addresses: dict[str, str], engine: str, request: pytest.FixtureRequest
) -> dict[str, str]:
    if engine == "postgres+redis" and "own_valkey" in request.fixturenames:
        return addresses | {"redis_url": request.getfixturevalue("own_valkey").url}
    return addresses
