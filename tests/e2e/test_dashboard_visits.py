"""From the first paste to the first click, and what visitors of links meet, in a real browser."""

import time

import pytest

from support.dashboard import ADDRESS, sign_up, take

# A browser does not meet the engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"


def test_a_link_made_without_an_account_is_kept_and_its_clicks_are_seen(visitor, program):
    visitor.visit("/")
    visitor.type("Destination URL", ADDRESS)
    visitor.press("Enter")
    visitor.wait_for_text("Expires in")
    visitor.press("Enter")
    visitor.wait_for_text("Copied")
    short_url = visitor.clipboard()
    sign_up(visitor)
    visitor.click("Add link")
    visitor.wait_for_text("1 link was added to your account.")
    path = short_url.removeprefix(program.url)
    visitor.click(path)
    visitor.wait_for_text("Share the link. Clicks appear here within seconds.")
    with program.client(follow_redirects=False) as client:
        assert client.get(path, headers={"user-agent": FIREFOX}).headers["location"] == ADDRESS
    visitor.wait_for_text("Latest clicks")
    assert "Firefox" in visitor.text()
    assert "Never" in visitor.text()  # it lives on


def test_visitors_of_links_meet_pages_of_the_same_family(visitor, program, pictures):
    with program.client() as client:
        made = [
            client.post("/api/v1/links", json={"original_url": ADDRESS, "expires_in": seconds})
            for seconds in (1, 3600)
        ]
    expired, alive = (answer.json()["short_code"] for answer in made)
    time.sleep(1.1)
    visitor.visit(f"/{expired}")
    visitor.wait_for_text("This link has expired")
    take(visitor, pictures, "expired", is_plain=True)
    visitor.click("Sign in to restore it")
    visitor.wait_for("location.pathname === '/app/sign-in'")
    visitor.visit("/nobody-made-this")
    visitor.wait_for_text("Link not found")
    take(visitor, pictures, "missing", is_plain=True)
    visitor.visit(f"/{alive}+")
    visitor.wait_for_text("leads to")
    take(visitor, pictures, "preview", is_plain=True)
    visitor.click("Report this link")
    visitor.tick("It steals passwords or money")
    visitor.click("Send report")
    visitor.wait_for_text("Thank you")
    take(visitor, pictures, "reported", is_plain=True)
    visitor.prefer("light", "de-AT,de;q=0.9")
    visitor.visit(f"/{expired}")
    visitor.wait_for_text("abgelaufen")
    assert visitor.evaluate("document.documentElement.lang") == "de"
