"""People at the dashboard, in a real browser: what they came for, and nothing else."""

import re
from pathlib import Path

import pytest

from support.dashboard import ADDRESS, PASSWORD, make, sign_out_elsewhere, sign_up, take
from support.visitor import Visitor

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def shorten(visitor: Visitor, address: str = ADDRESS) -> str:
    """Gives the short URL."""
    visitor.type("Destination URL", address)
    visitor.press("Enter")
    visitor.wait_for("document.querySelector('section[aria-label]') !== null")
    return visitor.evaluate("document.querySelector('section[aria-label] a').href")


def test_an_address_becomes_short_and_is_copied_with_one_key(visitor, program, pictures):
    visitor.visit("/")
    short_url = shorten(visitor, ADDRESS.removeprefix("https://"))
    assert short_url.startswith(program.url)
    assert visitor.evaluate("getSelection().toString()") == short_url.removeprefix("http://")
    visitor.press("Enter")
    visitor.wait_for_text("Copied")
    assert visitor.clipboard() == short_url
    assert re.search("Expires in (8 hours|7 h 5[89] min)", visitor.text())
    with program.client() as client:
        followed = client.get(short_url)
    assert (followed.status_code, followed.headers["location"]) == (302, ADDRESS)
    visitor.click("QR code")
    visitor.wait_for("document.querySelector('section svg[role=img]') !== null")
    take(visitor, pictures, "home")
    visitor.visit("/")
    visitor.wait_for_text("Your links in this browser")
    assert short_url.removeprefix("http://") in visitor.text()


def test_an_address_pasted_anywhere_is_shortened(visitor):
    visitor.visit("/")
    visitor.evaluate("document.activeElement.blur()")
    visitor.paste("not an address")
    assert visitor.value("Destination URL") == ""
    visitor.paste(ADDRESS)
    visitor.wait_for_text("Expires in")


def test_what_was_typed_stays_when_it_is_refused(visitor, program):
    visitor.visit("/")
    made = shorten(visitor)
    visitor.type("Destination URL", "javascript:alert(1)")
    visitor.press("Enter")
    visitor.wait_for_text("kurz cannot shorten this URL.")
    assert visitor.value("Destination URL") == "javascript:alert(1)"
    assert made.removeprefix("http://") in visitor.text()
    program.stop()
    visitor.type("Destination URL", ADDRESS)
    visitor.press("Enter")
    visitor.wait_for_text("The server cannot be reached.")
    assert visitor.value("Destination URL") == ADDRESS


def test_who_makes_too_many_is_told_when_to_go_on(start_program, environment, visit):
    program = start_program(**environment, KURZ_RATE_LIMITS="on")
    visitor = visit(program)
    visitor.visit("/")
    with program.client() as client:
        while client.post("/api/v1/links", json={"original_url": ADDRESS}).status_code == 201:
            pass
    visitor.type("Destination URL", ADDRESS)
    visitor.press("Enter")
    visitor.wait_for_text("Too many requests. Try again in")
    assert visitor.value("Destination URL") == ADDRESS


def test_a_private_server_asks_to_sign_in(start_program, environment, visit, pictures):
    visitor = visit(start_program(**environment, KURZ_ACCESS="private"))
    visitor.visit("/")
    assert "Short links for members." in visitor.text()
    assert visitor.evaluate("document.querySelector('input')") == "None"
    take(visitor, pictures, "home-private")
    visitor.visit("/app/sign-up")
    assert "You need an invitation" in visitor.text()


def test_links_are_claimed_by_a_click_and_never_without(visitor, pictures):
    visitor.visit("/")
    short_url = shorten(visitor)
    take_sign_up(visitor, pictures)
    sign_up(visitor)
    visitor.wait_for_text("No links yet")
    assert "You created a link in this browser" in visitor.text()
    visitor.click("Add link")
    visitor.wait_for_text("1 link was added to your account.")
    visitor.wait_for_text("/" + short_url.rpartition("/")[2])
    assert "You created a link in this browser" not in visitor.text()
    assert visitor.evaluate("localStorage.getItem('kurz.links')") == "None"
    visitor.click("Sign out")
    visitor.wait_for("location.pathname === '/'")
    visitor.wait_for_text("Sign in")
    assert "Your links in this browser" not in visitor.text()


def take_sign_up(visitor: Visitor, pictures: Path) -> None:
    visitor.visit("/app/sign-up")
    visitor.wait_for_text("This server has no administrator yet")
    take(visitor, pictures, "sign-up")


def test_a_page_is_found_again_after_signing_in(visitor, pictures):
    sign_up(visitor)
    visitor.click("Sign out")
    visitor.wait_for("location.pathname === '/'")
    visitor.visit("/app/links?status=PAUSED")
    visitor.wait_for_text("Welcome back.")
    visitor.type("E-mail", "ada@example.com")
    visitor.type("Password", "not this one")
    visitor.press("Enter")
    visitor.wait_for_text("The e-mail address or password is incorrect.")
    take(visitor, pictures, "sign-in")
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("location.pathname + location.search === '/app/links?status=PAUSED'")


def test_signing_in_leads_nowhere_else(visitor):
    sign_up(visitor)
    make(visitor, custom_code="bait")
    for address in ("https://evil.example", "/app/sign-in", "/app/../bait", "/app//../../bait"):
        visitor.visit(f"/app/sign-in?next={address}")  # who is signed in goes on at once
        visitor.wait_for("location.pathname === '/app/links'")
        visitor.click("Sign out")
        visitor.wait_for("location.pathname === '/'")
        visitor.visit(f"/app/sign-in?next={address}")
        visitor.type("E-mail", "ada@example.com")
        visitor.type("Password", PASSWORD)
        visitor.press("Enter")
        visitor.wait_for("location.pathname === '/app/links'")
        assert visitor.evaluate("location.origin") == visitor.origin


def test_links_are_found_while_one_types(visitor, pictures):
    sign_up(visitor)
    make(visitor, custom_code="winter", title="Winter sale", tags=["shop"])
    make(visitor, custom_code="report", title="Annual report", tags=["press"])
    make(visitor, custom_code="tickets", title="<img src=x onerror=alert(1)>", tags=["a<b>c"])
    visitor.visit("/app/links")
    visitor.wait_for_text("/report")
    take(visitor, pictures, "links")
    visitor.type("Search", "sale")
    visitor.wait_for("document.querySelectorAll('tbody tr').length === 1")
    assert "Winter sale" in visitor.text()
    assert visitor.evaluate("location.search") == "?search=sale"
    visitor.type("Search", "winter ")
    visitor.wait_for("location.search === '?search=winter'")
    visitor.settle()
    for letter in "sale":  # after a pause that was long enough for a search
        visitor.press(letter)
    visitor.wait_for("location.search === '?search=winter+sale'")
    assert visitor.value("Search") == "winter sale"
    visitor.type("Search", "nothing like that")
    visitor.wait_for_text("No matches")
    visitor.click("Show all links")
    visitor.wait_for("document.querySelectorAll('tbody tr').length === 3")
    assert visitor.value("Search") == ""
    assert "<img src=x onerror=alert(1)>" in visitor.text()


def test_whoever_is_signed_out_elsewhere_goes_on_where_they_were(visitor):
    sign_up(visitor)
    make(visitor, custom_code="winter")
    visitor.visit("/app/links")
    visitor.wait_for_text("/winter")
    sign_out_elsewhere(visitor)
    visitor.type("Search", "winter")
    visitor.wait_for_text("You have been signed out")
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("document.querySelector('[role=dialog]') === null")
    visitor.wait_for("document.querySelectorAll('tbody tr').length === 1")
    assert visitor.value("Search") == "winter"


def test_it_speaks_german_to_who_reads_german(visitor, pictures):
    visitor.prefer("light", "de-AT,de;q=0.9")
    visitor.visit("/")
    assert "Mach es kurz." in visitor.text()
    assert visitor.evaluate("document.documentElement.lang") == "de"
    visitor.picture(pictures / "home-german.png")
    visitor.click("EN English")
    visitor.wait_for_text("Shorten a link.")
    visitor.visit("/")
    assert "Shorten a link." in visitor.text()
