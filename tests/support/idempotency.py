"""Every way to create something with an `Idempotency-Key`, and what came of it."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import links
from kurz.storage.schema.people import domains, keys, one_time_tokens, workspaces
from kurz.wiring.core import Kurz
from support.people import Person

URL = "https://example.com/page"
KEY = {"idempotency-key": "5c6b9f1e-7d3a"}
LINKS = "/api/v1/links"
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


@dataclass(frozen=True)
class Way:
    """A way to make something: `sent` makes it, `other` would make something else; `another` is a
    path that takes the same body. `makes` is how many rows of `table` come of it."""

    path: str
    sent: dict[str, Any]
    other: dict[str, Any]
    table: sa.Table
    another: str | None = None
    is_anonymous: bool = False
    makes: int = 1


def json_body(**body: Any) -> dict[str, Any]:
    return {"json": body}


_WORKSPACE = "/api/v1/workspaces/{workspace}"
_OTHER_WORKSPACE = "/api/v1/workspaces/{other_workspace}"
_MANY = json_body(
    items=[
        {"action": "create", "link": {"original_url": f"{URL}/1", "tags": ["a"]}},
        {"action": "create", "link": {"original_url": "ftp://example.com"}},
        {"action": "create", "link": {"original_url": f"{URL}/2", "custom_code": "chosen"}},
    ]
)
_FEWER = json_body(items=_MANY["json"]["items"][:2])

WAYS = {
    "a stranger's link": Way(
        LINKS,
        json_body(original_url=URL),
        json_body(original_url=f"{URL}/2"),
        links,
        is_anonymous=True,
    ),
    "a stranger's URL": Way(
        "/api/urls/public",
        json_body(originalUrl=URL),
        json_body(originalUrl=f"{URL}/2"),
        links,
        is_anonymous=True,
    ),
    "a stranger's text": Way(
        "/", {"content": URL}, {"content": f"{URL}/2"}, links, is_anonymous=True
    ),
    "a link": Way(
        LINKS,
        json_body(original_url=URL, tags=["a"], max_clicks=3),
        json_body(original_url=URL, tags=["b"], max_clicks=3),
        links,
        f"{_WORKSPACE}/links",
    ),
    "a URL": Way("/api/urls", json_body(originalUrl=URL), json_body(originalUrl=URL + "2"), links),
    "a text": Way("/", {"content": URL}, {"content": f"{URL}/2"}, links),
    "a workspace's link": Way(
        f"{_WORKSPACE}/links",
        json_body(original_url=URL),
        json_body(original_url=URL, title="x"),
        links,
        f"{_OTHER_WORKSPACE}/links",
    ),
    "a custom code": Way(
        f"{_WORKSPACE}/links",
        json_body(original_url=URL, custom_code="chosen"),
        json_body(original_url=URL, custom_code="other"),
        links,
        f"{_OTHER_WORKSPACE}/links",
    ),
    "many links": Way(f"{LINKS}/bulk", _MANY, _FEWER, links, f"{_WORKSPACE}/links/bulk", makes=2),
    "a workspace's many": Way(
        f"{_WORKSPACE}/links/bulk", _MANY, _FEWER, links, f"{LINKS}/bulk", makes=2
    ),
    "a key": Way(
        "/api/v1/keys",
        json_body(name="script", scopes=["links:read"]),
        json_body(name="script", scopes=["links:write"]),
        keys,
    ),
    "a workspace": Way(
        "/api/v1/workspaces",
        json_body(name="New", slug="new"),
        json_body(name="New", slug="newer"),
        workspaces,
    ),
    "an invitation": Way(
        f"{_WORKSPACE}/invitations",
        json_body(role="editor"),
        json_body(role="owner"),
        one_time_tokens,
        f"{_OTHER_WORKSPACE}/invitations",
    ),
    "an invitation to kurz": Way(
        "/api/v1/admin/invitations",
        {},
        {"content": " "},
        one_time_tokens,
        "/api/v1/admin/accounts/{account}/reset-link",
    ),
    "a reset link": Way(
        "/api/v1/admin/accounts/{account}/reset-link",
        {},
        {"content": " "},
        one_time_tokens,
        "/api/v1/admin/accounts/{other_account}/reset-link",
    ),
    "a domain": Way(
        f"{_WORKSPACE}/domains",
        json_body(host="go.example.com"),
        json_body(host="to.example.com"),
        domains,
        f"{_OTHER_WORKSPACE}/domains",
    ),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=[*WAYS])


@dataclass
class World:
    """An administrator with two workspaces, and what fills the places of a path."""

    kurz: Kurz
    client: httpx2.AsyncClient
    owner: Person
    places: dict[str, int]
    before: Counter[str]

    async def send(
        self,
        way: Way,
        headers: dict[str, str] | None = None,
        *,
        client: httpx2.AsyncClient | None = None,
        who: dict[str, str] | None = None,
    ) -> httpx2.Response:
        if who is None:
            who = {} if way.is_anonymous else self.owner.headers
        path = way.path.format(**self.places)
        sent = {**who, **(KEY if headers is None else headers)}
        return await (client or self.client).post(path, headers=sent, **way.sent)

    async def made(self, table: sa.Table) -> int:
        return await count(self.kurz, table) - self.before[table.name]


async def count(kurz: Kurz, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    number: int = await kurz.database.read(lambda it: it.execute(query).scalar_one())
    return number


async def rows(kurz: Kurz, table: sa.Table) -> list[dict[str, Any]]:
    return await kurz.database.read(
        lambda it: [dict(row) for row in it.execute(sa.select(table)).mappings()]
    )


def whole(answer: httpx2.Response) -> tuple[int, bytes, dict[str, str]]:
    """All that a caller sees, but the number of the request and the mark of a replay."""
    own = ("x-request-id", "idempotency-replayed")
    headers = {name: value for name, value in answer.headers.items() if name not in own}
    return answer.status_code, answer.content, headers


REUSED = (422, "idempotency-key-reused")
IN_FLIGHT = (409, "request-in-flight")
