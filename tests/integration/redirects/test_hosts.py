"""Slugs, custom domains and hosts: whose links are looked up, and which are refused."""

import httpx2
import pytest

from kurz.redirect.app import FAVICON
from support.redirects import (
    BASE,
    MISSING,
    TEAM,
    URL,
    check_dead,
    look,
    on_sqlite,
    problem,
    redirect,
)


async def test_a_slug_that_was_nobodys_is_found_once_somebody_has_it(client, people, add_link):
    for _ in range(2):
        assert (await client.get("/@later/launch")).status_code == 404
    workspace = await people.workspace(await people.add(), "later")
    await add_link(URL, workspace_id=workspace.id, custom_code="launch")
    assert redirect(await client.get("/@later/launch"))[1] == URL


async def test_a_workspace_answers_under_every_slug_it_ever_had(client, add_link, add_workspace):
    team = await add_workspace("team", "old-name")
    other = await add_workspace("other")
    await add_link("https://example.com/team", workspace_id=team, custom_code="launch")
    await add_link("https://example.com/other", workspace_id=other, custom_code="launch")
    await add_link("https://example.com/root", custom_code="rooted")
    for path, location in (
        ("/@team/launch", "https://example.com/team"),
        ("/@old-name/launch", "https://example.com/team"),
        ("/@TEAM/launch", "https://example.com/team"),
        ("/@Old-Name/launch", "https://example.com/team"),
        ("/@other/launch", "https://example.com/other"),
        ("/rooted", "https://example.com/root"),
    ):
        assert redirect(await client.get(path))[1] == location
    for path in ("/launch", "/@team/rooted", "/@team/LAUNCH", "/@nobody/launch", "/@team/"):
        await check_dead(client, path, *MISSING)
    shown = await client.get("/@team/launch+")
    assert shown.json()["short_url"] == "http://kurz.test/@team/launch"


@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_custom_domain_serves_its_workspace_and_nothing_else(connect, team, base_url):
    client = await connect(TEAM, base_url=base_url)
    assert redirect(await client.get("/launch"))[1] == "https://example.com/team"
    assert (await client.get("/launch+")).json()["original_url"] == "https://example.com/team"
    assert (await client.get("/robots.txt")).status_code == 200
    assert (await client.get("/favicon.ico")).content == FAVICON
    for path in (
        "/",
        "/rooted",
        "/@team/launch",
        "/api",
        "/api/docs",
        "/api/openapi.json",
        "/api/v1/links",
        "/api/problems/link-not-found",
        "/app",
    ):
        await check_dead(client, path, *MISSING)
    for path in ("/", "/api/v1/links", "/api/urls/public", "/launch"):
        answer = await client.post(path, json={"original_url": URL})
        assert problem(answer) == (405, "method-not-allowed")


@on_sqlite
@pytest.mark.parametrize(
    "host",
    [
        "links.team.example:8443",
        "LINKS.Team.Example",
        "links.team.example.",
        "Links.team.example:1",
    ],
)
async def test_a_custom_domain_is_known_by_any_spelling(client, team, host):
    answer = await client.get("/launch", headers={"host": host})
    assert redirect(answer)[1] == "https://example.com/team"


@on_sqlite
@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_preview_on_a_custom_domain_shows_the_address_there(connect, team, base_url):
    client = await connect(TEAM, base_url=base_url)
    assert (await client.get("/launch+")).json()["short_url"] == f"{TEAM}/launch"


async def test_the_root_of_a_custom_domain_leads_where_its_workspace_says(
    connect, add_workspace, add_domain
):
    workspace_id = await add_workspace("team", root_url="https://team.example/welcome")
    await add_domain("links.team.example", workspace_id)
    client = await connect(TEAM)
    for answer in await look(client, "/"):
        assert redirect(answer) == (302, "https://team.example/welcome", "no-store")


@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_domain_that_is_not_verified_serves_nothing_of_its_workspace(
    connect, add_workspace, add_domain, add_link, base_url
):
    workspace_id = await add_workspace("team")
    await add_domain("links.team.example", workspace_id, is_verified=False)
    await add_link("https://example.com/team", workspace_id=workspace_id, custom_code="launch")
    client = await connect(TEAM, base_url=base_url)
    answer = await client.get("/launch")
    assert problem(answer) == (
        (404, "link-not-found") if base_url is None else (421, "host-unknown")
    )


async def test_with_a_base_url_another_host_is_misdirected(connect, add_link):
    link = await add_link(URL)
    client = await connect("http://evil.example", base_url=BASE)
    for path in (f"/{link.short_code}", f"/{link.short_code}+", "/", "/robots.txt", "/api/docs"):
        as_problem, as_page = await look(client, path)
        assert problem(as_problem) == (421, "host-unknown")
        assert as_page.status_code == 421
        assert as_page.headers["content-type"] == "text/html; charset=utf-8"
        for answer in (as_problem, as_page):
            assert "location" not in answer.headers
            assert "evil.example" not in answer.text
            assert answer.headers["cache-control"] == "no-store"
    assert problem(await client.post("/", content=URL)) == (421, "host-unknown")
    for path in ("/healthz", "/readyz"):
        assert (await client.get(path)).status_code == 200


@on_sqlite
@pytest.mark.parametrize("host", ["go.example.com", "GO.example.com:8080", "go.example.com."])
async def test_with_a_base_url_its_host_is_known_by_any_spelling(connect, add_link, host):
    link = await add_link(URL)
    client = await connect(base_url=BASE)
    answer = await client.get(f"/{link.short_code}", headers={"host": host})
    assert redirect(answer)[0] == 302


@on_sqlite
async def test_a_forwarded_host_counts_for_nothing(connect, team):
    client = await connect(BASE, base_url=BASE)
    headers = {"x-forwarded-host": "links.team.example", "forwarded": "host=links.team.example"}
    answer = await client.get("/launch", headers=headers)
    assert redirect(answer)[1] == "https://example.com/root"


@on_sqlite
@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_request_without_one_host_belongs_to_no_site(connect, add_link, base_url):
    link = await add_link(URL)
    client = await connect(BASE, base_url=base_url)
    for hosts in ([], ["go.example.com", "go.example.com"], ["go.example.com", "evil.example"]):
        request = client.build_request("GET", f"/{link.short_code}")
        request.headers = httpx2.Headers([("host", host) for host in hosts])
        assert problem(await client.send(request)) == (400, "host-unclear")
