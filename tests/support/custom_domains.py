"""Custom domains on a store, for tests."""

import asyncio
from datetime import timedelta

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.people.custom_domains import CustomDomains, TxtLookup
from kurz.people.domains import Domains
from kurz.storage.people.domains import SqlDomainStore
from kurz.storage.schema import people as people_tables
from kurz.wiring.core import Kurz

KEY = b"k" * 32
HOST = "go.example.com"
BASE_URL = "https://kurz.example:8443"
BARELY_LESS = timedelta(days=30) - timedelta(microseconds=1)


def make_service(kurz: Kurz, lookup: TxtLookup, key: bytes = KEY) -> CustomDomains:
    store = SqlDomainStore(kurz.database)
    domains = Domains(kurz.workspaces)
    return CustomDomains(store, lookup, domains, kurz.clock, key=key, base_url=BASE_URL)


async def add_workspace(kurz: Kurz, slug: str) -> int:
    row = {"name": slug, "slug": slug, "created_at": to_micros(kurz.clock.now())}
    statement = (
        sa.insert(people_tables.workspaces).values(row).returning(people_tables.workspaces.c.id)
    )

    def insert(connection: sa.Connection) -> int:
        workspace_id: int = connection.execute(statement).scalar_one()
        return workspace_id

    return await kurz.database.write(insert)


async def delete_workspace(kurz: Kurz, workspace_id: int) -> None:
    values = {"deleted_at": to_micros(kurz.clock.now())}
    statement = sa.update(people_tables.workspaces).where(
        people_tables.workspaces.c.id == workspace_id
    )
    await kurz.database.write(lambda connection: connection.execute(statement.values(values)))


async def served(kurz: Kurz) -> dict[str, int]:
    """The workspace of every domain that serves links."""
    sites = await kurz.workspaces.verified_sites()
    return {host: site.workspace_id for host, site in sites.items()}


class HeldLookup:
    """Answers as another one does, but only when it is let go."""

    def __init__(self, lookup: TxtLookup) -> None:
        self._lookup = lookup
        self.is_requested = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def lookup(self, name: str) -> list[str]:
        values = await self._lookup.lookup(name)
        self.is_requested.set()
        await self.may_answer.wait()
        return values
