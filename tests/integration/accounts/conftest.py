"""A kurz that strangers reach."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kurz.people.passwords import Passwords
from kurz.wiring.core import Kurz, open_kurz
from support.accounts import PUBLIC_URL
from support.clock import FrozenClock
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run


@pytest.fixture
async def public_kurz(kurz: Kurz, clock: FrozenClock) -> AsyncIterator[Kurz]:
    """The same store under an address that strangers reach."""
    settings = replace(kurz.settings, base_url=PUBLIC_URL)
    async with open_kurz(settings, clock, Passwords(cost=4)) as parts:
        yield parts
