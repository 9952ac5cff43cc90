"""Somebody who uses ADMA's paths."""

import pytest

from support.adma import Adma


@pytest.fixture
async def adma(kurz, client, people) -> Adma:
    return Adma(kurz, client, await people.add())
