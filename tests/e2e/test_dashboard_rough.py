"""The dashboard where something is in the way: no connection, a newer version, a narrow window, an
address that is mistyped, old or not for one."""

import json

import pytest

from support.dashboard import PASSWORD, ask, find, make, sign_up
from support.visitor import Visitor

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

WIDTHS = (320, 360, 390, 900, 1024, 1100, 1280)
LONG = "https://example.com/" + "a" * 2040


def is_wider(visitor: Visitor) -> bool:
    return (
        visitor.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        == "True"
    )


def width_of(visitor, selector: str) -> float:
    return float(
        visitor.evaluate(
            f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().width"
        )
    )


def lines_of_expiry(visitor: Visitor) -> int:
    """How many lines "Expires in 24 hours" takes in the card of a link."""
    return round(
        float(
            visitor.evaluate(
                "(() => { const cell = document.querySelector('td[data-label]:has(time)');"
                " return cell.offsetHeight / parseFloat(getComputedStyle(cell).lineHeight); })()"
            )
        )
    )


def test_a_page_that_does_not_come_leaves_the_others_standing(visitor):
    sign_up(visitor)
    visitor.block("*/StatsPage*")
    visitor.click("Stats")
    visitor.wait_for_text("This page could not be loaded.")
    assert visitor.barriers() == []
    visitor.evaluate("history.back()")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.wait_for_text("New link")
    assert "could not be loaded" not in visitor.text()
    visitor.click("Stats")
    visitor.wait_for_text("This page could not be loaded.")
    visitor.block()
    visitor.click("Reload")
    visitor.wait_for("document.querySelector('h1')?.textContent === 'Stats'")


def test_without_a_connection_an_act_fails_at_once_and_is_not_done_later(visitor):
    sign_up(visitor)
    make(visitor, custom_code="winter", title="Winter sale")
    link = f"/links/{find(visitor, 'winter')['id']}"
    visitor.visit(f"/app{link}")
    visitor.wait_for_text("Winter sale")
    visitor.connect(is_there=False)
    visitor.click("Actions")
    visitor.click("Pause")
    visitor.wait_for_text("The server cannot be reached.")
    visitor.connect(is_there=True)
    visitor.evaluate("dispatchEvent(new Event('online'))")
    visitor.settle()
    assert ask(visitor, "GET", link)[1]["status"] == "ACTIVE"
    visitor.click("Actions")
    visitor.click("Pause")
    visitor.wait_for_text("This link is paused.")


def test_pages_fit_into_every_window_and_a_link_can_be_read(visitor, pictures):
    sign_up(visitor)
    make(visitor, custom_code="winter", title="Winter sale", expires_in=86_400)
    make(visitor, custom_code="a-rather-long-alias-for-a-campaign", tags=["newsletter", "autumn"])
    make(visitor, custom_code="gone")
    assert ask(visitor, "DELETE", f"/links/{find(visitor, 'gone')['id']}")[0] == 204
    link = f"/links/{find(visitor, 'winter')['id']}"
    for language in ("de", "en"):
        visitor.evaluate(f"localStorage.setItem('kurz.language', '{language}')")
        for page in ("/links", "/trash", link, "/stats"):
            visitor.visit(f"/app{page}")
            visitor.wait_for("document.querySelector('main h1') !== null")
            visitor.settle()
            for width in WIDTHS:
                visitor.resize(width, 800)
                name = f"{page.strip('/').replace('/', '-')}-{width}-{language}"
                visitor.picture(pictures / f"{name}.png")
                assert not is_wider(visitor), name
                if page in ("/links", "/trash"):
                    assert width_of(visitor, "tbody td:has(.mono)") >= 200, name
                if page == "/links" and width < 600:
                    assert lines_of_expiry(visitor) == 1, name


def test_who_is_signed_in_needs_no_form(visitor):
    sign_up(visitor)
    visitor.visit("/app/sign-in?next=/app/trash")
    visitor.wait_for("location.pathname === '/app/trash'")
    visitor.visit("/app/sign-up")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.visit("/app/w/9/links")
    visitor.wait_for_text("You are not a member of this workspace")
    visitor.visit("/app/w/9/stats")
    visitor.wait_for_text("You are not a member of this workspace")
    visitor.click("Go to your links")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.visit("/app/account")
    visitor.click("Delete my account")
    visitor.type("Your current password", PASSWORD + "?")
    visitor.click("Delete my account")
    visitor.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    assert "e-mail" not in visitor.evaluate(
        "document.querySelector('[role=dialog] [role=alert]').textContent"
    )


def test_why_an_address_is_refused_is_said_in_both_places_and_languages(visitor):
    reasons = {
        LONG: ("This URL is too long", "Diese Adresse ist zu lang"),
        "https://ada@example.com/": ("contains a user name", "enthält einen Benutzernamen"),
        f"{visitor.origin}/x": ("leads back to this server", "zu diesem Server zurück"),
        "https://exa mple.com/": ("contains a space", "enthält ein Leerzeichen"),
        "https://0x7f.1/": ("in its usual form", "in der üblichen Form"),
        "https://a..example/": ("This host name is not valid", "Dieser Hostname ist ungültig"),
        "ftp://example.com/": ("Enter a full web address", "eine vollständige Webadresse"),
    }
    sign_up(visitor)
    for path in ("/", "/app/links"):
        for at, language in enumerate(("en", "de")):
            visitor.evaluate(f"localStorage.setItem('kurz.language', '{language}')")
            visitor.visit(path)
            if path != "/":
                visitor.click(("New link", "Neuer Link")[at])
            for address, sentences in reasons.items():
                visitor.type(("Destination URL", "Zieladresse")[at], address)
                visitor.press("Enter")
                visitor.wait_for_text(sentences[at])
