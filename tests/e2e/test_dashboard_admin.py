"""Administrators at the dashboard: how the instance is, what ends links, people, reports."""

import re
import time
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from kurz.storage.engine.sqlite import default_driver
from support.clicks import wait_until
from support.dashboard import PASSWORD, ask, do, make, set_up, sign_up, take
from support.visitor import Visitor

ADMIN = "ada@example.com"
DESTINATION = "https://login-bank.example/verify?session=" + "7f3a9c" * 12
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
# The one run that there was, as it might have been.
_FAILED_RUN = (
    "job_runs SET outcome = 'failed', reason = 'The archive s3://links could not be reached.',"
    " started_at = started_at - 7200000000, ended_at = started_at - 7188000000"
    " WHERE job = 'reaper'"
)
PEOPLE = ("grace@example.com", "linus@example.com", "margaret@example.com", "edsger@example.com")


PREVIEW = "document.querySelector('a[aria-label=\"Preview of parcel\"]')"


def register(client: httpx2.Client, email: str) -> None:
    body = {"email": email, "password": PASSWORD}
    assert client.post("/api/v1/auth/register", json=body).status_code == 201
    assert client.post("/api/v1/auth/sign-in", json=body).status_code == 200


def status_of(client: httpx2.Client, path: str, wanted: int) -> int:
    """Workers may know of a change a little later."""
    until = time.monotonic() + 20
    while (found := client.get(path).status_code) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    return found


DAY = 86_400_000_000  # microseconds


def make_older(folder: Path, *changes: str) -> None:
    """As if it had been going on for weeks: nobody's pictures are of the first minute."""
    with closing(default_driver.connect(folder / "kurz-data" / "kurz.db")) as database:
        for change in changes:
            database.execute(f"UPDATE {change}")
        database.commit()


def click_in_dialog(visitor: Visitor, name: str) -> None:
    find = (
        "[...document.querySelectorAll('[role=dialog] button')]"
        f".find((it) => it.textContent.trim() === '{name}')"
    )
    visitor.wait_for(f"{find} !== undefined")
    visitor.evaluate(f"{find}.click()")


def show(visitor: Visitor, path: str, text: str) -> None:
    """A page anew, without what was just said."""
    visitor.visit(path)
    visitor.wait_for_text(text)


TAB = "document.querySelector('main nav [aria-current]')"
IS_TAB_IN_SIGHT = f"""(() => {{
  const {{left, right}} = {TAB}.getBoundingClientRect();
  return left >= 0 && right <= document.documentElement.clientWidth;
}})()"""


@on_sqlite
def test_the_tab_of_the_page_is_in_sight_on_a_phone(program, visit, engine):
    visitor = visit(program)
    set_up(visitor, program, ADMIN)
    make(visitor, custom_code="parcel")
    body = {"short_url": "parcel", "category": "spam"}
    assert ask(visitor, "POST", "/reports", body)[0] == 202
    for language, name in (("de", "Protokoll"), ("en", "Audit log")):
        visitor.prefer("light", language)
        visitor.resize(320, 640)
        visitor.visit("/app/admin/audit")
        # The count of open reports comes later, and moves the tabs behind it.
        visitor.wait_for("document.querySelector('main nav span[title]') !== null")
        visitor.wait_for(f"{TAB}.textContent === '{name}'")
        visitor.wait_for(IS_TAB_IN_SIGHT)
        visitor.resize(844, 390)
        visitor.settle()
        visitor.resize(320, 640)
        visitor.wait_for(IS_TAB_IN_SIGHT)


@on_sqlite
def test_the_reaper_runs_when_it_is_told(
    start_program, environment, visit, pictures, tmp_path, engine
):
    settings = {"KURZ_RETENTION": "immediate", "KURZ_REAPER_WINDOW": "00:00-00:01"}
    program = start_program(**environment, **settings)
    visitor = visit(program)
    set_up(visitor, program, ADMIN)
    for code in ("winter", "flash"):
        make(visitor, original_url="https://shop.example/sale", custom_code=code, expires_in=1)
    with program.client() as client:
        assert status_of(client, "/winter", 410) == 410
    visitor.visit("/app/admin/reaper")
    visitor.wait_for_text("2 links")
    visitor.click("Dry run")
    visitor.wait_for_text("Nothing was changed.")
    assert "Expired, owned by a user\n2" in visitor.text()
    visitor.picture(pictures / "admin-reaper-dry-run.png")
    visitor.click("Close")
    reaper = do(visitor, "GET", "/admin/reaper")
    assert (reaper["requested_at"], reaper["is_running"], reaper["runs"]) == (None, False, [])
    with program.client() as client:
        assert client.get("/winter").status_code == 410
    visitor.click("Run now")
    visitor.wait_for_text("Permanently deleted links cannot be restored.")
    click_in_dialog(visitor, "Run now")
    visitor.wait_for_text("The reaper ran. Links removed: 2.")
    visitor.wait_for_text("0 links")
    row = visitor.evaluate("[...document.querySelectorAll('tbody')].at(-1).innerText")
    assert "manual" in row
    assert re.search(r"Succeeded.*\t2\t", row, re.DOTALL)
    with program.client() as client:
        assert status_of(client, "/winter", 404) == 404
    make_older(tmp_path, _FAILED_RUN)
    show(visitor, "/app/admin/reaper", "Failed")
    take(visitor, pictures, "admin-reaper")


@on_sqlite
def test_a_report_is_decided(program, visit, pictures, tmp_path, engine):
    visitor = visit(program)
    set_up(visitor, program, ADMIN)
    make(visitor, original_url=DESTINATION, custom_code="parcel", title="<b>Parcel</b>")
    make(visitor, original_url="https://example.com/menu", custom_code="lunch")
    report_by_form(visit(program))
    with program.client() as client:
        for code, words in (
            ("parcel", "<img src=x onerror=alert(1)> My mother lost 400 € to this."),
            ("lunch", None),
        ):
            body = {"short_url": code, "category": "spam", "message": words}
            headers = {"x-forwarded-for": "198.51.100.7"}
            answer = client.post("/api/v1/reports", json=body, headers=headers)
            assert answer.status_code == 202
    make_older(tmp_path, f"reports SET reported_at = reported_at - {DAY} * (1 + id % 3) / 2")
    show(visitor, "/app/admin/reports", "2 reports")
    text = visitor.text()
    assert "It asks for my PIN." in text
    assert "<img src=x onerror=alert(1)>" in text
    assert DESTINATION in text
    assert visitor.evaluate("document.querySelector('a[href*=\"login-bank\"]')") == "None"
    assert visitor.evaluate(f"{PREVIEW}.href") == f"{program.url}/parcel+"
    take(visitor, pictures, "admin-reports")
    visitor.click("Dismiss the reports about lunch")
    click_in_dialog(visitor, "Dismiss")
    visitor.wait_for_text("The reports about /lunch were dismissed.")
    visitor.click("Uphold the reports about parcel")
    visitor.type("Note", "Sure: it copies a bank")
    visitor.picture(pictures / "admin-reports-uphold.png")
    click_in_dialog(visitor, "Ban link")
    visitor.wait_for_text("/parcel is banned.")
    visitor.wait_for_text("No open reports")
    with program.client() as client:
        assert status_of(client, "/parcel", 410) == 410
        assert client.get("/lunch").status_code == 302
    ban_a_host(visitor)
    show(visitor, "/app/admin/reports", "Only malware there")
    take(visitor, pictures, "admin-bans")
    visitor.click("Unban /parcel")
    click_in_dialog(visitor, "Unban")
    visitor.wait_for_text("/parcel is no longer banned.")
    with program.client() as client:
        assert status_of(client, "/parcel", 302) == 302
    visitor.choose("Show", "upheld")
    visitor.wait_for_text("Sure: it copies a bank")


@on_sqlite
def test_no_preview_is_offered_where_the_session_does_not_reach_it(
    start_program, environment, visit, engine
):
    program = start_program(
        **environment,
        KURZ_ACCESS="private",
        KURZ_BASE_URL="http://go.example.com",
        KURZ_DASHBOARD_URL="http://127.0.0.1",
        KURZ_ADMIN_EMAIL=ADMIN,
        KURZ_ADMIN_PASSWORD=PASSWORD,
    )
    visitor = visit(program)
    visitor.visit("/app/sign-in")
    visitor.type("E-mail", ADMIN)
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("location.pathname === '/app/links'")
    make(visitor, custom_code="parcel")
    body = {"short_url": "parcel", "category": "spam"}
    assert ask(visitor, "POST", "/reports", body)[0] == 202
    show(visitor, "/app/admin/reports", "go.example.com/parcel")
    assert visitor.evaluate(PREVIEW) == "None"


def report_by_form(anybody: Visitor) -> None:
    anybody.visit("/parcel+")
    anybody.click("Report this link")
    anybody.evaluate("document.querySelector('input[value=phishing]').click()")
    anybody.evaluate("document.querySelector('textarea').value = 'It asks for my PIN.'")
    anybody.evaluate("document.querySelector('input[name=contact]').value = 'me@example.org'")
    anybody.click("Send report")
    anybody.wait_for("document.querySelector('textarea') === null")


def ban_a_host(visitor: Visitor) -> None:
    visitor.click("Ban host…")
    visitor.type("Host", "com")
    click_in_dialog(visitor, "Ban host")
    visitor.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    assert visitor.value("Host") == "com"
    visitor.type("Host", "evil.example")
    visitor.type("Reason", "Only malware there")
    click_in_dialog(visitor, "Ban host")
    visitor.wait_for_text("evil.example is banned.")
    visitor.wait_for_text("Only malware there")


@on_sqlite
def test_people_are_looked_after(program, visit, pictures, tmp_path, engine):
    visitor = visit(program)
    set_up(visitor, program, ADMIN)
    with program.client() as client:
        for email in PEOPLE[1:]:
            register(client, email)
    do(visitor, "POST", "/workspaces", {"name": "Press office", "slug": "press"})
    grace = visit(program)
    sign_up(grace, PEOPLE[0])
    assert "Administration" not in grace.text()
    grace.visit("/app/admin/people")
    grace.wait_for_text("Page not found")
    assert ask(grace, "GET", "/admin/system")[0] == 403
    grace.visit("/app/links")

    visitor.visit("/app/admin/people")
    act(visitor, PEOPLE[1], "Make administrator…", "Make administrator")
    visitor.wait_for_text(f"{PEOPLE[1]} is now an administrator.")
    act(visitor, PEOPLE[3], "Allow large imports…", "Allow large imports")
    visitor.wait_for_text(f"{PEOPLE[3]} can now import large files.")
    act(visitor, PEOPLE[2], "Ban…")
    visitor.type("Reason", "Sold pills")
    click_in_dialog(visitor, "Ban")
    visitor.wait_for_text(f"{PEOPLE[2]} is banned.")
    act(visitor, PEOPLE[0], "Disable…", "Disable")
    visitor.wait_for_text(f"{PEOPLE[0]} is disabled.")
    wait_until(lambda: ask(grace, "GET", "/me")[0] == 401)
    grace.type("Search", "anything")
    grace.wait_for_text("You have been signed out")

    reset_and_invite(visitor)
    act(visitor, PEOPLE[3], "Edit quota…")
    is_ready = "document.querySelector('[role=dialog] input') === document.activeElement"
    visitor.wait_for(is_ready)
    visitor.type("Links per month", "77")
    click_in_dialog(visitor, "Save")
    visitor.wait_for_text("The quota was saved.")
    visitor.click("Edit quota for Press office")
    visitor.wait_for(is_ready)
    visitor.type("Links per month", "500")
    click_in_dialog(visitor, "Save")
    visitor.wait_for_text("The quota was saved.")
    visitor.wait_for_text("500")
    make_older(
        tmp_path,
        f"accounts SET created_at = created_at - {DAY} * (20 + id % 300),"
        f" signed_in_at = signed_in_at - {DAY} * (id % 90) / 4",
        f"workspaces SET created_at = created_at - {DAY} * 40",
        f"audit SET done_at = done_at - {DAY} * (12 - id) / 3 WHERE id < 12",
    )
    show(visitor, "/app/admin/people", "500")
    take(visitor, pictures, "admin-people")
    visitor.type("Search", "linus")
    visitor.wait_for("document.querySelector('tbody').rows.length === 1")
    look_at_audit(visitor, pictures)


def act(visitor: Visitor, email: str, item: str, verb: str | None = None) -> None:
    visitor.wait_for("document.querySelector('[role=menu], [role=dialog]') === null")
    visitor.click(f"Actions for {email}")
    visitor.click(item)
    if verb:
        click_in_dialog(visitor, verb)


def reset_and_invite(visitor: Visitor) -> None:
    act(visitor, PEOPLE[3], "Password reset link…", "Create reset link")
    visitor.wait_for("document.querySelector('[role=dialog] code') !== null")
    url = visitor.evaluate("document.querySelector('[role=dialog] code').textContent")
    assert "/app/reset#" in url
    visitor.click("Copy link")
    visitor.wait_for_text("Copied")
    assert visitor.clipboard() == url
    click_in_dialog(visitor, "Done")
    for _ in range(2):
        visitor.click("Invite")
        click_in_dialog(visitor, "Create invitation")
        visitor.wait_for("document.querySelector('[role=dialog] code') !== null")
        click_in_dialog(visitor, "Done")
        visitor.wait_for("document.querySelector('[role=dialog]') === null")
    visitor.click("Revoke")
    click_in_dialog(visitor, "Revoke")
    visitor.wait_for_text("The invitation was revoked.")
    assert len(do(visitor, "GET", "/admin/invitations")["invitations"]) == 1


def look_at_audit(visitor: Visitor, pictures: Path) -> None:
    visitor.visit("/app/admin/audit")
    visitor.wait_for_text("links per month: 500")
    visitor.wait_for_text("Press office")  # names come after numbers
    assert "reason: Sold pills" in visitor.text()
    take(visitor, pictures, "admin-audit")
    visitor.choose("Action", "ban-account")
    visitor.wait_for("document.querySelectorAll('tbody tr').length === 1")
    assert visitor.evaluate("location.search") == "?action=ban-account"
    assert PEOPLE[2] in visitor.text()
    visitor.choose("Source", "cli")
    visitor.wait_for_text("No matches")
    visitor.click("Show all")
    visitor.wait_for("document.querySelectorAll('tbody tr').length > 5")
