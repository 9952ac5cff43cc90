"""Reports of abuse: by the form on a preview page and by the API, and what becomes of them."""

from typing import Any

import httpx2
import pytest

from kurz.links.model import Status
from kurz.people.limits import LIMITS, LimitClass
from kurz.redirect.answers.report_form import MAX_FORM_BYTES
from kurz.safety.abuse_reports import MAX_CONTACT_LENGTH, MAX_MESSAGE_LENGTH, ReportState
from support.engines import without_redis

engine = without_redis  # which has no part in it
PAGE = {"accept": "text/html"}
HTML = "text/html; charset=utf-8"
API = "/api/v1/reports"
FORM = {"category": "phishing", "message": "It asks for my PIN.\r\nTwice.", "contact": "me@x.org"}


async def reports(kurz, state: ReportState = ReportState.OPEN) -> Any:
    return await kurz.abuse.store.list(state, limit=100)


async def send(
    client: httpx2.AsyncClient, path: str, form: dict[str, str] | None = None, **headers: str
) -> httpx2.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post(path, data=form or FORM, headers=PAGE | sent)


async def test_somebody_reports_a_link_by_the_form_of_its_preview(kurz, client, add_link):
    link = await add_link("https://evil.example/page", custom_code="bad")
    shown = await client.get("/bad+", headers=PAGE)
    assert 'action="./bad+"' in shown.text
    assert "form-action 'self'" in shown.headers["content-security-policy"]
    thanks = await send(client, "/bad+")
    assert (thanks.status_code, thanks.headers["cache-control"]) == (200, "no-store")
    assert "Thank you" in thanks.text
    [report] = await reports(kurz)
    assert (report.link_id, report.short_url) == (link.id, "http://kurz.test/bad")
    assert report.location == "https://evil.example/page"
    assert (report.category, report.message) == ("phishing", "It asks for my PIN.\nTwice.")
    assert report.contact == "me@x.org"
    assert (await client.get("/bad")).status_code == 302  # until somebody decides


async def test_a_second_report_of_the_same_person_changes_nothing_and_looks_the_same(
    kurz, client, connect, add_link
):
    await add_link(custom_code="bad")
    first, second = [await send(client, "/bad+") for _ in range(2)]
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert len(await reports(kurz)) == 1
    other = await connect(peer="203.0.113.9")
    assert (await send(other, "/bad+")).content == first.content
    one, two = await reports(kurz)
    assert one.reporter != two.reporter


async def test_reports_of_one_person_cannot_be_joined(kurz, client, add_link, clock):
    for code in ("one", "two"):
        await add_link(custom_code=code)
        await send(client, f"/{code}+")
    clock.advance(seconds=86_400)
    await send(client, "/one+")  # and tomorrow they are somebody else
    assert len({report.reporter for report in await reports(kurz)}) == 3


async def test_in_workspaces_and_on_their_own_domains(
    kurz, client, connect, add_link, add_workspace, add_domain
):
    team = await add_workspace("team")
    await add_domain("go.example.com", team)
    await add_link(workspace_id=team, custom_code="bad")
    assert (await send(client, "/@team/bad+")).status_code == 200
    domain = await connect("http://go.example.com", peer="203.0.113.9")
    assert (await send(domain, "/bad+", origin="http://go.example.com")).status_code == 200
    assert {report.short_url for report in await reports(kurz)} == {
        "http://kurz.test/@team/bad",
        "http://go.example.com/bad",
    }


async def test_what_is_not_there_is_told_as_by_the_link_itself(kurz, client, add_link, clock):
    await add_link(custom_code="paused", status=Status.PAUSED)
    await add_link(custom_code="deleted", status=Status.DELETED)
    await add_link(custom_code="banned", status=Status.BANNED)
    await add_link(custom_code="late", expires_in_seconds=60)
    clock.advance(seconds=61)
    for code, status in (
        ("missing", 404),
        ("paused", 404),
        ("deleted", 404),
        ("banned", 410),
        ("late", 410),
        ("api", 404),
    ):
        by_form = await send(client, f"/{code}+")
        itself = await client.get(f"/{code}+", headers=PAGE)
        assert by_form.status_code == itself.status_code == status, code
        assert by_form.content == itself.content
        by_api = await client.post(API, json={"short_url": code, "category": "spam"})
        assert by_api.status_code == status, code
    assert await reports(kurz) == []


async def test_a_limited_link_tells_nothing_and_loses_no_click(kurz, client, add_link):
    link = await add_link("https://secret.example/", custom_code="once", max_clicks=1)
    by_form = await send(client, "/once+")
    by_api = await client.post(API, json={"short_url": "once", "category": "spam"})
    assert (by_form.status_code, by_api.status_code) == (200, 202)
    assert "secret" not in by_form.text + by_api.text
    assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0


async def test_where_previews_are_for_members_the_form_is_too(connect, kurz, add_link):
    await add_link(custom_code="bad")
    client = await connect(access="private")
    refused = await send(client, "/bad+")
    assert refused.status_code == 404
    assert refused.content == (await client.get("/nothing", headers=PAGE)).content
    assert await reports(kurz) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "same-origin", "origin": "https://evil.example"},
    ],
)
async def test_no_other_site_makes_a_visitor_report(kurz, client, add_link, headers):
    await add_link(custom_code="bad")
    refused = await send(client, "/bad+", accept="*/*", **headers)
    assert refused.status_code == 403
    assert refused.json()["type"] == "/api/problems/request-forged"
    assert await reports(kurz) == []
    own = await send(client, "/bad+", sec_fetch_site="same-origin", origin="http://kurz.test")
    assert own.status_code == 200


@pytest.mark.parametrize(
    ("form", "status", "problem"),
    [
        ({"category": "boring"}, 422, "field-refused"),
        ({"message": "no category"}, 422, "field-refused"),
        ({"category": "spam", "message": "x" * (MAX_MESSAGE_LENGTH + 1)}, 422, "field-refused"),
        ({"category": "spam", "contact": "x" * (MAX_CONTACT_LENGTH + 1)}, 422, "field-refused"),
        ({"category": "spam", "message": "x" * MAX_FORM_BYTES}, 400, "form-refused"),
        ({str(number): "x" for number in range(20)}, 400, "form-refused"),
    ],
)
async def test_a_form_that_cannot_be_taken(kurz, client, add_link, form, status, problem):
    await add_link(custom_code="bad")
    refused = await send(client, "/bad+", form, accept="*/*")
    assert refused.status_code == status
    assert refused.json()["type"] == f"/api/problems/{problem}"
    shown = await send(client, "/bad+", form)
    assert (shown.status_code, shown.headers["content-type"]) == (status, HTML)
    assert "The report was not sent" in shown.text
    assert refused.json()["detail"].replace("`", "") in shown.text
    german = await send(client, "/bad+", form, **{"accept-language": "de"})
    assert german.status_code == status
    assert "Die Meldung wurde nicht gesendet" in german.text
    assert refused.json()["detail"].replace("`", "") not in german.text
    assert await reports(kurz) == []


async def test_a_report_may_be_as_long_in_any_script(kurz, client, add_link):
    await add_link(custom_code="bad")
    form = {
        "category": "other",
        "message": "\U0001f642" * MAX_MESSAGE_LENGTH,
        "contact": "ж" * MAX_CONTACT_LENGTH,
    }
    assert (await send(client, "/bad+", form)).status_code == 200
    [report] = await reports(kurz)
    assert (report.message, report.contact) == (form["message"], form["contact"])


async def test_only_a_form_is_a_form(client, add_link):
    await add_link(custom_code="bad")
    assert (await client.post("/bad+", json=FORM)).status_code == 400
    assert (await client.post("/bad", data=FORM)).status_code == 405


async def test_controls_are_left_out_of_what_people_write(kurz, client, add_link):
    await add_link(custom_code="bad")
    message = "a\x00b\x1b[31m\u202ec\u2066"
    await send(client, "/bad+", {"category": "other", "message": message, "contact": " \n"})
    [report] = await reports(kurz)
    assert (report.message, report.contact) == ("ab[31mc", None)


async def test_five_reports_an_hour_by_either_way(connect, add_link):
    client = await connect(rate_limits="on")
    most = LIMITS[LimitClass.REPORT][0].rate.count
    for number in range(most + 1):
        await add_link(custom_code=f"bad{number}")
    body = {"short_url": "bad0", "category": "spam"}
    assert (await client.post(API, json=body)).headers["ratelimit-policy"] == '"report";q=5;w=3600'
    answers = [await send(client, f"/bad{number}+") for number in range(1, most + 1)]
    assert [answer.status_code for answer in answers] == [200] * (most - 1) + [429]
    assert answers[-1].headers["retry-after"].isdecimal()
    assert "The report was not sent" in answers[-1].text
    assert (await client.post(API, json=body)).status_code == 429


@pytest.mark.parametrize(
    "reference",
    ["bad", "/bad", "http://kurz.test/bad", "HTTP://KURZ.test/bad+", "https://kurz.test/bad?x=1"],
)
async def test_a_program_reports_by_any_name_of_the_link(kurz, client, add_link, reference):
    await add_link(custom_code="bad")
    answer = await client.post(API, json={"short_url": reference, "category": "malware"})
    assert (answer.status_code, answer.json()) == (202, {"status": "received"})
    [report] = await reports(kurz)
    assert report.short_url == "http://kurz.test/bad"


@pytest.mark.parametrize(
    "reference",
    [
        "http://other.test/bad",
        "@nobody/bad",
        "x/bad",
        "",
        "://",
        "http://[x",
        "@a\0b/bad",
        "@/bad",
        "@\u017f/bad",
        "a\0b",
        "http://kurz.test\0/bad",
    ],
)
async def test_what_is_no_link_of_ours_is_not_found(kurz, client, add_link, reference):
    await add_link(custom_code="bad")
    answer = await client.post(API, json={"short_url": reference, "category": "malware"})
    assert answer.status_code == 404
    assert await reports(kurz) == []


async def test_an_upheld_report_takes_the_link_down_and_decides_the_others(
    kurz, client, connect, add_link, people
):
    admin = await people.add(is_admin=True)
    link = await add_link("https://evil.example/", custom_code="bad")
    for peer in ("203.0.113.1", "203.0.113.2"):
        await send(await connect(peer=peer), "/bad+")
    listed = (await client.get(API, headers=admin.headers)).json()
    assert listed["total"] == 2
    first = listed["reports"][0]
    assert first["link_id"] == kurz.links.public_id(link)
    assert "reporter" not in first
    decision = {"state": "upheld", "bans_host": True, "note": "clear"}
    path = f"{API}/{first['id']}"
    decided = await client.patch(path, json=decision, headers=admin.headers)
    assert (decided.status_code, decided.json()["state"]) == (200, "upheld")
    assert (decided.json()["decided_by"], decided.json()["note"]) == (admin.id, "clear")
    gone = await client.get("/bad", headers=PAGE)
    assert (gone.status_code, "taken down" in gone.text) == (410, True)
    assert [report.state for report in await reports(kurz, ReportState.UPHELD)] == ["upheld"] * 2
    again = await client.patch(path, json={"state": "dismissed"}, headers=admin.headers)
    assert (again.status_code, again.json()["type"]) == (409, "/api/problems/report-decided")
    body = {"original_url": "https://sub.evil.example/"}
    refused = await client.post("/api/v1/links", json=body, headers=admin.headers)
    assert refused.json()["type"] == "/api/problems/destination-refused"
    acts = [entry.action for entry in await kurz.audit.list(limit=10)]
    assert acts == ["ban-host", "ban-link", "uphold-report"]


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        ({"state": "upheld", "note": "x" * (MAX_MESSAGE_LENGTH + 1)}, "field-refused"),
        ({"state": "dismissed", "note": "x" * (MAX_MESSAGE_LENGTH + 1)}, "field-refused"),
        ({"state": "upheld", "bans_host": True}, "host-refused"),
    ],
)
async def test_a_decision_that_is_refused_does_nothing(
    kurz, client, add_link, people, decision, problem
):
    admin = await people.add(is_admin=True)
    await add_link("http://intranet/x", custom_code="bad")
    await send(client, "/bad+")
    [report] = await reports(kurz)
    path = f"{API}/{report.id}"
    refused = await client.patch(path, json=decision, headers=admin.headers)
    assert (refused.status_code, refused.json()["type"]) == (422, f"/api/problems/{problem}")
    assert (await client.get("/bad")).status_code == 302
    assert await reports(kurz) == [report]
    assert await kurz.audit.list(limit=1) == []


async def test_a_dismissed_report_leaves_the_link_and_can_be_made_again(
    kurz, client, add_link, people
):
    admin = await people.add(is_admin=True)
    await add_link(custom_code="good")
    await send(client, "/good+")
    [report] = await reports(kurz)
    answer = await client.patch(
        f"{API}/{report.id}", json={"state": "dismissed"}, headers=admin.headers
    )
    assert answer.status_code == 200
    assert (await client.get("/good")).status_code == 302
    await send(client, "/good+")
    assert len(await reports(kurz)) == 1


async def test_the_queue_goes_on_from_page_to_page(kurz, client, add_link, clock, people):
    admin = await people.add(is_admin=True)
    for number in range(5):
        await add_link(custom_code=f"bad{number}")
        await send(client, f"/bad{number}+")
        clock.advance(seconds=1)
    seen, cursor = [], None
    for _ in range(3):
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await client.get(API, params=query, headers=admin.headers)).json()
        seen += [report["short_code"] for report in page["reports"]]
        cursor = page["next_cursor"]
    assert seen == [f"bad{number}" for number in range(5)]
    assert cursor is None
    refused = await client.get(API, params={"cursor": "-"}, headers=admin.headers)
    assert refused.json()["type"] == "/api/problems/cursor-refused"


async def test_whom_to_ask_is_told(connect, add_link):
    client = await connect(abuse_contact="abuse@example.com")
    await add_link(custom_code="good")
    await add_link(custom_code="banned", status=Status.BANNED)
    for path in ("/good+", "/banned"):
        assert "mailto:abuse@example.com" in (await client.get(path, headers=PAGE)).text
    assert (await client.get("/banned")).json()["contact"] == "abuse@example.com"
