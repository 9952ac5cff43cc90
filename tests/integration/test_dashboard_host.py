"""The dashboard on a host of its own (`KURZ_DASHBOARD_URL`): pages and sessions there, codes where
short URLs are."""

import pytest

from kurz.links.model import Draft
from support.people import PASSWORD, People

# The engine does not meet it.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

SHORT, PAGES = "https://go.example.com", "https://kurz.example.com"
PAGE = {"accept": "text/html"}


@pytest.fixture
async def short(connect):
    return await connect(SHORT, base_url=SHORT, dashboard_url=PAGES)


@pytest.fixture
async def pages(connect):
    return await connect(PAGES, base_url=SHORT, dashboard_url=PAGES)


async def test_codes_are_under_one_host_and_pages_under_the_other(short, pages, kurz):
    await kurz.links.create(Draft(original_url="https://example.com/", custom_code="winter"))
    assert (await short.get("/winter")).headers["location"] == "https://example.com/"
    for path in ("/winter", "/winter+", "/@team/winter"):
        for _ in range(2):  # the second time nothing has to be looked up
            assert (await pages.get(path, headers=PAGE)).status_code == 404
    assert (await pages.post("/winter+", headers=PAGE)).status_code == 404
    assert (await short.get("/winter+", headers=PAGE)).status_code == 200
    for path in ("/", "/app", "/app/links", "/app/join"):
        shown = await pages.get(path, headers=PAGE)
        assert (shown.status_code, "/assets/" in shown.text) == (200, True)
        led = await short.get(path, headers=PAGE)
        assert (led.status_code, led.headers["location"]) == (302, PAGES + path)
        assert led.headers["cache-control"] == "no-store"
    for query in ("status=EXPIRED&q=a%20b", "a=%0D%0Aset-cookie:%20x=1"):
        led = await short.get(f"/app/links?{query}", headers=PAGE)
        assert led.headers["location"] == f"{PAGES}/app/links?{query}"
        assert "set-cookie" not in led.headers
    [file, *_] = [it for it in shown.text.split('"') if it.startswith("/assets/")]
    assert (await pages.get(file)).status_code == 200
    assert (await short.get(file)).status_code == 404
    assert (await short.get("/app/Nothing", headers=PAGE)).status_code == 404
    for client in (short, pages):
        assert f"curl -d https://example.com/a/long/address {SHORT}" in (await client.get("/")).text
        made = await client.post("/", content="https://example.com/")
        assert made.text.startswith(SHORT + "/")
    assert (await pages.get("/", headers={"host": "other.example.com"})).status_code == 421


async def test_sessions_are_where_the_pages_are(short, pages, kurz):
    people = People(kurz)
    ada = await people.add("ada@example.com", is_admin=True)
    body = {"email": "ada@example.com", "password": PASSWORD, "as_cookie": True}
    signed_in = await pages.post("/api/v1/auth/sign-in", json=body)
    assert signed_in.headers["set-cookie"].startswith("__Host-")
    assert "domain" not in signed_in.headers["set-cookie"].lower()
    made = {"original_url": "https://example.com/"}
    for origin, status in ((PAGES, 201), (SHORT, 403), ("https://evil.example", 403)):
        answer = await pages.post("/api/v1/links", json=made, headers={"origin": origin})
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers
    site = {"origin": PAGES, "sec-fetch-site": "same-site"}
    assert (await pages.post("/api/v1/links", json=made, headers=site)).status_code == 403
    cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    assert (await pages.get("/api/v1/me", headers=cookie)).status_code == 200
    assert (await short.get("/api/v1/me", headers=cookie)).status_code == 401
    programs = await short.post("/api/v1/links", json=made, headers=ada.headers)
    assert programs.status_code == 201
    assert programs.json()["short_url"].startswith(SHORT + "/")


@pytest.mark.parametrize("route", ["register", "sign-in", "reset", "setup"])
async def test_no_session_of_a_page_begins_under_the_host_of_short_links(short, pages, kurz, route):
    """And what would have opened one is not used up."""
    body = {"email": "ada@example.com", "password": PASSWORD, "as_cookie": True}
    if route == "setup":
        body["token"], _ = await kurz.one_time_tokens.make_setup()
    elif route != "register":
        ada = await People(kurz).add("ada@example.com")
        if route == "reset":
            del body["email"]
            body["token"], _ = await kurz.one_time_tokens.make_reset(ada.id, None)
    refused = await short.post(f"/api/v1/auth/{route}", json=body)
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    assert refused.json()["type"] == "/api/problems/request-forged"
    begun = await pages.post(f"/api/v1/auth/{route}", json=body)
    assert begun.headers["set-cookie"].startswith("__Host-kurz="), begun.text


async def test_what_is_handed_over_leads_to_the_pages(short, kurz):
    people = People(kurz)
    ada = await people.add(is_admin=True)
    invited = await short.post("/api/v1/admin/invitations", json={}, headers=ada.headers)
    assert invited.json()["url"].startswith(f"{PAGES}/app/join#")


async def test_its_host_is_kurz_own(short, kurz):
    people = People(kurz)
    ada = await people.add()
    loop = await short.post(
        "/api/v1/links", json={"original_url": f"{PAGES}/app"}, headers=ada.headers
    )
    assert loop.status_code == 422
    team = await people.workspace(ada)
    domain = await short.post(
        f"/api/v1/workspaces/{team.id}/domains",
        json={"host": "kurz.example.com"},
        headers=ada.headers,
    )
    assert domain.status_code == 422


def test_a_link_at_hand_is_not_answered_under_the_pages_host(start_program, environment):
    """By the lane, which asks nobody."""
    program = start_program(
        **environment,
        KURZ_BASE_URL=SHORT,
        KURZ_DASHBOARD_URL=PAGES,
        KURZ_ACCESS="public",
    )
    assert f"dashboard {PAGES}/app" in program.output
    with program.client() as client:
        short, pages = {"host": "go.example.com"}, {"host": "kurz.example.com"}
        made = client.post("/", content="https://example.com/", headers=pages).text.strip()
        path = made.removeprefix(SHORT)
        for _ in range(3):
            assert client.get(path, headers=short).status_code == 302
            assert client.get(path, headers=pages).status_code == 404
