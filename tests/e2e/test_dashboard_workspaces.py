"""People who work together at the dashboard: workspaces, members, domains."""

from collections.abc import Callable
from pathlib import Path

import pytest

from servers.dns import DnsServer
from support.clicks import wait_until
from support.dashboard import (
    LAST_IN_DIALOG,
    PASSWORD,
    PASSWORD_FIELD,
    ask,
    confirm,
    secret,
    sign_up,
    take,
)
from support.program import Program
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

PLACE = "Current workspace: "
LINK = {"original_url": "https://example.com/press/2026/annual-report"}


def begin(visitor: Visitor, name: str = "Press office") -> None:
    """Makes the first workspace as Ada."""
    sign_up(visitor)
    status, made = ask(
        visitor, "POST", "/workspaces", {"name": name, "slug": name.lower().replace(" ", "-")}
    )
    assert (status, made["id"]) == (201, 1)


def invite(visitor: Visitor, role: str) -> str:
    """Gives the path of a link that lets somebody in."""
    status, made = ask(visitor, "POST", "/workspaces/1/invitations", {"role": role})
    assert status == 201
    return str(made["url"]).removeprefix(visitor.origin)


def join(visitor: Visitor, path: str, email: str) -> None:
    visitor.visit(path)
    visitor.type("E-mail", email)
    visitor.type(PASSWORD_FIELD, PASSWORD)
    visitor.click("Join")
    visitor.wait_for("location.pathname === '/app/w/1/links'")


def test_a_workspace_is_made_and_somebody_joins_it(
    visit: Callable[[Program], Visitor], program: Program, pictures: Path
) -> None:
    ada, bob = visit(program), visit(program)
    sign_up(ada)
    ada.click(f"{PLACE}Personal")
    ada.click("New workspace…")
    ada.type("Name", "Büro für Öffentlichkeitsarbeit")
    assert ada.value("Short name for URLs") == "buero-fuer-oeffentlichkeitsarbeit"
    ada.type("Name", "Press office")
    ada.click("Random")
    take(ada, pictures, "workspace-new")
    ada.click("Create workspace")
    ada.wait_for("location.pathname === '/app/w/1/links'")
    ada.wait_for_text("Press office was created.")
    assert ask(ada, "GET", "/workspaces/1")[1]["strategy"] == "random"

    ada.visit("/app/w/1/members")
    ada.click("Invite")
    ada.wait_for_text("kurz does not send e-mail")
    take(ada, pictures, "invite")
    ada.click("Create link")
    ada.wait_for_text("Send this link to one person")
    link = secret(ada)
    take(ada, pictures, "invite-link")
    ada.click("Done")
    ada.wait_for_text("Open invitations")

    bob.visit(link.removeprefix(program.url))
    bob.picture(pictures / "join.png")
    join(bob, link.removeprefix(program.url), "bob@example.com")
    bob.wait_for_text("Press office")
    see_as_a_viewer(bob, pictures)

    ada.visit("/app/w/1/members")
    ada.choose("Role of bob@example.com", "editor")
    ada.wait_for_text("bob@example.com is now an editor.")
    take(ada, pictures, "members")
    assert ask(bob, "POST", "/workspaces/1/links", LINK)[0] == 201
    bob.visit("/app/w/1/members")
    bob.click(f"{PLACE}Press office")
    bob.wait_for("document.querySelector('[role=menu]')?.innerText.includes('Editor')")
    bob.picture(pictures / "place-menu.png")

    ada.click("Remove bob@example.com")
    take(ada, pictures, "member-remove")
    ada.click("Remove")
    ada.wait_for_text("bob@example.com was removed.")
    assert ask(bob, "GET", "/workspaces/1/links")[0] == 404


def test_who_was_invited_is_in_whatever_does_not_get_through_after(
    visit: Callable[[Program], Visitor], program: Program, pictures: Path
) -> None:
    """And is told in German what was wrong, where they read that."""
    ada, bob = visit(program), visit(program)
    begin(ada)
    link = invite(ada, "viewer")
    bob.prefer("light", "de")
    bob.visit(link)
    bob.type("E-Mail", "bob@example.com")
    bob.type("PasswortMindestens 8 Zeichen. Gern ein ganzer Satz.", "password")
    bob.click("Beitreten")
    bob.wait_for_text("Bitte ein anderes Passwort")
    bob.picture(pictures / "join-german.png")
    bob.type("PasswortMindestens 8 Zeichen. Gern ein ganzer Satz.", PASSWORD)
    bob.block("*/api/v1/workspaces")
    bob.click("Beitreten")
    bob.wait_for("location.pathname === '/app/links'")
    bob.block()
    assert [it["name"] for it in ask(bob, "GET", "/workspaces")[1]["workspaces"]] == [
        "Press office"
    ]
    bob.visit(link.partition("#")[0])
    bob.wait_for_text("Dieser Link ist unvollständig.")


def see_as_a_viewer(bob: Visitor, pictures: Path) -> None:
    """Nothing that could be changed, and who tries is refused."""
    refused, problem = ask(bob, "POST", "/workspaces/1/links", LINK)
    assert (refused, problem["type"]) == (403, "/api/problems/permission-missing")
    assert ask(bob, "POST", "/workspaces/1/invitations", {"role": "owner"})[0] == 403
    bob.visit("/app/w/1/members")
    bob.wait_for_text("ada@example.com")
    assert bob.evaluate("document.querySelector('main select') === null") == "True"
    assert "Invite" not in bob.text()
    bob.visit("/app/w/1/domains")
    bob.wait_for_text("Only owners of this workspace can add a domain.")
    assert "Add domain" not in bob.text()
    bob.visit("/app/w/1/settings")
    bob.wait_for_text("You are a viewer in this workspace.")
    assert "Save" not in bob.text()
    assert "Delete workspace" not in bob.text()
    take(bob, pictures, "settings-viewer")


def test_an_owner_hands_over_and_leaves(
    visit: Callable[[Program], Visitor], program: Program, pictures: Path
) -> None:
    ada, bob = visit(program), visit(program)
    begin(ada)
    sign_up(bob, "bob@example.com")
    bob.visit(invite(ada, "viewer"))
    bob.wait_for_text("You are signed in as bob@example.com")
    bob.picture(pictures / "join-signed-in.png")
    bob.click("Join")
    bob.wait_for("location.pathname === '/app/w/1/links'")

    ada.visit("/app/w/1/members")
    ada.click("Leave")
    ada.wait_for_text("Leave this workspace?")
    confirm(ada)
    ada.wait_for_text("This is the only owner.")
    ada.press("Escape")
    ada.wait_for("document.querySelector('[role=dialog]') === null")
    invite(ada, "editor")
    ada.visit("/app/w/1/members")
    ada.click("Revoke Editor invitation")
    ada.click("Revoke")
    ada.wait_for_text("The invitation was revoked.")
    assert ask(ada, "GET", "/workspaces/1/invitations")[1]["invitations"] == []

    ada.click("Transfer")
    ada.wait_for_text("bob@example.com becomes the owner")
    take(ada, pictures, "hand-over")
    confirm(ada)
    ada.wait_for_text("bob@example.com now owns this workspace.")
    ada.wait_for("document.querySelector('main select') === null")
    ada.click("Leave")
    ada.wait_for_text("Leave this workspace?")
    confirm(ada)
    ada.wait_for("location.pathname === '/app/links'")
    assert ask(ada, "GET", "/workspaces")[1]["workspaces"] == []
    assert [it["role"] for it in ask(bob, "GET", "/workspaces")[1]["workspaces"]] == ["owner"]


def test_a_workspace_is_changed_deleted_and_brought_back(visitor, program, pictures):
    admin = program.set_up("admin@example.com", PASSWORD)
    begin(visitor)
    with program.client(headers={"authorization": f"Bearer {admin}"}) as client:
        quota = {"links_per_month": 1000}
        assert client.put("/api/v1/admin/workspaces/1/quota", json=quota).status_code == 200
    items = [
        {"action": "create", "link": {"original_url": f"https://example.com/releases/{number}"}}
        for number in range(312)
    ]
    assert ask(visitor, "POST", "/workspaces/1/links/bulk", {"items": items})[0] == 200
    visitor.visit("/app/w/1/settings")
    visitor.wait_for_text("312 of 1,000 links this month")
    visitor.type("Name", "")
    visitor.click("Save")
    visitor.wait_for_text("Enter a name.")
    visitor.type("Name", "Press & media")
    visitor.type("Short name for URLs", "media")
    visitor.click("Counter")
    visitor.choose("Default expiry", "days")
    visitor.type("Days", "90")
    visitor.click("Save")
    visitor.wait_for_text("Saved.")
    changed = ask(visitor, "GET", "/workspaces/1")[1]
    wanted = {
        "name": "Press & media",
        "slug": "media",
        "strategy": "counter",
        "default_expiry_days": 90,
    }
    assert {name: changed[name] for name in wanted} == wanted
    keep_what_others_change(visitor)
    visitor.evaluate("scrollTo(0, 0)")  # else the bar of a phone lies over what is pressed
    take(visitor, pictures, "settings")

    visitor.click("Delete workspace")
    visitor.wait_for_text("To confirm, type the name")
    assert visitor.evaluate(f"{LAST_IN_DIALOG}.disabled") == "True"
    visitor.type("To confirm, type the name: Press & media", "Press & media")
    take(visitor, pictures, "workspace-delete")
    confirm(visitor)
    visitor.wait_for("location.pathname === '/app/links'")
    assert ask(visitor, "GET", "/workspaces/1")[0] == 404
    visitor.visit("/app/links")
    visitor.click(f"{PLACE}Personal")
    visitor.wait_for("document.querySelector('[role=menu]')?.innerText.includes('Restore')")
    visitor.picture(pictures / "place-menu-deleted.png")
    visitor.click("Restore Press & media")
    visitor.wait_for("location.pathname === '/app/w/1/links'")
    assert ask(visitor, "GET", "/workspaces/1")[0] == 200


def keep_what_others_change(visitor: Visitor) -> None:
    """Only what was typed here is saved, and it stays while the page hears of the rest."""
    visitor.type("Short name for URLs", "press")
    ask(visitor, "PATCH", "/workspaces/1", {"name": "Public relations", "strategy": "random"})
    visitor.grow_old()
    visitor.wait_for("document.querySelector('main h2').innerText === 'Public relations'")
    assert visitor.value("Short name for URLs") == "press"
    visitor.click("Save")
    # The button is disabled while the change is being saved, too.
    wait_until(lambda: ask(visitor, "GET", "/workspaces/1")[1]["slug"] == "press")
    changed = ask(visitor, "GET", "/workspaces/1")[1]
    found = [changed[name] for name in ("name", "slug", "strategy", "default_expiry_days")]
    assert found == ["Public relations", "press", "random", 90]
    ask(visitor, "PATCH", "/workspaces/1", {"name": "Press & media", "slug": "media"})
    visitor.visit("/app/w/1/settings")
    visitor.wait_for_text("312 of 1,000 links this month")


def test_a_domain_is_proved_step_by_step(start_program, environment, visit, pictures):
    with DnsServer() as dns:
        program = start_program(**environment, KURZ_DNS_SERVERS=dns.address)
        visitor = visit(program)
        begin(visitor)
        visitor.visit("/app/w/1/domains")
        visitor.wait_for_text("No domains yet")
        take(visitor, pictures, "domains-none")
        visitor.evaluate("document.querySelector('main button').click()")
        visitor.type("Domain", "127.0.0.1")
        visitor.click("Add")
        visitor.wait_for_text("This domain cannot be used.")
        take(visitor, pictures, "domain-add")
        visitor.type("Domain", "https://go.example.com/")
        visitor.click("Add")
        visitor.wait_for_text("Waiting for the DNS record")
        name, value = secret(visitor, 0), secret(visitor, 1)
        assert name == "_kurz.go.example.com"
        visitor.click("Copy record value")
        visitor.wait_for_text("Copied")
        assert visitor.clipboard() == value
        visitor.click("Verify now")
        visitor.wait_for_text("no TXT record with this value was found")
        take(visitor, pictures, "domain-steps")
        dns.put(name, value)
        visitor.click("Verify now")
        visitor.wait_for_text("Serves this workspace's links.")
        visitor.type("Destination URL", "https://www.example.com/")
        visitor.click("Save")
        visitor.wait_for_text("Saved.")
        with program.client() as client:
            front = client.get("/", headers={"host": "go.example.com"})
        assert (front.status_code, front.headers["location"]) == (302, "https://www.example.com/")
        take(visitor, pictures, "domains")
        visitor.click("Remove go.example.com")
        visitor.wait_for_text("Links on this domain stop working immediately.")
        take(visitor, pictures, "domain-remove")
        visitor.click("Remove")
        visitor.wait_for_text("No domains yet")
        assert ask(visitor, "GET", "/workspaces/1/domains")[1]["domains"] == []
