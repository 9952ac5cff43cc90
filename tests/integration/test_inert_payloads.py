"""Scripts, formulas and sequences for terminals have no effect in any field of the API that
somebody else controls."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from data.payloads import FORMULAS, SCRIPTS
from kurz.links.model import Draft
from kurz.redirect.answers import pages
from support.counted import Clicks
from support.desk import Desk
from support.engines import sqlite_first
from support.inert import Shape, check, check_csv
from support.long_run import in_the_long_run
from support.payloads import EVERYTHING, addresses, cut, in_headers
from support.people import PASSWORD

engine = sqlite_first  # text is the same in every one
PAGE = {"accept": "text/html"}
NAMES = "original_url,title\r\n"

# Some of each kind, and all of them in the long run.
some_or_all = pytest.mark.parametrize(
    "texts",
    [EVERYTHING[::8], *in_the_long_run(EVERYTHING)],
    ids=["some", "all"],
)


@pytest.fixture
async def harmless(desk: Desk) -> str:
    """A preview."""
    link = await desk.make("https://example.com/harmless")
    return (await desk.client.get(link["short_url"] + "+", headers=PAGE)).text


async def make(desk: Desk, url: str, **fields: Any) -> dict[str, Any] | None:
    """The link, if it is accepted."""
    answer = await desk.ask("POST", desk.links, json={"original_url": url, **fields})
    check(answer)
    if answer.status_code == 201:
        found: dict[str, Any] = answer.json()
        return found
    assert answer.status_code == 422, answer.text
    return None


@some_or_all
async def test_urls_are_shown_and_sent_without_effect(desk, harmless, texts):
    accepted = 0
    for text in texts:
        for url in addresses(text):
            link = await make(desk, url)
            if link is None:
                continue
            accepted += 1
            short_url = link["short_url"]
            preview = await desk.client.get(short_url + "+", headers=PAGE)
            check(preview, harmless)
            assert preview.status_code == 200
            check(await desk.client.get(short_url + "+"))
            followed = await desk.follow(link)
            check(followed)
            assert followed.headers["location"].startswith("https://")
            assert not re.search(r"[\s<>\\]", followed.headers["location"])
    assert accepted > len(texts)


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_page_escapes_whatever_comes_to_it(text, clock):
    """Even what no URL that is accepted can hold."""

    def show(destination: str, short_url: str) -> str:
        now = clock.now()
        page = pages.preview(
            short_url=short_url,
            destination=destination,
            created_at=now,
            expires_at=now,
            now=now,
        )
        return page.body.decode()

    for start in ("https://example.com/", "", "https://"):
        found = Shape(show(start + text, text))
        is_link = any(tag == "a" for tag, _ in found.tags)
        alike = Shape(show("https://example.com/" if is_link else "x", "x"))
        # A name in its technical form has a word of warning; there is none here.
        assert found.tags == alike.tags
        assert all(re.match(r"https?://|data:image/svg|\./[^/]*\+", it) for it in found.leads_to)
    home = Shape(pages.home(base_url=text).body.decode())
    assert home.tags == Shape(pages.home(base_url="x").body.decode()).tags


async def test_what_users_write_is_told_as_data(desk, team):
    for text in EVERYTHING:
        for who in (desk, team):
            fields = {"title": cut(text, 200), "notes": text, "tags": [cut(text, 50)]}
            for name, value in fields.items():
                # A deterministic code would be the same for all.
                body = {"strategy": "random", name: value}
                link = await make(who, "https://example.com/", **body)
                if link is not None:
                    assert link[name] == value
            custom = await make(who, "https://example.com/", custom_code=text)
            assert custom is None
    for who in (desk, team):
        for path in (
            who.links,
            who.tags,
            who.links + "/export?format=jsonl",
            f"{who.links}?search=" + quote("<script>"),
        ):
            answer = await who.ask("GET", path)
            check(answer)
            assert "alert(1)" in answer.text
        exported = await who.ask("GET", who.links + "/export?format=csv")
        check(exported)
        check_csv(exported.text)
    check(await desk.ask("GET", "/api/v1/me/export"))


async def test_an_exported_file_brings_back_what_it_disarmed(desk, team):
    for number, text in enumerate(FORMULAS):
        url = f"https://example.com/{number};=1?;+1#;'@x"
        noted = await make(desk, url, notes=text)
        titled = await make(desk, url + "-titled", title=text, tags=[text])
        assert noted or titled or "\r" in text or text.strip(" ") != text.strip(), text
    exported = await desk.ask("GET", desk.links + "/export?format=csv")
    check(exported)
    check_csv(exported.text)
    imported = await team.ask(
        "POST",
        team.links + "/import",
        content=exported.content,
        headers={"content-type": "text/csv"},
    )
    check(imported)
    first, second = await written(desk), await written(team)
    assert len(first) > 60
    assert first == second


async def written(desk: Desk) -> dict[str, tuple[object, ...]]:
    """What people wrote, by code."""
    found = (await desk.ask("GET", f"{desk.links}?limit=100")).json()["links"]
    fields = ("original_url", "title", "notes", "tags")
    return {link["short_code"]: tuple(link[name] for name in fields) for link in found}


@some_or_all
async def test_people_workspaces_keys_and_domains(team, people, client, texts):
    admin = await people.add(is_admin=True)
    base = f"/api/v1/workspaces/{team.workspace_id}"
    for text in texts:
        asked = [
            ("/api/v1/workspaces", {"name": cut(text, 100), "slug": "inert"}),
            ("/api/v1/workspaces", {"name": "Inert", "slug": text}),
            ("/api/v1/keys", {"name": cut(text, 100), "scopes": ["links:read"]}),
            ("/api/v1/keys", {"name": "x", "scopes": [text]}),
            (f"{base}/domains", {"host": text}),
            (f"{base}/domains", {"host": f"{text}.example.com"}),
            (f"{base}/invitations", {"role": text}),
            ("/api/v1/claims", {"items": [{"short_code": text, "claim_token": text}]}),
            ("/api/v1/auth/register", {"email": text, "password": PASSWORD}),
            ("/api/v1/auth/register", {"email": f"{text}@example.com", "password": PASSWORD}),
            ("/api/v1/auth/sign-in", {"email": text, "password": "x"}),
            ("/api/v1/auth/reset", {"token": text, "password": PASSWORD}),
            ("/api/v1/links", {"original_url": "https://example.com/", text: text}),
            ("/api/v1/links", {"original_url": "https://example.com/", "strategy": text}),
            ("/api/v1/links/bulk", {"items": [{"action": text, "id": text}]}),
            ("/api/urls/public", {"originalUrl": text}),
        ]
        for path, body in asked:
            check(await team.ask("POST", path, json=body))
        check(await team.ask("PATCH", base, json={"name": cut(text, 100)}))
        check(await client.post("/", content=text.encode()))
    for who, path in (
        (team.person, base),
        (team.person, f"{base}/members"),
        (team.person, f"{base}/domains"),
        (team.person, "/api/v1/workspaces"),
        (team.person, "/api/v1/keys"),
        (admin, "/api/v1/admin/accounts"),
        (admin, "/api/v1/admin/workspaces"),
    ):
        check(await client.get(path, headers=who.headers))


@some_or_all
async def test_what_a_request_says_of_itself(connect, desk, client, texts):
    based = await connect(base_url="http://kurz.test")
    link = await desk.make("https://example.com/?own=1#part", forward_query=True)
    missing = (await client.get("/nothing", headers=PAGE)).text
    home = (await client.get("/", headers=PAGE)).text
    misdirected = (await based.get("/", headers={**PAGE, "host": "evil.example"})).text
    for text in texts:
        encoded = quote(text, safe="")
        for accept in ({}, PAGE):
            for path in (f"/{encoded}", f"/@{encoded}/x", f"/{encoded}+", f"/app/{encoded}"):
                found = await client.get(path, headers=accept)
                check(found, missing)
                assert found.status_code == 404
        for path in (
            f"/api/{encoded}",
            f"/api/v1/links/{encoded}",
            f"/api/problems/{encoded}",
            f"/api/docs/{encoded}",
            f"/api/v1/tags/{encoded}/stats",
            f"/api/v1/links?cursor={encoded}&status={encoded}",
            f"/api/v1/links?order={encoded}&{encoded}=1",
            f"/api/v1/me/stats?from={encoded}&zone={encoded}",
            f"/api/v1/me/stats/export?what={encoded}",
            f"/api/v1/domains/allowed?domain={encoded}",
        ):
            check(await desk.ask("GET", path))
        for name in ("dark", "light", "format", "error"):
            picture = await desk.ask("GET", f"{desk.links}/{link['id']}/qr?{name}={encoded}")
            check(picture)
            assert picture.status_code == 422
        followed = await client.get(f"/{link['short_code']}?{encoded}&q={encoded}")
        check(followed)
        assert re.fullmatch(
            r"https://example\.com/\?own=1[!-~]*#part", followed.headers["location"]
        )
    for text in in_headers(texts):
        raw = text.encode()
        for name in ("x-forwarded-host", "x-forwarded-for", "x-forwarded-proto", "forwarded"):
            check(await client.get("/", headers=[("accept", "text/html"), (name, raw)]), home)
        for name in ("idempotency-key", "if-match", "content-type", "origin", "cookie"):
            headers = [(name, raw), ("authorization", f"Bearer {desk.person.token}")]
            check(await client.post(desk.links, headers=headers, json={"original_url": text}))
        for name in ("authorization", "x-api-key", "accept", "x-request-id"):
            check(await client.get("/api/v1/me", headers=[(name, raw)]))
        hosted = await client.get("/", headers=[("host", raw), ("accept", "text/html")])
        check(hosted, misdirected)
        assert hosted.status_code in (400, 421)


@some_or_all
async def test_what_reports_say(client, kurz, people, texts):
    """By the form of anybody, and what administrators are shown of it."""
    admin = await people.add(is_admin=True)
    made = await kurz.links.create(Draft(original_url="https://example.com/", custom_code="bad"))
    thanks = (await client.post("/bad+", data={"category": "spam"}, headers=PAGE)).text
    for number, text in enumerate(texts):
        headers = PAGE | {"x-forwarded-for": f"203.0.113.{number}"}
        form = {"category": "spam", "message": cut(text, 2000), "contact": cut(text, 200)}
        sent = await client.post("/bad+", data=form, headers=headers)
        if sent.status_code == 200:
            check(sent, thanks)
        else:
            assert sent.status_code == 422
        refused = await client.post("/bad+", data={"category": text}, headers=headers)
        assert refused.status_code in (400, 422)
        body = {"short_url": text, "category": text}
        check(await client.post("/api/v1/reports", json=body, headers=headers))
    listed = await client.get("/api/v1/reports?limit=200", headers=admin.headers)
    check(listed)
    [report, *more] = listed.json()["reports"]
    assert len(more) > len(texts) // 2
    for text in texts:
        decision = {"state": "upheld", "note": cut(text, 2000)}
        path = f"/api/v1/reports/{report['id']}"
        check(await client.patch(path, json=decision, headers=admin.headers))
        path = f"/api/v1/admin/links/{kurz.links.public_id(made.link)}/ban"
        check(await client.put(path, json={"reason": cut(text, 500)}, headers=admin.headers))
    for path in ("/api/v1/admin/bans", "/api/v1/admin/audit", f"/api/v1/reports/{report['id']}"):
        check(await client.get(path, headers=admin.headers))


@some_or_all
async def test_files_that_are_imported(desk, texts):
    for text in texts:
        cell = text.replace('"', '""')
        record = {"original_url": text, "short_code": text, "title": text, "workspace": text}
        for kind, body in (
            ("text/csv", f"{text},original_url\r\nx,https://example.com/\r\n"),
            ("text/csv", f'{NAMES}"https://example.com/{cell}","{cell}"\r\n"{cell}",x\r\n'),
            ("application/x-ndjson", json.dumps(record) + "\n" + json.dumps({text: text}) + "\n"),
            ("application/x-ndjson", text),
            (text if text in in_headers(texts) else "x", text),
        ):
            answer = await desk.client.post(
                desk.links + "/import",
                content=body.encode(),
                headers=[
                    ("content-type", kind.encode()),
                    ("authorization", f"Bearer {desk.person.token}"),
                ],
            )
            check(answer)
            answer.json()


async def test_whatever_was_counted_is_exported_without_effect(desk, kurz, add_link):
    """Even if it had come into the database: on the way there, referrers and names are judged."""
    link = await add_link(owner_id=desk.person.id)
    clicks = Clicks(kurz.database)
    at = kurz.clock.now()
    for text in FORMULAS + SCRIPTS:
        clicks.add(link, at, referrer=text, browser=text, system=text, language=text, country=text)
    await clicks.save()
    path = f"/api/v1/links/{kurz.links.public_id(link)}/stats"
    for what in ("series", "breakdowns", "events"):
        for kind in ("csv", "json"):
            answer = await desk.ask("GET", f"{path}/export?what={what}&format={kind}")
            check(answer)
            if kind == "csv":
                assert len(check_csv(answer.text)) > 1
    check(await desk.ask("GET", path))
    live = await desk.ask("GET", f"{path}/live?seconds=0")
    check(live)
    [line] = [line for line in live.text.splitlines() if line]
    assert json.loads(line.removeprefix("data: "))
