"""An administrator with two workspaces."""

from collections import Counter

import httpx2
import pytest

from kurz.storage.schema.people import domains, workspaces
from kurz.wiring.core import Kurz
from support.engines import redis_in_the_long_run
from support.idempotency import World, count
from support.people import People

# Nobody follows a link here; receipts are in the database.
engine = redis_in_the_long_run


@pytest.fixture
async def world(kurz: Kurz, client: httpx2.AsyncClient, people: People) -> World:
    owner = await people.add(is_admin=True)
    other = await people.add()
    places = {
        "workspace": (await people.workspace(owner)).id,
        "other_workspace": (await people.workspace(owner, "other")).id,
        "account": owner.id,
        "other_account": other.id,
    }
    before = Counter({table.name: await count(kurz, table) for table in (workspaces, domains)})
    return World(kurz, client, owner, places, before)
