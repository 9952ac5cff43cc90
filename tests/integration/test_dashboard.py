"""The shell and the files of the dashboard, as a browser and as a program asks for them."""

import re
from datetime import timedelta

import httpx2
import pytest

from kurz.links.model import Draft
from support.clicks import wait_until
from support.inert import Shape
from support.people import PASSWORD

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

PAGE = {"accept": "text/html,application/xhtml+xml"}
DOMAIN = "go.example.com"


def policy_of(answer) -> dict[str, list[str]]:
    [text] = answer.headers.get_list("content-security-policy")
    return {name: values for name, *values in (piece.split() for piece in text.split(";"))}


def told(answer) -> dict[str, str]:
    return dict(re.findall(r'<meta name="kurz-([a-z-]+)" content="([^"]*)">', answer.text))


def loaded(answer) -> list[str]:
    return re.findall(r'(?:src|href)="(/assets/[^"]+)"', answer.text)


@pytest.mark.parametrize("path", ["/", "/app", "/app/", "/app/links", "/app/w/12/members"])
async def test_a_browser_gets_the_shell_under_a_strict_policy(client, path):
    answer = await client.get(path, headers=PAGE)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    policy = policy_of(answer)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["connect-src"] == ["'self'"]
    assert policy["require-trusted-types-for"] == ["'script'"]
    assert policy["trusted-types"] == ["default"]
    [own, nonce] = policy["style-src"]
    assert own == "'self'"
    [told_nonce] = re.findall(r'<meta property="csp-nonce" nonce="([^"]+)">', answer.text)
    assert nonce == f"'nonce-{told_nonce}'"
    assert "<style" not in answer.text
    assert not re.search(r"<script(?![^>]* src=)", answer.text)
    again = await client.get(path, headers=PAGE)
    assert policy_of(again)["style-src"] != policy["style-src"]
    head = await client.head(path, headers=PAGE)
    assert head.status_code == 200


async def test_the_pages_say_whether_there_is_an_administrator(connect, people):
    client = await connect()
    assert told(await client.get("/app/sign-in", headers=PAGE))["set-up"] == "needed"
    await people.add("eve@example.com")
    assert told(await client.get("/app/sign-up", headers=PAGE))["set-up"] == "needed"
    await people.add("admin@example.com", is_admin=True)
    other_worker = await connect()
    assert told(await other_worker.get("/app/sign-in", headers=PAGE))["set-up"] == "done"


async def test_home_and_the_rest_load_files_that_are_there_and_keep_for_ever(client):
    for path in ("/", "/app"):
        answer = await client.get(path, headers=PAGE)
        files = loaded(answer)
        assert len(files) >= 4
        for file in files:
            found = await client.get(file, headers={"accept-encoding": "gzip, br"})
            assert found.status_code == 200
            assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert found.headers["vary"] == "accept-encoding"
            assert found.headers["x-content-type-options"] == "nosniff"
            kind = "text/css" if file.endswith(".css") else "text/javascript"
            assert found.headers["content-type"] == f"{kind}; charset=utf-8"
            assert (await client.head(file)).status_code == 200


async def test_large_files_come_compressed_to_who_can_read_them(client):
    shell = await client.get("/", headers=PAGE)
    sizes = {}
    for wanted in ("br", "gzip", "identity"):
        sizes[wanted] = 0
        for file in loaded(shell):
            async with client.stream("GET", file, headers={"accept-encoding": wanted}) as answer:
                raw = [piece async for piece in answer.aiter_raw()]
            sizes[wanted] += len(b"".join(raw))
            assert answer.headers.get("content-encoding", wanted) == wanted
    assert sizes["br"] < sizes["gzip"] < sizes["identity"] / 2


async def test_a_program_gets_the_front_that_it_always_got(client):
    for headers in ({"accept": "*/*"}, {"accept": "application/json"}):
        answer = await client.get("/", headers=headers)
        assert "curl -d" in answer.text
        assert "csp-nonce" not in answer.text
        assert answer.headers["vary"] == "accept"


@pytest.mark.parametrize(
    "path",
    ["/assets/", "/assets/none.js", "/assets/../manifest.json", "/app/Links", "/app/%3Cb%3E"],
)
async def test_what_there_is_not_is_not_found(client, path):
    answer = await client.get(path, headers=PAGE)
    assert answer.status_code == 404
    assert "csp-nonce" not in answer.text


async def test_only_get_and_head_reach_it(client):
    for path in ("/app/links", loaded(await client.get("/", headers=PAGE))[0]):
        answer = await client.post(path, headers=PAGE)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("act", ["setup", "reset", "join"])
async def test_one_time_links_keep_their_own_pages(client, act):
    answer = await client.get(f"/app/{act}", headers=PAGE)
    assert answer.status_code == 200
    assert "/assets/one-time.js" in answer.text
    assert (await client.get("/assets/one-time.js")).status_code == 200
    german = await client.get(f"/app/{act}", headers={**PAGE, "accept-language": "de"})
    assert ("Passwort" in german.text, "Passwort" in answer.text) == (True, False)
    assert answer.headers["vary"] == german.headers["vary"] == "accept, accept-language"


async def test_a_domain_of_a_workspace_never_shows_it(client, add_workspace, add_domain):
    await add_domain(DOMAIN, await add_workspace("press"))
    file = loaded(await client.get("/", headers=PAGE))[0]
    for path in ("/", "/app", "/app/links", file):
        answer = await client.get(path, headers={**PAGE, "host": DOMAIN})
        assert answer.status_code == 404
        assert "csp-nonce" not in answer.text


async def test_the_shell_says_what_is_allowed_here(connect):
    open_to_all = await (await connect()).get("/", headers=PAGE)
    assert told(open_to_all) == {
        "links": "open",
        "sign-up": "open",
        "temporary-hours": "8",
        "base-url": "http://kurz.test",
        "set-up": "done",  # Home does not show it
    }
    client = await connect(
        "https://kurz.example",
        base_url="https://kurz.example",
        access="private",
        temporary_link_hours=2,
    )
    assert told(await client.get("/", headers=PAGE)) == {
        "links": "closed",
        "sign-up": "closed",
        "temporary-hours": "2",
        "base-url": "https://kurz.example",
        "set-up": "done",
    }


async def test_no_part_of_a_request_changes_the_shell(client):
    wanted = Shape((await client.get("/", headers=PAGE)).text).tags
    for path in ("/?next=<script>alert(1)</script>", "/?%22%3E%3Cscript%3E"):
        assert Shape((await client.get(path, headers=PAGE)).text).tags == wanted


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({}, ""),
        ({"base_url": "http://kurz.test"}, "http://kurz.test"),
        (
            {"base_url": "http://kurz.test", "dashboard_url": "https://kurz.example"},
            "https://kurz.example",
        ),
    ],
)
async def test_owners_are_told_how_to_bring_a_link_back(
    connect, kurz, clock, add_workspace, add_domain, changes, address
):
    client = await connect(**changes)
    press = await add_workspace("press")
    await add_domain(DOMAIN, press)
    soon = clock.now() + timedelta(hours=1)
    for workspace_id in (0, press):
        draft = Draft(
            original_url="https://example.com/",
            workspace_id=workspace_id,
            custom_code="winter",
            expires_at=soon,
        )
        await kurz.links.create(draft)
    clock.advance(hours=2)
    wanted = f'href="{address}/app/links?status=EXPIRED"'
    expired = await client.get("/winter", headers=PAGE)
    assert (expired.status_code, wanted in expired.text) == (410, True)
    for path, host in (("/winter", {"host": DOMAIN}), ("/@press/winter", {})):
        expired = await client.get(path, headers={**PAGE, **host})
        assert (expired.status_code, "/app" in expired.text) == (410, False)  # it is not theirs
    assert "/app" not in (await client.get("/nothing", headers=PAGE)).text


def test_the_lane_tells_everybody_what_is_for_them(start_program, environment):
    """It remembers what a connection has just asked for, and proxies send the requests of many
    people over one."""
    program = start_program(**environment, KURZ_METRICS="public")
    with program.client(headers=PAGE) as client:
        person = {"email": "ada@example.com", "password": PASSWORD}
        token = client.post("/api/v1/auth/register", json=person).json()["token"]
        ada = {"authorization": f"Bearer {token}"}
        team = client.post("/api/v1/workspaces", json={"name": "P", "slug": "press"}, headers=ada)
        link = {"original_url": "https://example.com/", "custom_code": "winter", "expires_in": 1}
        for place in ("", f"/workspaces/{team.json()['id']}"):
            made = client.post(f"/api/v1{place}/links", json=link, headers=ada)
            assert made.status_code == 201, made.text
        paths = ("/winter", "/@press/winter")
        wait_until(lambda: {client.get(path).status_code for path in paths} == {410})
        assert client.get("/nothing").status_code == 404
        before = lane_answers(client)
        for language, missing, expired in (
            ("de", "Link nicht gefunden.", "Dieser Link ist abgelaufen."),
            ("en", "Link not found.", "This link has expired."),
            ("de", "Link nicht gefunden.", "Dieser Link ist abgelaufen."),
        ):
            told = {"accept-language": language}
            assert f"<h1>{missing}</h1>" in client.get("/nothing", headers=told).text
            own, of_workspace = (client.get(path, headers=told).text for path in paths)
            assert f"<h1>{expired}</h1>" in own
            assert f"<h1>{expired}</h1>" in of_workspace
            assert ("/app/links" in own, "/app/links" in of_workspace) == (True, False)
        assert lane_answers(client) == before + 9


def lane_answers(client: httpx2.Client) -> int:
    numbers = client.get("/metrics").text
    [found] = re.findall(r"^kurz_lane_answers_total (\S+)", numbers, re.MULTILINE)
    return int(float(found))


async def test_who_reads_german_gets_german_pages(client):
    german = await client.get("/nothing", headers={**PAGE, "accept-language": "de-DE,de;q=0.9"})
    assert "Link nicht gefunden." in german.text
    assert german.headers["vary"] == "accept, accept-language"
    english = await client.get("/nothing", headers={**PAGE, "accept-language": "fr"})
    assert "Link not found." in english.text
