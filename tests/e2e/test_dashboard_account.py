"""People who look after their account at the dashboard: keys, password, its beginning and end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.dashboard import (
    LAST_IN_DIALOG,
    PASSWORD,
    PASSWORD_FIELD,
    ask,
    confirm,
    make,
    secret,
    set_up,
    sign_up,
    take,
)
from support.program import Program
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

NEW_PASSWORD = "another horse, another battery"


def test_an_odd_language_breaks_no_page(visitor, program):
    visitor.begin_with(
        "Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix', 'en'] })"
    )
    visitor.visit("/app/account")
    visitor.wait_for_text("Password")


def test_a_key_is_made_works_and_is_revoked(visitor, program, pictures):
    sign_up(visitor)
    ask(visitor, "POST", "/workspaces", {"name": "Press office", "slug": "press"})
    old = {"name": "Newsletter", "scopes": ["links:read", "stats:read"], "workspace_id": 1}
    assert ask(visitor, "POST", "/keys", old)[0] == 201
    visitor.visit("/app/keys")
    visitor.wait_for_text("Newsletter")
    visitor.click("New API key")
    visitor.click("Create key")
    visitor.wait_for_text("Enter a name for the key")
    visitor.type("Name", "Release script")
    take(visitor, pictures, "key-new")
    lose_the_answer(visitor)
    visitor.click("Create key")
    visitor.wait_for_text("Copy the key now")
    key, example = secret(visitor, 0), secret(visitor, 1)
    assert f"X-Api-Key: {key}" in example
    take(visitor, pictures, "key-ready")
    visitor.click("Done")

    def create() -> int:
        with program.client(headers={"x-api-key": key}) as client:
            made = client.post("/api/v1/links", json={"original_url": "https://example.com/"})
        return int(made.status_code)

    assert create() == 201
    visitor.visit("/app/keys")
    visitor.wait_for_text("Release script")
    assert key not in visitor.text()
    take(visitor, pictures, "keys")
    visitor.click("Revoke Release script")
    visitor.wait_for_text("stop working within 5 seconds")
    take(visitor, pictures, "key-revoke")
    visitor.hold("/api/v1/keys/*")
    visitor.click("Revoke")
    visitor.wait_for_held()
    stays_open(visitor)
    visitor.let_go()
    visitor.wait_for_text("Release script was revoked.")
    assert create() == 401
    assert [it["name"] for it in ask(visitor, "GET", "/keys")[1]["keys"]] == ["Newsletter"]


def lose_the_answer(visitor: Visitor) -> None:
    """The key is made, and nobody has seen it: sent again, the same one comes."""
    visitor.hold("/api/v1/keys")
    visitor.click("Create key")
    visitor.wait_for_held()
    stays_open(visitor)
    visitor.let_go(is_lost=True)
    visitor.wait_for_text("The server cannot be reached.")


def stays_open(visitor: Visitor) -> None:
    """As long as it is not known what came of it, the dialog cannot be closed."""
    buttons = "[...document.querySelectorAll('[role=dialog] button')]"
    visitor.press("Escape")
    found = visitor.evaluate(f"{buttons}.map((it) => it.disabled).join()")
    assert set(found.split(",")) == {"true"}


def test_another_password_ends_the_sessions_elsewhere(
    visit: Callable[[Program], Visitor], program: Program, pictures: Path
) -> None:
    here, elsewhere = visit(program), visit(program)
    sign_up(here)
    elsewhere.visit("/app/sign-in")
    elsewhere.type("E-mail", "ada@example.com")
    elsewhere.type("Password", PASSWORD)
    elsewhere.press("Enter")
    elsewhere.wait_for("location.pathname === '/app/links'")
    make_keys(here, Mine=None, Team=1)
    here.visit("/app/account")
    here.type("Current password", "not this one")
    here.type("New password", NEW_PASSWORD)
    here.click("Also revoke my API keys and open invitations")
    here.click("Change password")
    here.wait_for_text("The current password is incorrect.")
    assert names_of_keys(here) == ["Team", "Mine"]
    assert here.value("New password") == NEW_PASSWORD
    here.type("Current password", PASSWORD)
    here.click("Change password")
    here.wait_for_text("You are signed out everywhere else.")
    assert ask(here, "GET", "/me")[0] == 200
    assert names_of_keys(here) == ["Team"]
    assert ask(elsewhere, "GET", "/me")[0] == 401
    elsewhere.click("API keys")
    elsewhere.wait_for_text("You have been signed out")
    here.visit("/app/account")
    here.wait_for_text("Unlimited.")
    take(here, pictures, "account")
    here.choose("Language", "de")
    here.wait_for_text("Sprache und Farben")
    here.choose("Farben", "dark")
    here.wait_for("document.documentElement.dataset.mantineColorScheme === 'dark'")
    here.picture(pictures / "account-german.png")


def test_a_key_that_could_not_be_revoked_with_a_new_password_stays_ticked(visitor):
    sign_up(visitor)
    make_keys(visitor, Kept=1, Team=1, Script=1)
    visitor.visit("/app/account")
    visitor.wait_for_text("Also revoke:")
    for name in ("Team", "Script"):
        visitor.evaluate(
            "[...document.querySelectorAll('label')]"
            f".find((it) => it.textContent.startsWith('{name} (')).click()"
        )
    team = next(key for key in ask(visitor, "GET", "/keys")[1]["keys"] if key["name"] == "Team")
    visitor.type("Current password", PASSWORD)
    visitor.type("New password", NEW_PASSWORD)
    visitor.block(f"*/api/v1/keys/{team['id']}")
    visitor.click("Change password")
    visitor.wait_for_text("the selected API keys could not be revoked")
    visitor.block()
    assert "You are signed out everywhere else." not in visitor.text()
    ticked = "[...document.querySelectorAll('input:checked')].map((it) => it.value).join()"
    visitor.wait_for(f"{ticked} === '{team['id']}'")
    assert names_of_keys(visitor) == ["Team", "Kept"]
    assert visitor.value("New password") == ""


def test_an_account_is_exported_and_deleted(visit, program, pictures):
    ada, bob = visit(program), visit(program)
    set_up(ada, program)
    sign_up(bob, "bob@example.com")
    make(bob, custom_code="tickets")
    for name in ("Press office", "Bob alone"):
        ask(bob, "POST", "/workspaces", {"name": name, "slug": name.lower().replace(" ", "-")})
    invitation = ask(bob, "POST", "/workspaces/1/invitations", {"role": "editor"})[1]["token"]
    assert ask(ada, "POST", "/invitations/accept", {"token": invitation})[0] == 200
    bob.visit("/app/account")
    exported = bob.evaluate(
        "fetch(document.querySelector('a[download]').href).then((answer) => answer.text())"
    )
    lines = [json.loads(line) for line in exported.splitlines()]
    assert {"account", "workspace", "link"} == {line["kind"] for line in lines}
    bob.click("Delete my account")
    bob.wait_for_text("You are the only owner of Press office")
    bob.type("Your current password", PASSWORD)
    assert bob.evaluate(f"{LAST_IN_DIALOG}.disabled") == "True"
    take(bob, pictures, "account-delete-blocked")
    members = ask(bob, "GET", "/workspaces/1/members")[1]["members"]
    (ada_id,) = [it["account_id"] for it in members if it["email"] == "ada@example.com"]
    assert ask(bob, "POST", "/workspaces/1/transfer", {"account_id": ada_id})[0] == 200
    bob.visit("/app/account")
    bob.click("Delete my account")
    bob.wait_for_text("You leave Press office.")
    bob.wait_for_text("You are the only member of Bob alone")
    bob.type("Your current password", "not this one")
    confirm(bob)
    bob.wait_for_text("The current password is incorrect.")
    bob.type("Your current password", PASSWORD)
    take(bob, pictures, "account-delete")
    confirm(bob)
    bob.wait_for("location.pathname === '/'")
    with program.client() as client:
        assert client.get("/tickets").status_code == 404
        signing_in = {"email": "bob@example.com", "password": PASSWORD}
        assert client.post("/api/v1/auth/sign-in", json=signing_in).status_code == 401
    slugs = {it["slug"] for it in ask(ada, "GET", "/admin/workspaces")[1]["workspaces"]}
    assert "press-office" in slugs


def make_keys(visitor: Visitor, **places: int | None) -> None:
    """By their names: for everything, or for the first workspace, which is made."""
    ask(visitor, "POST", "/workspaces", {"name": "Press office", "slug": "press"})
    for name, place in places.items():
        key = {"name": name, "scopes": ["links:read"], "workspace_id": place}
        assert ask(visitor, "POST", "/keys", key)[0] == 201


def names_of_keys(visitor: Visitor) -> list[str]:
    return [key["name"] for key in ask(visitor, "GET", "/keys")[1]["keys"]]


def open_reset(visitor: Visitor, program: Program) -> None:
    printed = program.run("admin", "reset-password", "ada@example.com")
    visitor.visit("/app/reset#" + printed.split("#")[1].split()[0])


def list_at_last(visitor: Visitor, pictures: Path) -> None:
    """The keys that stay, by a second try: the first list does not come."""
    visitor.block("*/api/v1/keys?*")
    visitor.click("Set password")
    visitor.wait_for_text("The list of these keys could not be loaded")
    take(visitor, pictures, "reset-unlisted", is_plain=True)
    visitor.block()
    visitor.click("Try again")
    visitor.wait_for_text("These API keys are for a single workspace")
    assert "could not be loaded" not in visitor.text()


def revoke_at_last(visitor: Visitor, name: str) -> None:
    """By a second try: it is told that the first one did not get through."""
    visitor.evaluate(
        "[...document.querySelectorAll('#keys label')]"
        f".find((it) => it.textContent.startsWith('{name}')).click()"
    )
    visitor.block("*/api/v1/keys/*")
    visitor.click("Continue")
    visitor.wait_for_text("These API keys could not be revoked.")
    visitor.block()
    visitor.click("Continue")


def test_links_that_work_once_lead_into_the_dashboard(start_program, environment, visit, pictures):
    program = start_program(**environment, KURZ_ACCESS="private")
    visitor = visit(program)
    visitor.visit(f"/app/setup#{program.set_up_token}")
    assert visitor.evaluate("location.hash") == ""
    visitor.picture(pictures / "setup.png")
    visitor.type("E-mail", "ada@example.com")
    visitor.type(PASSWORD_FIELD, "password")
    visitor.click("Create account")
    visitor.wait_for("!document.getElementById('problem').hidden")
    visitor.picture(pictures / "setup-refused.png")
    visitor.type(PASSWORD_FIELD, PASSWORD)
    visitor.block("*/auth/setup")
    visitor.click("Create account")
    visitor.wait_for_text("The server cannot be reached.")
    visitor.block()
    visitor.click("Create account")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.wait_for_text("No links yet")
    assert ask(visitor, "GET", "/me")[1]["is_admin"] is True

    make_keys(visitor, Mine=None, Kept=1, Team=1)
    open_reset(visitor, program)
    visitor.picture(pictures / "reset.png")
    visitor.type(PASSWORD_FIELD, "another horse battery")
    list_at_last(visitor, pictures)
    assert visitor.evaluate("document.querySelectorAll('#keys input:checked').length") == "0"
    take(visitor, pictures, "reset-keys", is_plain=True)
    revoke_at_last(visitor, "Team")
    visitor.wait_for("location.pathname === '/app/links'")
    assert names_of_keys(visitor) == ["Kept"]
    open_reset(visitor, program)
    visitor.type(PASSWORD_FIELD, NEW_PASSWORD)
    visitor.hold("/api/v1/auth/reset")
    visitor.click("Set password")
    visitor.wait_for_held()
    visitor.let_go(is_lost=True)
    visitor.wait_for_text("The server cannot be reached.")
    visitor.click("Set password")
    visitor.wait_for_text("The first attempt may have worked")
    take(visitor, pictures, "reset-perhaps", is_plain=True)
    assert visitor.evaluate("document.querySelector('#problem a').pathname") == "/app/sign-in"
    ada = {"email": "ada@example.com", "password": NEW_PASSWORD}
    assert ask(visitor, "POST", "/auth/sign-in", {**ada, "as_cookie": True})[0] == 200
    visitor.visit("/app/links")
    visitor.wait_for_text("No links yet")
    visitor.visit("/")
    visitor.wait_for_text("Your links")  # Home knows, too
