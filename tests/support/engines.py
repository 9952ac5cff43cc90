"""The engines that a test runs on: databases, and PostgreSQL with each kind of Redis beside it. A
folder or a module makes one of these its fixture `engine`."""

from collections.abc import Sequence
from typing import Any

import pytest

from support.long_run import in_the_long_run

DATABASES = ("sqlite", "postgres")
ENGINES = (*DATABASES, "postgres+redis", "postgres+cluster")


def _name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def _params(usual: Sequence[str], among: Sequence[str]) -> list[Any]:
    """`make test` has the usual ones, `make test-faults` the others."""
    return [*usual, *in_the_long_run(*(name for name in among if name not in usual))]


def _fixture(*usual: str) -> Any:
    return pytest.fixture(params=_params(usual, ENGINES))(_name)


def usually_on(*usual: str, among: Sequence[str] = ENGINES) -> pytest.MarkDecorator:
    """For one test of a module that has more of them: it takes long, and one engine stands for
    the others."""
    return pytest.mark.parametrize("engine", _params(usual, among), indirect=True)


# A Cluster is another Redis, which has contracts of its own.
every_engine = _fixture(*DATABASES, "postgres+redis")

# For what goes through all parts at once: what lies in between is tried by the parts' contracts.
first_and_last = _fixture("sqlite", "postgres+redis")

# For tests whose subject is something else: only lookups, wake-ups and limits ask Redis.
redis_in_the_long_run = _fixture(*DATABASES)

# For what is the same on every engine as long as the contracts of its stores are.
sqlite_first = _fixture("sqlite")

# For what cannot depend on Redis, or not on the time that Redis has. The module says why it is one.
without_redis = pytest.fixture(params=DATABASES)(_name)
