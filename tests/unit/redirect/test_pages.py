"""The pages that visitors of a short link see."""

import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from kurz.redirect.answers import pages
from kurz.safety.abuse_reports import Category

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
DESTINATION = "https://docs.example.com/guides/start?lang=en&step=2#install"
MAX_BYTES = 7 * 1024
MAX_FORM_BYTES = 8 * 1024


def preview(
    destination: str | None = DESTINATION,
    *,
    age: timedelta = timedelta(days=3),
    left: timedelta | None = None,
    short_url: str = "https://kurz.example/aB3xK9z",
) -> pages.Page:
    return pages.preview(
        short_url=short_url,
        destination=destination,
        created_at=NOW - age,
        expires_at=None if left is None else NOW + left,
        now=NOW,
    )


PAGES = {
    "missing": pages.missing(),
    "expired": pages.gone("expired"),
    "exhausted": pages.gone("exhausted"),
    "banned": pages.gone("banned"),
    "reported": pages.reported(),
    "unreported": pages.unreported("The form can have at most 10 fields."),
    "unavailable": pages.unavailable(),
    "misdirected": pages.misdirected(),
    "preview": preview(left=timedelta(days=5)),
    "limited preview": preview(None),
    "home": pages.home(base_url="https://kurz.example/"),
}
every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())

Attributes = dict[str, str]


class Reading(HTMLParser):
    """A page as a browser would take it apart: its elements, and the text within each kind."""

    def __init__(self, page: pages.Page) -> None:
        super().__init__()
        self.elements: list[tuple[str, Attributes]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(page.body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "link", "input"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag] = self.texts.get(tag, "") + data

    def all(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.elements if name == tag]


@every_page
def test_every_page_has_a_language_a_title_and_one_heading(page):
    reading = Reading(page)
    assert reading.all("html") == [{"lang": "en"}]
    assert reading.texts["title"].endswith(" · kurz")
    assert len(reading.all("main")) == len(reading.all("h1")) == 1
    assert reading.texts["h1"].strip()


@every_page
def test_every_page_stays_out_of_search_engines_and_fits_a_phone(page):
    metas = {meta.get("name"): meta.get("content") for meta in Reading(page).all("meta")}
    assert metas["robots"] == "noindex"
    assert metas["viewport"] == "width=device-width, initial-scale=1"


@every_page
def test_every_page_is_small(page):
    assert len(page.body) < (MAX_FORM_BYTES if b"<form" in page.body else MAX_BYTES)


@every_page
def test_the_policy_allows_exactly_the_style_of_the_page_and_its_form(page):
    reading = Reading(page)
    style = reading.texts["style"]
    forms = "self" if reading.all("form") else "none"
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert page.csp == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        f"base-uri 'none'; form-action '{forms}'; frame-ancestors 'none'"
    )


@every_page
def test_no_page_runs_a_script_or_loads_anything(page):
    reading = Reading(page)
    names = {name for name, _ in reading.elements}
    assert not names & {"script", "img", "iframe", "object", "embed", "base", "use"}
    for _, attributes in reading.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert "src" not in attributes
    assert [link["href"][:19] for link in reading.all("link")] == ["data:image/svg+xml,"]
    assert not re.search(r"url\(|@import", reading.texts["style"])


@pytest.mark.parametrize(
    "name", ["missing", "expired", "exhausted", "banned", "misdirected", "reported"]
)
def test_an_error_page_links_nowhere_because_a_custom_domain_may_show_it(name):
    assert Reading(PAGES[name]).all("a") == []


def test_the_page_for_an_outage_offers_the_same_address_again():
    assert [link["href"] for link in Reading(pages.unavailable()).all("a")] == [""]


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("missing", "Link not found."),
        ("expired", "This link has expired."),
        ("exhausted", "This link has reached its click limit."),
        ("banned", "This link was taken down."),
        ("reported", "Thank you for your report."),
        ("unavailable", "This link cannot be looked up right now."),
        ("misdirected", "Unknown host name."),
        ("home", "Shorten a link."),
    ],
)
def test_the_heading_says_what_happened(name, heading):
    assert Reading(PAGES[name]).texts["h1"] == heading


def test_a_dead_link_is_answered_from_the_same_bytes_every_time():
    assert pages.missing() is pages.missing()
    assert pages.gone("expired") is pages.gone("expired")
    assert pages.unavailable() is pages.unavailable()
    assert pages.misdirected() is pages.misdirected()


def test_a_link_is_gone_only_for_a_known_reason():
    with pytest.raises(ValueError, match="tired"):
        pages.gone("tired")


def test_a_preview_shows_the_host_large_and_the_whole_url_and_links_to_it():
    reading = Reading(preview())
    assert reading.texts["h1"] == "kurz.example/aB3xK9z leads to docs.example.com"
    assert DESTINATION in reading.texts["p"]
    assert reading.texts["b"] == "docs.example.com"
    assert reading.all("a") == [
        {"class": "go", "href": DESTINATION, "rel": "noopener noreferrer nofollow"}
    ]


def test_the_preview_of_a_limited_link_keeps_its_destination_to_itself():
    reading = Reading(preview(None))
    assert "has a click limit" in reading.texts["h1"]
    assert "destination is not shown" in reading.texts["p"]
    assert reading.all("a") == []


def test_a_preview_has_a_form_for_reports_that_goes_to_itself():
    reading = Reading(preview())
    assert reading.all("form") == [{"method": "post", "action": "./aB3xK9z+"}]
    values = [it["value"] for it in reading.all("input") if it["name"] == "category"]
    assert values == [*Category]
    assert Reading(preview(short_url="https://kurz.example/@team/x")).all("form") == [
        {"method": "post", "action": "./x+"}
    ]


@pytest.mark.parametrize(
    ("contact", "href"),
    [
        ("abuse@example.com", "mailto:abuse@example.com"),
        ("https://example.com/abuse", "https://example.com/abuse"),
        ("the porter, room 12", None),
        ("javascript:alert(1)", None),
        ("a@b.example?subject=x", None),
    ],
)
def test_whom_to_ask_is_told_on_the_page_of_a_link_that_was_taken_down(contact, href):
    for page in (pages.gone("banned", contact), pages.reported(contact)):
        reading = Reading(page)
        assert contact in reading.texts["main"]
        assert [link["href"] for link in reading.all("a")] == ([] if href is None else [href])


def test_a_preview_points_out_letters_that_may_deceive():
    assert "contains special letters" in Reading(preview("https://xn--pple-43d.com/")).texts["p"]
    assert "contains special letters" not in Reading(preview()).texts["p"]


@pytest.mark.parametrize(
    "destination",
    [
        'https://example.com/"><script>alert(1)</script>',
        "https://example.com/' onmouseover='alert(1)",
        'https://"onfocus="alert(1)"autofocus="/',
        "https://example.com/</style></title></main><script>alert(1)</script>",
        "https://example.com/{{ 7 * 7 }}{% raw %}",
        "https://example.com/&lt;script&gt;",
    ],
)
def test_a_hostile_destination_is_shown_and_nothing_more(destination):
    reading = Reading(preview(destination))
    assert destination in reading.texts["p"]
    assert [link["href"] for link in reading.all("a")] == [destination]
    assert {name for name, _ in reading.elements} == {
        name for name, _ in Reading(preview()).elements
    }


@pytest.mark.parametrize(
    "destination",
    [
        "javascript:alert(1)",
        "JavaScript://example.com/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "https://bank.example@evil.example/",
        "https://evil.example\\@bank.example/",
        "//evil.example/",
        "https://",
        "",
        "\ud800",
    ],
)
def test_what_is_no_plain_web_address_is_never_made_a_link(destination):
    reading = Reading(preview(destination))
    assert reading.all("a") == []
    assert reading.all("script") == []


def test_names_from_the_request_are_escaped_too():
    hostile = 'https://kurz.example"><script>alert(1)</script>'
    for page in (preview(short_url=hostile), pages.home(base_url=hostile)):
        assert Reading(page).all("script") == []


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(days=1, hours=12), "1 day ago"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=30), "1 month ago"),
        (timedelta(days=364), "12 months ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_the_age_of_a_link_is_told_in_words(age, words):
    assert Reading(preview(age=age)).texts["time"] == words


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(seconds=20), "in less than a minute"),
        (timedelta(hours=7, minutes=58), "in 7 hours"),
        (timedelta(days=1), "in 1 day"),
        (timedelta(days=90), "in 3 months"),
    ],
)
def test_a_link_that_expires_says_when(left, words):
    reading = Reading(preview(age=timedelta(), left=left))
    assert reading.texts["time"] == f"just now{words}"
    assert "Expires" in reading.texts["dt"]


def test_a_link_that_never_expires_does_not_mention_it():
    assert Reading(preview()).texts["dt"] == "Created"


def test_the_exact_instant_stands_behind_the_words_in_utc():
    exact, machine = "2026-03-11 12:00 UTC", "2026-03-11T12:00Z"
    assert Reading(preview()).all("time") == [{"datetime": machine, "title": exact}]


def test_the_front_page_shows_a_command_that_shortens_here():
    reading = Reading(pages.home(base_url="https://kurz.example/"))
    assert reading.texts["b"] == "curl -d https://example.com/a/long/address https://kurz.example"
    assert [link["href"] for link in reading.all("a")] == ["/api/docs"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_themes(theme):
    style = Reading(pages.missing()).texts["style"]
    light, dark = (
        dict(re.findall(r"--([a-z-]+):(#\w+)", root))
        for root in re.findall(r":root\{(.*?)\}", style)
    )
    colours = light if theme == "light" else light | dark
    for text in ("ink", "soft", "accent-ink"):
        for ground in ("page", "surface"):
            assert contrast(colours[text], colours[ground]) >= 4.5
    assert contrast("#14171c", colours["accent"]) >= 4.5
    assert contrast(colours["accent"], colours["page"]) >= 3


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as WCAG 2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
