"""What somebody typed at the dashboard stays until they throw it away themselves."""

import pytest

from support import shelf
from support.dashboard import (
    ADDRESS,
    PASSWORD,
    do,
    edit_new,
    find,
    make,
    open_form,
    sign_out_elsewhere,
    sign_up,
    wait_for_end,
)
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

LIST = "/api/v1/links?*"
REFUSED = "document.querySelector('input:is([aria-invalid=true], [data-invalid])')"


def edit(visitor: Visitor, code: str) -> None:
    visitor.click(f"More actions for {code}")
    visitor.click("Edit…")
    visitor.wait_for_text(f"Edit /{code}")


def test_whoever_leaves_a_form_is_asked_by_the_browser(visitor):
    sign_up(visitor)
    open_form(visitor)
    visitor.visit("/app/links")
    assert not visitor.was_asked_to_stay  # nothing was typed
    open_form(visitor)
    visitor.type("Destination URL", ADDRESS)
    visitor.press("c")
    visitor.visit("/app/links")
    assert visitor.was_asked_to_stay


def test_whoever_edits_again_at_once_does_so_over_what_they_saved(visitor):
    sign_up(visitor)
    edit_new(visitor)
    visitor.hold(LIST)  # the list comes late
    visitor.type("Title", "First")
    visitor.click("Save")
    wait_for_end(visitor)
    visitor.wait_for_held()
    edit(visitor, "summer")
    assert visitor.value("Title") == "First"
    visitor.let_go()
    visitor.type("Title", "Second")
    visitor.click("Save")
    wait_for_end(visitor)
    assert find(visitor, "summer")["title"] == "Second"
    visitor.hold(LIST)
    visitor.click("More actions for summer")
    visitor.click("Pause")
    visitor.wait_for_text("/summer is paused.")
    edit(visitor, "summer")
    visitor.let_go()
    visitor.type("Title", "Third")
    visitor.click("Save")
    wait_for_end(visitor)
    saved = find(visitor, "summer")
    assert (saved["title"], saved["is_paused"]) == ("Third", True)


def test_a_save_whose_answer_was_lost_is_nobody_elses(visitor):
    sign_up(visitor)
    link = edit_new(visitor)
    visitor.type("Title", "Typed once")
    visitor.hold(f"/api/v1/links/{link['id']}")
    visitor.click("Save")
    visitor.wait_for_held()
    visitor.let_go(is_lost=True)
    visitor.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    visitor.click("Save")
    wait_for_end(visitor)
    assert find(visitor, "summer")["title"] == "Typed once"


def test_a_form_outlives_its_link(visitor):
    sign_up(visitor)
    link = edit_new(visitor)
    for path in ("/app/links?search=summer", f"/app/links/{link['id']}"):
        visitor.visit(path)
        if "?" in path:
            edit(visitor, "summer")
        else:
            visitor.click("Edit")
        visitor.type("Notes", "A long story")
        do(visitor, "DELETE", f"/links/{link['id']}")
        visitor.grow_old()
        visitor.wait_for_text("No matches" if "?" in path else "It does not work.")
        assert visitor.value("Notes") == "A long story"
        do(visitor, "POST", f"/links/{link['id']}/restore", {})


def test_what_the_server_refuses_stands_beside_its_field(visitor, program):
    program.set_up("admin@example.com", PASSWORD)
    visitor.visit("/app/sign-up")
    visitor.type("E-mail", "admin@example.com")
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for(f"{REFUSED}?.type === 'email'")
    visitor.type("E-mail", "ada@example.com")
    visitor.type("Password", "password1")
    visitor.press("Enter")
    visitor.wait_for(f"{REFUSED}?.autocomplete === 'new-password'")
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("location.pathname === '/app/links'")
    for slug in ("press", "taken"):
        do(visitor, "POST", "/workspaces", {"name": slug, "slug": slug})
    visitor.visit("/app/w/1/settings")
    visitor.type("Short name for URLs", "taken")
    visitor.press("Enter")
    visitor.wait_for(f"{REFUSED}?.value === 'taken'")
    do(visitor, "POST", "/workspaces/1/domains", {"host": "go.example.com"})
    visitor.visit("/app/w/1/domains")
    visitor.type("Destination URL", "ftp://example.com/")
    visitor.press("Enter")
    visitor.wait_for(f"{REFUSED}?.value === 'ftp://example.com/'")
    assert visitor.evaluate("document.querySelector('form > [role=alert]') === null") == "True"


def test_a_code_that_was_imported_may_stay(visitor):
    sign_up(visitor)
    shelf.fill(visitor, [{"original_url": ADDRESS, "short_code": "a."}])
    visitor.visit("/app/links")
    edit(visitor, "a.")
    visitor.type("Title", "Short")
    visitor.click("Save")
    wait_for_end(visitor)
    assert find(visitor, "a.")["title"] == "Short"


def test_undone_a_pause_leaves_alone_what_was_paused_before(visitor):
    sign_up(visitor)
    make(visitor, custom_code="winter")
    make(visitor, custom_code="summer")
    do(visitor, "PATCH", f"/links/{find(visitor, 'summer')['id']}", {"is_paused": True})
    visitor.visit("/app/links")
    visitor.tick("Select winter")
    visitor.tick("Select summer")
    visitor.click("Pause")
    visitor.wait_for_text("2 links were changed.")
    visitor.click("Undo")
    visitor.wait_for_text("1 link was changed.")
    assert find(visitor, "winter")["status"] == "ACTIVE"
    assert find(visitor, "summer")["status"] == "PAUSED"


def test_who_is_signed_out_while_editing_loses_nothing(visitor):
    sign_up(visitor)
    edit_new(visitor)
    visitor.type("Title", "Still here")
    visitor.type("Notes", "And this")
    sign_out_elsewhere(visitor)
    visitor.click("Save")
    visitor.wait_for_text("You have been signed out")
    visitor.wait_for("document.activeElement.type === 'password'")
    at_top = "document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('[role=dialog]')"
    assert "You have been signed out" in visitor.evaluate(f"{at_top}.innerText")
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("document.querySelectorAll('[role=dialog]').length === 1")
    assert (visitor.value("Title"), visitor.value("Notes")) == ("Still here", "And this")
    visitor.click("Save")
    wait_for_end(visitor)
    assert find(visitor, "summer")["notes"] == "And this"
    visitor.click("More actions for summer")
    visitor.click("Edit…")
    visitor.type("Title", "Not yet saved")
    sign_out_elsewhere(visitor)
    visitor.grow_old()
    visitor.wait_for_text("You have been signed out")
    visitor.settle()
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("document.querySelectorAll('[role=dialog]').length === 1")
    assert visitor.evaluate("location.pathname") == "/app/links"
    assert visitor.value("Title") == "Not yet saved"
    visitor.click("Save")
    wait_for_end(visitor)
    assert find(visitor, "summer")["title"] == "Not yet saved"


def test_another_person_finds_nothing_of_the_one_before(visitor):
    sign_up(visitor, "bob@example.com")
    sign_out_elsewhere(visitor)
    sign_up(visitor)
    edit_new(visitor)
    visitor.type("Notes", "Only for Ada")
    visitor.press("x")
    sign_out_elsewhere(visitor)
    visitor.click("Save")
    visitor.wait_for_text("You have been signed out")
    visitor.evaluate("history.back()")
    visitor.settle()
    assert "Discard changes?" not in visitor.text()  # it would stand behind
    visitor.type("E-mail", "bob@example.com")
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for_text("No links yet")
    assert not visitor.was_asked_to_stay
