"""The list of links: found, ordered, selected and changed, by mouse and by keys."""

import json
from pathlib import Path

import pytest

from support import shelf
from support.dashboard import do, find, sign_up, take
from support.visitor import DESKTOP, PHONE, Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

EXPIRED = {"original_url": "https://example.com/autumn", "expires_at": "2024-01-31T12:00:00Z"}
ROWS = "[...document.querySelectorAll('tbody tr')]"
CODES = f"{ROWS}.map((row) => row.querySelector('[data-main]').textContent.slice(1))"


def codes(visitor: Visitor) -> list[str]:
    found: list[str] = json.loads(visitor.evaluate(f"JSON.stringify({CODES})"))
    return found


def wait_for_codes(visitor: Visitor, *wanted: str) -> None:
    visitor.wait_for(
        f"JSON.stringify({CODES}) === {json.dumps(json.dumps(wanted).replace(' ', ''))}"
    )


def open_shelf(visitor: Visitor, data_dir: Path | None = None) -> None:
    sign_up(visitor)
    shelf.fill(visitor)
    if data_dir is not None:
        shelf.check(data_dir)
    visitor.visit("/app/links")
    visitor.wait_for(f"{ROWS}.length === {len(shelf.SHELF)}")


def test_links_are_narrowed_and_ordered_by_what_stands_in_the_address(visitor, tmp_path, pictures):
    open_shelf(visitor, tmp_path / "kurz-data")
    take(visitor, pictures, "links")
    visitor.click("Clicks")
    visitor.wait_for(f"{CODES}.slice(0, 4).join() === 'launch,old-sale,menu,tickets'")
    assert visitor.evaluate("document.querySelector('[aria-sort]').ariaSort") == "descending"
    visitor.click("Clicks")
    visitor.wait_for("location.search === '?sort=redirect_count'")
    visitor.click("campaign")
    wait_for_codes(visitor, "tickets", "old-sale", "launch")
    visitor.choose("Status", "EXPIRED")
    wait_for_codes(visitor, "old-sale")
    assert visitor.evaluate("location.search") == (
        "?sort=redirect_count&tag=campaign&status=EXPIRED"
    )
    visitor.click("Remove filter campaign")
    visitor.click("Remove filter Expired")
    visitor.choose("Destination check", "broken")
    wait_for_codes(visitor, "menu")
    assert "Broken (404)" in visitor.text()
    visitor.click("Clear all")
    visitor.wait_for(f"{ROWS}.length === {len(shelf.SHELF)}")
    visitor.choose("Created", "7")
    visitor.wait_for(f"{ROWS}.length === 4")
    visitor.choose("Created", "other")
    visitor.choose("From", "")
    day = visitor.evaluate("new Date(Date.now() - 100 * 864e5).toISOString().slice(0, 10)")
    visitor.choose("To", day)
    visitor.wait_for(f"{ROWS}.length === 2")
    visitor.choose("To", "0002-01-01")  # a year that is being typed
    visitor.choose("To", "")
    visitor.wait_for("location.search === '?sort=redirect_count'")
    assert visitor.value("To") == ""  # and the field is still there
    visitor.choose("To", day)
    visitor.wait_for(f"{ROWS}.length === 2")
    visitor.evaluate("history.back()")
    visitor.wait_for(f"{ROWS}.length !== 2")
    visitor.type("Search", "la")
    visitor.wait_for_text("Type at least 3 characters")
    visitor.type("Search", "launch")
    wait_for_codes(visitor, "launch")
    visitor.visit("/app/links?status=ACTIVE&tag=campaign&sort=expires_at&search=ticket")
    wait_for_codes(visitor, "tickets")
    take_filters_on_a_phone(visitor, pictures)


def take_filters_on_a_phone(visitor: Visitor, pictures: Path) -> None:
    visitor.resize(*PHONE)
    visitor.picture(pictures / "links-narrowed-phone.png", is_whole=False)
    visitor.click("Filters")
    visitor.wait_for_text("Show links")
    visitor.wait_for("document.getAnimations().length === 0")
    barriers = visitor.barriers()
    assert not barriers, barriers
    visitor.picture(pictures / "links-filters-phone.png", is_whole=False)
    visitor.choose("Sort by", "created_at")
    visitor.choose("Tag", "")
    visitor.click("Show links")
    visitor.wait_for("location.search === '?status=ACTIVE&sort=created_at&search=ticket'")
    visitor.resize(*DESKTOP)


def test_many_links_are_changed_at_once_and_none_is_overwritten(visitor, pictures):
    open_shelf(visitor)
    first, second, third = codes(visitor)[:3]
    visitor.tick(f"Select {first}")
    visitor.tick(f"Select {third}", shift=True)
    visitor.wait_for_text("3 selected")
    take_from_below(visitor, pictures, "links-selected")
    # Somebody else changes one of them meanwhile.
    link = find(visitor, second)
    do(visitor, "PATCH", f"/links/{link['id']}", {"title": "Changed elsewhere"})
    visitor.click("Tag…")
    visitor.type("Add tags", "autumn")
    visitor.press("Enter")
    visitor.picture(pictures / "links-tags.png", is_whole=False)
    visitor.click("Save")
    visitor.wait_for_text("1 link was not changed")
    assert "Someone else changed this in the meantime." in visitor.text()
    assert f"/{second}" in visitor.evaluate("document.querySelector('[role=dialog]').innerText")
    visitor.picture(pictures / "links-failed.png", is_whole=False)
    visitor.click("Close")
    visitor.wait_for_text("1 selected")
    assert "autumn" in find(visitor, first)["tags"]
    assert "autumn" not in find(visitor, second)["tags"]
    assert find(visitor, second)["title"] == "Changed elsewhere"
    visitor.wait_for_text("Changed elsewhere")
    visitor.tick(f"Select {first}")
    paused = f"{ROWS}.filter((it) => it.innerText.includes('Paused')).length"
    count = int(visitor.evaluate(paused))
    visitor.click("Pause")
    visitor.wait_for(f"{paused} === {count + 2}")
    assert {find(visitor, code)["status"] for code in (first, second)} == {"PAUSED"}


def take_from_below(visitor: Visitor, pictures: Path, name: str) -> None:
    """As `take`, but scrolled to the end: there the bar covers nothing."""
    for size, (width, height) in {"desktop": DESKTOP, "phone": PHONE}.items():
        visitor.resize(width, height)
        for colours in ("light", "dark"):
            visitor.prefer(colours)
            visitor.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            visitor.picture(pictures / f"{name}-{size}-{colours}.png", is_whole=False)
            barriers = visitor.barriers()
            assert not barriers, barriers
    visitor.resize(*DESKTOP)


def test_what_was_deleted_comes_back_by_one_click(visitor):
    open_shelf(visitor)
    visitor.click("More actions for launch")
    visitor.click("Delete")
    visitor.wait_for_text("/launch was moved to the trash.")
    visitor.wait_for(f"{ROWS}.length === {len(shelf.SHELF) - 1}")
    # Whoever uses keys goes on beside it.
    visitor.wait_for("document.activeElement.matches('[data-main]')")
    visitor.click("Undo")
    visitor.wait_for_text("/launch was restored.")
    visitor.wait_for(f"{ROWS}.length === {len(shelf.SHELF)}")
    fail_to_undo(visitor)
    visitor.tick("Select all on this page")
    visitor.wait_for_text(f"{len(shelf.SHELF)} selected")
    visitor.click("Delete")
    visitor.wait_for_text(f"{len(shelf.SHELF)} links were moved to the trash.")
    visitor.wait_for_text("No links yet")
    visitor.wait_for("document.activeElement.tagName === 'H1'")
    visitor.click("Undo")
    visitor.wait_for_text("1 expired link stays in the trash")
    visitor.wait_for(f"{ROWS}.length === {len(shelf.SHELF) - 1}")
    assert find(visitor, "survey")["status"] == "PAUSED"
    assert find(visitor, "old-sale", status="DELETED")["expires_at"]
    shelf.fill(visitor, [{"short_code": "autumn", **EXPIRED}])
    visitor.visit("/app/links?status=EXPIRED")
    visitor.click("More actions for autumn")
    visitor.click("Restore…")
    visitor.choose("Expires", "30")
    visitor.click("Restore")
    visitor.wait_for_text("/autumn was restored.")
    assert find(visitor, "autumn")["status"] == "ACTIVE"
    visitor.visit("/app/links")
    visitor.click("QR code for launch")
    visitor.wait_for("document.querySelector('[role=dialog] svg[role=img]') !== null")


def fail_to_undo(visitor: Visitor) -> None:
    """It is told, also on another page."""
    visitor.click("More actions for payload")
    visitor.click("Delete")
    visitor.wait_for_text("/payload was moved to the trash.")
    visitor.click("Trash")
    visitor.wait_for("location.pathname === '/app/trash'")
    link = find(visitor, "payload", status="DELETED")
    do(visitor, "POST", f"/links/{link['id']}/restore")
    visitor.click("Undo")
    visitor.wait_for_text("1 link was not changed.")
    visitor.click("Links")
    visitor.wait_for(f"{ROWS}.length === {len(shelf.SHELF)}")


def test_the_list_is_used_without_a_mouse(visitor, pictures):
    open_shelf(visitor)
    first, second, *_ = codes(visitor)
    here = "document.activeElement.textContent"
    visitor.press("j")
    visitor.wait_for(f"{here} === '/{first}'")
    visitor.press("ArrowDown")
    visitor.wait_for(f"{here} === '/{second}'")
    visitor.press("x")
    visitor.wait_for_text("1 selected")
    assert visitor.evaluate(
        "document.querySelector('[data-selected] [data-main]').textContent"
    ) == (f"/{second}")
    visitor.press("k")
    visitor.press("/")
    visitor.wait_for("document.activeElement.type === 'search'")
    visitor.press("j")
    assert visitor.value("Search") == "j"
    visitor.type("Search", "")
    visitor.evaluate("document.activeElement.blur()")
    visitor.click("Clear selection")
    visitor.evaluate("document.activeElement.blur()")
    visitor.press("?")
    visitor.wait_for_text("Next and previous link")
    take(visitor, pictures, "links-keys")
    visitor.tick("Single-letter shortcuts")
    visitor.press("Escape")
    visitor.wait_for("document.querySelector('[role=dialog]') === null")
    visitor.press("c")
    visitor.press("j")
    visitor.press("?")
    assert visitor.evaluate("location.pathname + document.activeElement.tagName") == "/app/linksH1"
    visitor.evaluate("document.querySelector('[data-main]').focus()")
    visitor.press("Enter")
    visitor.wait_for("/^.app.links.[0-9]+$/.test(location.pathname)")


def test_who_may_only_look_sees_nothing_to_change(visitor, program, visit, pictures):
    sign_up(visitor, "owner@example.com")
    team = do(visitor, "POST", "/workspaces", {"name": "Team", "slug": "team"})
    place = f"/workspaces/{team['id']}"
    shelf.fill(visitor, place=place)
    gone = find(visitor, "launch", place)
    do(visitor, "DELETE", f"{place}/links/{gone['id']}")
    guest = visit(program)
    sign_up(guest, "guest@example.com")
    invitation = do(visitor, "POST", f"{place}/invitations", {"role": "viewer"})
    token = invitation["url"].partition("#")[2]
    do(guest, "POST", "/invitations/accept", {"token": token})
    guest.visit(f"/app/w/{team['id']}/links")
    guest.wait_for(f"{ROWS}.length === {len(shelf.SHELF) - 1}")
    assert "New link" not in guest.text()
    guest.click("More actions for menu")
    guest.wait_for_text("Details and stats")
    assert not {"Pause", "Delete", "Edit…"} & set(guest.text().splitlines())
    guest.press("Escape")
    guest.tick("Select menu")
    guest.wait_for_text("1 selected")
    assert not {"Pause", "Delete", "Tag…"} & set(guest.text().splitlines())
    guest.visit(f"/app/w/{team['id']}/trash")
    guest.wait_for_text("/launch")
    assert (
        guest.evaluate("document.querySelectorAll('main button[aria-label*=Restore]').length")
        == "0"
    )
    assert "Empty trash" not in guest.text()
    guest.visit(f"/app/w/{team['id']}/import")
    guest.wait_for_text("You have read-only access to this workspace")


MANY = 100_000
# From now on: requests for links, and how long the page did not answer at most.
WATCH = """(() => {
  window.asked = 0; window.longest = 0;
  new PerformanceObserver((list) => {
    window.asked += list.getEntries().filter((it) => /\\/links\\?/.test(it.name)).length;
  }).observe({type: "resource"});
  new PerformanceObserver((list) => {
    for (const it of list.getEntries()) window.longest = Math.max(window.longest, it.duration);
  }).observe({type: "longtask"});
})()"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_hundred_thousand_links_are_no_burden(visitor, program, tmp_path):
    sign_up(visitor)
    lines = "".join(
        f'{{"short_code":"many-{n}","original_url":"https://example.com/{n}","redirect_count":{n}}}\n'
        for n in range(MANY)
    )
    program.run("admin", "allow-imports", "ada@example.com")
    key = do(visitor, "POST", "/keys", {"name": "all", "scopes": ["links:write"]})
    with program.client() as client:
        headers = {"x-api-key": key["key"], "content-type": "application/jsonl"}
        answer = client.post("/api/v1/links/import", content=lines, headers=headers, timeout=300)
    assert f'"created":{MANY}' in answer.text
    visitor.visit("/app/links?sort=-redirect_count")
    wait_for_first = f"{CODES}[0] === 'many-"
    visitor.wait_for(f"{wait_for_first}{MANY - 1}'")
    visitor.evaluate(WATCH)
    for page in (1, 2, 3):
        visitor.click("Next page")
        visitor.wait_for(f"{wait_for_first}{MANY - 1 - 50 * page}'")
    visitor.wait_for("window.asked === 3")
    visitor.tick("Select all on this page")
    visitor.wait_for_text("50 selected")
    visitor.click("Clicks")
    visitor.wait_for(f"{wait_for_first}0'")
    visitor.wait_for("window.asked === 4")
    visitor.type("Search", "many-4711")
    visitor.wait_for(f"{CODES}.includes('many-4711') && {ROWS}.length === 11")
    visitor.wait_for("window.asked === 5")
    assert int(visitor.evaluate("document.querySelectorAll('tr').length")) <= 51
    assert "at least" not in visitor.text()
    longest = float(visitor.evaluate("window.longest"))
    print(f"The page was busy for {longest:.0f} ms at most")
