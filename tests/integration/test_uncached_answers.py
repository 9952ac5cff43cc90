"""No cache in between keeps an answer of the API, unless the answer says that it may."""

import re
from collections.abc import Mapping

import pytest

from kurz.api.app import create_api
from support.desk import Desk

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
# They answer for as long as somebody listens.
STREAMS = "/stats/live"
QUERIES = {"allowed": {"domain": "links.team.example"}, "availability": {"code": "free"}}
# Files of the documentation, which are the same for everybody.
CACHEABLE = {"/api/docs/{name}"}


def operations() -> list[tuple[str, str]]:
    """Every method and path pattern that the API answers, also those its document leaves out; those
    that change nothing come first."""
    # Nothing is asked of the services: the routes are only listed.
    api = create_api(None)  # type: ignore[arg-type]
    found = {(method, route.path) for route in api.routes for method in route.methods or ()}  # type: ignore[attr-defined]
    return sorted(found, key=lambda item: (item[0] not in ("GET", "HEAD"), item))


def filled(pattern: str, values: Mapping[str, object]) -> str:
    def value(found: re.Match[str]) -> str:
        return str(values.get(found[1], 1))

    return re.sub(r"\{(\w+)(?::path)?\}", value, pattern)


@on_sqlite
async def test_every_operation_forbids_caching_unless_it_says_otherwise(
    kurz, client, people, add_domain
):
    admin = await people.add(is_admin=True)
    team = await people.workspace(admin)
    await add_domain("links.team.example", team.id)
    mine = await Desk(kurz, client, admin, None).make(tags=["news"])
    theirs = await Desk(kurz, client, admin, team.id).make(tags=["news"])
    complaint = {"short_url": mine["short_url"], "category": "spam"}
    await client.post("/api/v1/reports", json=complaint)
    reports = await client.get("/api/v1/reports", headers=admin.headers)
    (report,) = reports.json()["reports"]
    known = {
        "workspace_id": team.id,
        "account_id": admin.id,
        "report_id": report["id"],
        "code": "link-not-found",
        "name": "start.js",
        "tag": "news",
        "host": "links.team.example",
    }
    for method, pattern in operations():
        if pattern.endswith(STREAMS):
            continue
        link = theirs if "/workspaces/" in pattern else mine
        path = filled(pattern, {**known, "link_id": link["id"]})
        options = {"params": QUERIES.get(path.rpartition("/")[2]), "headers": admin.headers}
        if method not in ("GET", "HEAD"):
            options["json"] = {}
        answer = await client.request(method, path, **options)
        assert method != "GET" or answer.status_code == 200, (path, answer.text)
        wanted = "public, max-age=86400" if pattern in CACHEABLE else "no-store"
        assert answer.headers.get_list("cache-control") == [wanted], (method, path)
