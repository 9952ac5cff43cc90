"""Every list of the API comes in pages: each item once, in the same order as in one piece."""

import base64
import json
import re

import httpx2
import pytest

from kurz.people.access import Permission, Role
from kurz.wiring.core import Kurz
from support.api_operations import DOCUMENT
from support.desk import Desk, code_of
from support.engines import redis_in_the_long_run
from support.people import People, Person

engine = redis_in_the_long_run
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
COUNT = 5
# These hold a bounded number of items: the last 100 checks, jobs, the top of breakdowns, failing
# writes, scopes.
BOUNDED = re.compile("get_link_checks|get_system|get_reaper|get_stats|readiness|me$")


async def fill(
    kurz: Kurz, client: httpx2.AsyncClient, people: People, admin: Person
) -> dict[str, str]:
    """Some of everything; gives the path and the member of every list."""
    team = await people.workspace(admin, "team-0")
    for number in range(1, COUNT):
        # Names that are the same have to be told apart by something else.
        made = await people.workspace(admin, f"team-{number}")
        await kurz.teams.edit(made.id, {"name": "Team-0"})
        await kurz.keys.create(admin.id, "key", frozenset({Permission.LINKS_READ}))
        await kurz.one_time_tokens.invite(admin.id, team.id, Role.VIEWER)
        await kurz.one_time_tokens.invite(admin.id)
        await people.join(team, await people.add(), Role.VIEWER)
    path = f"/api/v1/workspaces/{team.id}"
    for number in range(COUNT):
        body = {"host": f"n{number}.example.com"}
        await client.post(f"{path}/domains", json=body, headers=admin.headers)
    desk = Desk(kurz, client, admin, None)
    link = await desk.make(tags=["a", "b", "ä", "a/b", "c d"])
    for number in range(COUNT):
        await desk.edit(link, title=str(number))
    return {
        "/api/v1/workspaces": "workspaces",
        "/api/v1/keys": "keys",
        "/api/v1/tags": "tags",
        f"/api/v1/links/{link['id']}/history": "history",
        f"{path}/members": "members",
        f"{path}/invitations": "invitations",
        f"{path}/domains": "domains",
        "/api/v1/admin/accounts": "accounts",
        "/api/v1/admin/workspaces": "workspaces",
        "/api/v1/admin/invitations": "invitations",
    }


async def test_bans_of_all_kinds_come_in_one_list_of_pages(kurz, client, people):
    admin = await people.add(is_admin=True)
    desk = Desk(kurz, client, admin, None)
    path = "/api/v1/admin"
    for number in range(3):
        person, link = await people.add(), await desk.make(f"https://example.com/{number}")
        for subject in (f"accounts/{person.id}", f"hosts/n{number}.test", f"links/{link['id']}"):
            answer = await client.put(f"{path}/{subject}/ban", headers=admin.headers)
            assert answer.status_code == 200, answer.text
    whole = (await client.get(f"{path}/bans", headers=admin.headers)).json()
    kinds = ("hosts", "accounts", "links")
    assert [len(whole[kind]) for kind in kinds] == [3, 3, 3]
    assert whole["next_cursor"] is None
    for limit in (1, 2, 3, 4, 8):
        found, cursor, sizes = [], None, []
        while True:
            query = {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
            page = await client.get(f"{path}/bans", params=query, headers=admin.headers)
            items = [item for kind in kinds for item in page.json()[kind]]
            found += items
            sizes.append(len(items))
            cursor = page.json()["next_cursor"]
            if cursor is None:
                break
        assert found == [item for kind in kinds for item in whole[kind]]
        assert set(sizes[:-1]) <= {limit}
        assert 1 <= sizes[-1] <= limit
    for key in (["link", "x"], ["elsewhere", "x"], ["host"]):
        cursor = base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
        refused = await client.get(f"{path}/bans", params={"cursor": cursor}, headers=admin.headers)
        assert code_of(refused) == (422, "cursor-refused"), key


async def test_pages_hold_each_item_once_and_in_order(kurz, client, people):
    admin = await people.add(is_admin=True)
    lists = await fill(kurz, client, people, admin)
    for path, member in lists.items():
        whole = (await client.get(path, headers=admin.headers)).json()
        assert whole["next_cursor"] is None, path
        assert len(whole[member]) >= COUNT - 1, path
        found, cursor = [], None
        while True:
            query = {"limit": 2} | ({} if cursor is None else {"cursor": cursor})
            answer = await client.get(path, params=query, headers=admin.headers)
            assert answer.status_code == 200, answer.text
            page = answer.json()
            assert 1 <= len(page[member]) <= 2, path
            found += page[member]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert found == whole[member], path


@on_sqlite
@pytest.mark.parametrize(
    "cursor",
    ["", "%00", "ä", "e30", "W10", "WzFd", "WyJhIiwxXQ", "W251bGxd", "W3RydWVd", "W1tb" * 240],
)
async def test_what_is_no_cursor_of_a_list_is_refused(kurz, client, people, cursor):
    admin = await people.add(is_admin=True)
    answer = await client.get(
        "/api/v1/admin/accounts", params={"cursor": cursor}, headers=admin.headers
    )
    assert code_of(answer) == (422, "cursor-refused")
    for text in ('["\\ud800"]', '["a\\u0000"]'):
        bad = base64.urlsafe_b64encode(text.encode()).decode()
        answer = await client.get(
            "/api/v1/admin/accounts", params={"cursor": bad}, headers=admin.headers
        )
        assert code_of(answer) == (422, "cursor-refused"), text


def test_every_operation_that_answers_with_a_list_has_a_limit():
    schemas, checked = DOCUMENT["components"]["schemas"], 0
    for operations in DOCUMENT["paths"].values():
        operation = operations.get("get", {})
        content = operation.get("responses", {}).get("200", {}).get("content", {})
        name = content.get("application/json", {}).get("schema", {}).get("$ref", "")
        members = schemas.get(name.rpartition("/")[2], {}).get("properties", {})
        has_list = any("$ref" in member.get("items", {}) for member in members.values())
        if not has_list or BOUNDED.match(operation["operationId"]):
            continue
        named = {item["name"] for item in operation.get("parameters", ())}
        assert "limit" in named, operation["operationId"]
        assert named & {"cursor", "before"}, operation["operationId"]
        checked += 1
    assert checked >= 12
