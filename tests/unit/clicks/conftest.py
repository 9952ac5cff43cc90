"""What the tests of clicks share."""

import pytest

from kurz.clicks.agents import Agents


@pytest.fixture(scope="session")
def agents() -> Agents:
    """Its rules take a while to load."""
    return Agents()
