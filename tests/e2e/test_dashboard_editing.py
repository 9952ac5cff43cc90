"""Making and editing links at the dashboard, in a real browser."""

import pytest

from support.clicks import wait_until
from support.dashboard import (
    ADDRESS,
    do,
    edit_new,
    find,
    make,
    open_form,
    refuse_to_leave,
    sign_up,
    take,
    unfold,
    wait_for_end,
)
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

LONG = "https://shop.example.com/collections/summer/" + "linen-" * 320 + "shirts"
PAYLOAD = '<img src=x onerror="alert(1)">'


def add_tag(visitor: Visitor, tag: str) -> None:
    visitor.type("Tags", tag)
    visitor.press("Enter")


def find_alias(visitor: Visitor, host: str) -> None:
    """What is typed is looked up."""
    said = {
        "admin": "This word is reserved.",
        "a/b": "3 to 64 characters",
        "winter": "You already have a link with this code.",
        "summer": f"{host}/summer is available.",
    }
    for alias, text in said.items():
        visitor.type("Custom code", alias)
        visitor.wait_for_text(text)
        if "already" in text:
            visitor.click(text)  # opens another tab: what is typed stays
            assert visitor.value("Custom code") == alias


def test_a_link_is_made_with_all_that_it_can_have(visitor, program, pictures):
    sign_up(visitor)
    make(visitor, custom_code="winter", title="Winter sale", tags=["shop", "press"])
    make(visitor, custom_code="tickets", title="Tickets", tags=["events"])
    open_form(visitor)
    take(visitor, pictures, "create-folded")
    visitor.type(
        "Destination URL", "shop.example.com/summer?utm_source=old&size=m&utm_source=older#top"
    )
    unfold(visitor, "More options")
    find_alias(visitor, program.url.removeprefix("http://"))
    visitor.type("Title", "Summer sale")
    add_tag(visitor, "shop")
    add_tag(visitor, "linen, cotton and other light things")
    visitor.click("30 days")
    visitor.choose("Redirect type", "307")
    visitor.type("Click limit", "5000")
    visitor.click("Forward query parameters")
    visitor.type("Notes", "Agreed with the shop on Monday.")
    take(visitor, pictures, "create-unfolded")
    unfold(visitor, "UTM parameters")
    assert visitor.value("Source") == "old"
    visitor.type("Source", "newsletter")
    visitor.type("Campaign", "summer & sun")
    take(visitor, pictures, "create-utm")
    visitor.press("Enter", control=True)
    visitor.wait_for_text("Your short link")
    visitor.wait_for("document.activeElement.textContent === 'Copy'")
    visitor.press("Enter")
    visitor.wait_for_text("Copied")
    assert visitor.clipboard() == f"{program.url}/summer"
    visitor.click("QR code")
    visitor.wait_for("document.querySelector('[role=dialog] svg[role=img]') !== null")
    take(visitor, pictures, "create-result")
    link = find(visitor, "summer")
    wanted = "https://shop.example.com/summer?utm_source=newsletter&size=m&utm_campaign=summer%20%26%20sun#top"
    assert link["original_url"] == wanted
    assert link["title"] == "Summer sale"
    assert link["tags"] == ["shop", "linen, cotton and other light things"]
    assert (link["redirect_status"], link["max_clicks"]) == (307, 5000)
    assert (link["forward_query"], link["notes"]) == (True, "Agreed with the shop on Monday.")
    assert link["expires_at"] is not None
    visitor.click("Create another")
    visitor.wait_for("document.querySelector('[role=dialog] form') !== null")
    assert visitor.value("Destination URL") == ""
    assert visitor.value("Custom code") == ""  # what was unfolded is remembered
    visitor.press("Escape")
    wait_for_end(visitor)
    visitor.wait_for_text("Summer sale")


def test_a_link_ends_when_one_says(visitor):
    sign_up(visitor)
    open_form(visitor)
    visitor.type("Destination URL", ADDRESS)
    unfold(visitor, "More options")
    visitor.type("Custom code", "ending")
    visitor.click("Custom date")
    visitor.choose("Expiry date and time", "2001-01-01T12:00")
    visitor.click("Shorten")
    visitor.wait_for_text("It is in the past")
    assert visitor.evaluate("document.querySelector('fieldset [role=alert]') !== null") == "True"
    visitor.choose("Expiry date and time", "12345-01-01T12:00")
    visitor.click("Shorten")
    visitor.wait_for_text("Use a four-digit year.")
    visitor.click("1 hour")
    visitor.wait_for_text("Expires on ")
    assert (
        visitor.evaluate(
            "new Set([...document.querySelectorAll('[type=radio]')].map((it) => it.name)).size"
        )
        == "1"
    )  # arrow keys move between them
    visitor.click("Never")
    visitor.wait_for_text("The link works until you delete it.")
    visitor.click("Shorten")
    visitor.wait_for_text("Your short link")
    assert find(visitor, "ending")["expires_at"] is None


def test_what_is_refused_stands_beside_its_field_and_all_stays_typed(visitor, program):
    sign_up(visitor)
    open_form(visitor)
    visitor.press("Enter")
    visitor.wait_for_text("Enter a URL first.")
    visitor.type("Destination URL", f"{program.url}/loop")
    unfold(visitor, "More options")
    visitor.type("Title", "Kept")
    add_tag(visitor, "kept")
    visitor.type("Custom code", "summer")
    visitor.wait_for_text("/summer is available.")
    make(visitor, custom_code="summer", original_url=LONG)  # somebody is quicker
    visitor.click("Shorten")
    visitor.wait_for("document.activeElement.labels?.[0]?.textContent === 'Destination URL'")
    assert visitor.value("Title") == "Kept"
    visitor.type("Destination URL", ADDRESS)
    visitor.click("More options")  # folded: the refusal opens it again
    visitor.click("Shorten")
    visitor.wait_for_text("This custom code is already taken. Choose another one.")
    visitor.wait_for("document.activeElement.labels?.[0]?.textContent === 'Custom code'")
    assert (visitor.value("Destination URL"), visitor.value("Title")) == (ADDRESS, "Kept")
    visitor.type("Title", "a\u202eb")
    visitor.type("Custom code", "autumn")
    visitor.click("Shorten")
    visitor.wait_for("document.activeElement.labels?.[0]?.textContent === 'Title'")
    assert visitor.evaluate("document.activeElement.ariaInvalid") == "true"
    visitor.type("Title", "Kept")
    visitor.evaluate("history.back()")
    refuse_to_leave(visitor)
    visitor.press("Escape")
    refuse_to_leave(visitor)
    assert visitor.evaluate("location.pathname") == "/app/links"
    visitor.type("Custom code", "autumn")
    visitor.press("Enter")
    visitor.wait_for_text("Your short link")
    assert find(visitor, "autumn")["tags"] == ["kept"]


def test_two_people_edit_one_link_and_nothing_is_lost(visitor, pictures):
    sign_up(visitor)
    link = edit_new(visitor)
    take(visitor, pictures, "edit")
    visitor.type("Title", "Summer sale, all sizes")
    visitor.type("Notes", "Mine")
    do(
        visitor,
        "PATCH",
        f"/links/{link['id']}",
        {"title": PAYLOAD, "tags": ["press", "shop"], "original_url": LONG, "expires_in": 604_800},
    )
    visitor.press("Enter", control=True)
    visitor.wait_for_text("Someone else changed this link")
    for text in ("Summer sale, all sizes", PAYLOAD, "press, shop", "not changed by you"):
        assert text in visitor.text()
    take(visitor, pictures, "edit-conflict")
    visitor.evaluate("history.back()")  # decides nothing
    visitor.wait_for("document.querySelectorAll('[role=dialog]').length === 1")
    assert visitor.value("Notes") == "Mine"
    visitor.click("Save")
    visitor.wait_for_text("Someone else changed this link")
    visitor.click("Use theirs")
    visitor.wait_for("document.querySelectorAll('[role=dialog]').length === 1")
    assert visitor.value("Title") == PAYLOAD
    assert visitor.value("Notes") == "Mine"
    assert find(visitor, "summer")["notes"] is None  # taking is not saving
    visitor.type("Title", "Mine again")
    do(visitor, "PATCH", f"/links/{link['id']}", {"title": "Theirs again", "max_clicks": 9})
    visitor.click("Save")
    visitor.wait_for_text("Theirs again")
    visitor.click("Keep mine")
    wait_for_end(visitor)
    saved = find(visitor, "summer")
    assert (saved["title"], saved["notes"]) == ("Mine again", "Mine")
    assert (saved["max_clicks"], saved["tags"]) == (9, ["press", "shop"])
    assert saved["original_url"] == LONG
    visitor.wait_for_text("Mine again")


def test_a_link_moves_pauses_and_lives_again_and_who_closes_is_asked(visitor):
    sign_up(visitor)
    link = edit_new(visitor)
    visitor.type("Custom code", "sommer")
    visitor.wait_for_text("/summer stops working as soon as you save.")
    visitor.click("Paused")
    visitor.press("Escape")
    visitor.wait_for_text("Your changes are not saved.")
    visitor.press("Escape")
    visitor.wait_for("document.querySelectorAll('[role=dialog]').length === 1")
    visitor.click("30 days")
    do(visitor, "PATCH", f"/links/{link['id']}", {"expires_in": 1})
    wait_until(lambda: find(visitor, "summer")["status"] == "EXPIRED")
    visitor.click("Save")
    visitor.wait_for_text("Someone else changed this link")
    visitor.click("Keep mine")
    wait_for_end(visitor)
    saved = find(visitor, "sommer")
    assert (saved["id"], saved["status"]) == (link["id"], "PAUSED")
    assert saved["expires_at"] > link["created_at"]


def switch_place(visitor: Visitor, team: int) -> None:
    """A link of one workspace never stands in another, not even until its own links are there."""
    shop = do(visitor, "POST", "/workspaces", {"name": "Shop", "slug": "shop"})
    link = {"original_url": ADDRESS, "custom_code": "sale"}
    do(visitor, "POST", f"/workspaces/{shop['id']}/links", link)
    visitor.visit(f"/app/w/{shop['id']}/links")
    visitor.wait_for_text("/sale")
    visitor.evaluate(
        "window.strange = 0; new MutationObserver(() => { for (const it of"
        f" document.querySelectorAll('[data-main][href^=\"/app/w/{team}/\"]'))"
        " if (it.textContent === '/sale') window.strange += 1; })"
        ".observe(document, {subtree: true, childList: true, attributes: true})"
    )
    visitor.click("Current workspace: Shop")
    visitor.wait_for_text("Press office")
    visitor.evaluate(
        "[...document.querySelectorAll('[role=menuitem]')]"
        ".find((it) => it.textContent.startsWith('Press office')).click()"
    )
    visitor.wait_for_text("First")
    assert visitor.evaluate("location.pathname") == f"/app/w/{team}/links"
    assert visitor.evaluate("window.strange") == "0"


def test_a_workspace_knows_its_addresses_and_a_viewer_only_looks(visitor, program, visit):
    sign_up(visitor)
    team = do(visitor, "POST", "/workspaces", {"name": "Press office", "slug": "press"})
    place = f"/workspaces/{team['id']}"
    do(visitor, "POST", f"{place}/links", {"original_url": ADDRESS, "title": "First"})
    open_form(visitor, f"/app/w/{team['id']}/links")
    visitor.evaluate("delete Request.prototype.body")  # Firefox has none
    visitor.type("Destination URL", ADDRESS)
    unfold(visitor, "More options")
    assert "The same URL always gets the same link." in visitor.text()
    visitor.press("Enter", control=True)
    visitor.wait_for_text("A link to this URL already exists.")
    visitor.press("Escape")
    switch_place(visitor, team["id"])
    invitation = do(visitor, "POST", f"{place}/invitations", {"role": "viewer"})
    viewer = visit(program)
    sign_up(viewer, "grace@example.com")
    do(viewer, "POST", "/invitations/accept", {"token": invitation["token"]})
    viewer.visit(f"/app/w/{team['id']}/links")
    viewer.wait_for_text("First")
    assert "New link" not in viewer.text()
    viewer.visit("/app/links")
    viewer.wait_for_text("New link")
