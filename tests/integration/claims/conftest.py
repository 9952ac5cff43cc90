"""A browser without an account, and two people."""

import httpx2
import pytest

from kurz.wiring.core import Kurz
from support.claims import Browser
from support.engines import redis_in_the_long_run
from support.people import Person

engine = redis_in_the_long_run


@pytest.fixture
def browser(kurz: Kurz, client: httpx2.AsyncClient) -> Browser:
    return Browser(kurz, client)


@pytest.fixture
async def ada(people) -> Person:
    person: Person = await people.add("ada@example.com")
    return person


@pytest.fixture
async def eve(people) -> Person:
    person: Person = await people.add("eve@example.com")
    return person
