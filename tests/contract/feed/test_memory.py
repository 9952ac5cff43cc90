"""A worker whose feed starts over believes nothing of what it remembers."""

from collections.abc import AsyncIterator

import httpx2
import pytest
import sqlalchemy as sa

from kurz.links.model import Draft
from kurz.storage.engine.changes import SqlChangeLog
from kurz.storage.schema.links import changes, links
from kurz.storage.schema.people import workspace_slugs
from support.feed import Listener, until, until_told
from support.serving import open_app


@pytest.fixture
async def client(kurz) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://kurz.test") as client:
            yield client


async def test_after_another_log_a_worker_looks_everything_up_again(kurz, people, client):
    """As after a restored backup: the database is another one, and nothing was told of it."""
    team = await people.workspace(await people.add(), "team")
    draft = Draft(original_url="https://before.example/", custom_code="link", workspace_id=team.id)
    await kurz.links.create(draft)

    listener = Listener(kurz.shared.feed)
    end = await SqlChangeLog(kurz.database).last()
    await until(lambda: listener.settled == end)

    async def places() -> list[str | None]:
        answers = [await client.get(f"/@{slug}/link") for slug in ("team", "crew")]
        return [answer.headers.get("location") for answer in answers]

    before, after = ["https://before.example/", None], [None, "https://after.example/"]
    assert await places() == before

    def replace(connection: sa.Connection) -> None:
        url = "https://after.example/"
        connection.execute(sa.update(links).values(original_url=url, location=url))
        connection.execute(sa.update(workspace_slugs).values(slug="crew"))

    await kurz.database.write(replace)
    caught_up_at = kurz.shared.feed.caught_up_at
    await until(lambda: kurz.shared.feed.caught_up_at > caught_up_at)
    assert await places() == before

    def lose_log(connection: sa.Connection) -> None:
        connection.execute(sa.delete(changes))

    await kurz.database.write(lose_log)

    async def is_so() -> bool:
        return await places() == after

    await until_told(is_so)
