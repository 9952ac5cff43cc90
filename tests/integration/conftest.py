"""kurz over HTTP without sockets, and what the API cannot make yet: workspaces and domains."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from asyncpg.prepared_stmt import PreparedStatement

from kurz.clock import to_micros
from kurz.links.model import Draft, Link, Status
from kurz.people.passwords import Passwords
from kurz.storage.schema.people import domains, workspace_slugs, workspaces
from kurz.wiring.core import Kurz, open_kurz
from support.clock import FrozenClock
from support.desk import Desk
from support.people import People
from support.serving import open_app

ORIGIN = "http://kurz.test"
DESTINATION = "https://example.com/a/path?x=1#part"
# A person's: a bot would only look at limited links.
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"


@pytest.fixture
async def connect(
    kurz: Kurz, clock: FrozenClock
) -> AsyncIterator[Callable[..., Awaitable[httpx2.AsyncClient]]]:
    """Opens clients of the application; settings by name make it another one on the same store."""
    async with AsyncExitStack() as stack:

        async def connect(
            origin: str = ORIGIN, *, peer: str = "127.0.0.1", **changes: Any
        ) -> httpx2.AsyncClient:
            parts = kurz
            if changes:
                settings = replace(kurz.settings, **changes)
                parts = await stack.enter_async_context(
                    open_kurz(settings, clock, Passwords(cost=4))
                )
            app = await stack.enter_async_context(open_app(parts))
            transport = httpx2.ASGITransport(app=app, client=(peer, 50_000))
            client = httpx2.AsyncClient(
                transport=transport, base_url=origin, headers={"user-agent": BROWSER}
            )
            return await stack.enter_async_context(client)

        yield connect


@pytest.fixture
async def client(connect: Callable[..., Awaitable[httpx2.AsyncClient]]) -> httpx2.AsyncClient:
    """A client of the application with default settings."""
    return await connect()


@pytest.fixture
def add_link(kurz: Kurz) -> Callable[..., Awaitable[Link]]:
    """Makes a permanent link as its owner would; `status` is then written as an administrator's or
    the reaper's work would leave it."""

    async def add(
        original_url: str = DESTINATION, *, status: Status | None = None, **fields: Any
    ) -> Link:
        created = await kurz.links.create(Draft(original_url=original_url, **fields))
        if status is None:
            return created.link
        changed = await kurz.store.update(created.link, {"status": status}, kurz.clock.now())
        assert changed is not None
        return changed

    return add


@pytest.fixture
def add_workspace(kurz: Kurz) -> Callable[..., Awaitable[int]]:
    """Makes a workspace under its slug and the slugs it had before; gives its id."""

    async def add(slug: str, *old_slugs: str, root_url: str | None = None) -> int:
        def insert(connection: sa.Connection) -> int:
            row: dict[str, object] = {"name": slug, "slug": slug, "root_url": root_url}
            row["created_at"] = to_micros(kurz.clock.now())
            made = connection.execute(sa.insert(workspaces).values(row).returning(workspaces.c.id))
            workspace_id: int = made.scalar_one()
            names = [{"slug": name, "workspace_id": workspace_id} for name in (slug, *old_slugs)]
            connection.execute(sa.insert(workspace_slugs), names)
            return workspace_id

        return await kurz.database.write(insert)

    return add


@pytest.fixture
def add_domain(kurz: Kurz) -> Callable[..., Awaitable[None]]:
    """Gives a workspace a domain of its own."""

    async def add(host: str, workspace_id: int, *, is_verified: bool = True) -> None:
        now = to_micros(kurz.clock.now())
        row: dict[str, object] = {"host": host, "workspace_id": workspace_id, "created_at": now}
        row["verified_at"] = now if is_verified else None
        await kurz.database.write(lambda connection: connection.execute(domains.insert(), [row]))

    return add


@pytest.fixture
async def desk(kurz: Kurz, client: httpx2.AsyncClient, people: People) -> Desk:
    """At the root."""
    return Desk(kurz, client, await people.add(), None)


@pytest.fixture
async def team(kurz: Kurz, client: httpx2.AsyncClient, people: People) -> Desk:
    """In a workspace."""
    person = await people.add()
    return Desk(kurz, client, person, (await people.workspace(person)).id)


@pytest.fixture(params=["root", "workspace"])
def place(request: pytest.FixtureRequest, desk: Desk, team: Desk) -> Desk:
    return desk if request.param == "root" else team


@pytest.fixture
def statements(engine: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What any connection that is opened from now on is told to do."""
    texts: list[str] = []

    def on_connect(connection: sa.engine.interfaces.DBAPIConnection, _: object) -> None:
        connection.set_trace_callback(texts.append)

    async def fetch(statement: PreparedStatement, *arguments: Any, **options: Any) -> Any:
        texts.append(statement.get_query())
        return await fetch_really(statement, *arguments, **options)

    if engine != "sqlite":  # SQLAlchemy's statements come by here too
        fetch_really = PreparedStatement.fetch
        monkeypatch.setattr(PreparedStatement, "fetch", fetch)
        yield texts
        return
    sa.event.listen(sa.Engine, "connect", on_connect)
    yield texts
    sa.event.remove(sa.Engine, "connect", on_connect)
