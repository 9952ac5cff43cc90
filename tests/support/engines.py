"""The engines that a test runs on: databases, and PostgreSQL with each kind of Redis beside it. A
folder or a module makes one of these its fixture `engine`."""

import pytest

DATABASES = ("sqlite", "postgres")
ENGINES = (*DATABASES, "postgres+redis", "postgres+cluster")


def _name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


every_engine = pytest.fixture(params=ENGINES)(_name)

# For tests whose subject is something else: `make test` leaves Redis out, which only look-ups,
# wake-ups and limits ask, and `make test-faults` has it.
redis_in_the_long_run = pytest.fixture(
    params=[
        name if name in DATABASES else pytest.param(name, marks=pytest.mark.long)
        for name in ENGINES
    ]
)(_name)

# For what cannot depend on Redis, or not on the time that Redis has. The module says why it is one.
without_redis = pytest.fixture(params=DATABASES)(_name)
