"""Pages in the language of their reader."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from kurz.redirect.answers import pages
from kurz.redirect.answers.languages import ENGLISH, GERMAN, language_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (b"", ENGLISH),
        (b"fr", ENGLISH),
        (b"de", GERMAN),
        (b"de-AT,de;q=0.9", GERMAN),
        (b"DE-ch", GERMAN),
        (b"en-GB,en;q=0.9,de;q=0.8", ENGLISH),
        (b"en;q=0.5, de;q=0.8", GERMAN),
        (b"fr,de;q=0.5", GERMAN),
        (b"de;q=0", ENGLISH),
        (b"den,enx", ENGLISH),
        (b"de;q=nan,\xff;;", ENGLISH),
    ],
)
def test_the_best_liked_language_that_there_is(accepted, language):
    assert language_of(accepted) == language


def made(language: str) -> dict[str, str]:
    """Every page that has another text in another language."""
    contact = "abuse@example.com"
    short_url = "https://go.example/aB3"
    found = {reason: pages.gone(reason, contact, "/app", language) for reason in pages.GONE_REASONS}
    found["missing"] = pages.missing(language)
    found["limited"] = pages.limited(language)
    found["unavailable"] = pages.unavailable(language)
    found["reported"] = pages.reported(None, language)
    found["unreported"] = pages.unreported("?", language)
    for act in pages.ONE_TIME_ACTS:
        found[act] = pages.one_time(act, language)
    for name, destination in (("known", "https://xn--bcher-kva.example/"), ("secret", None)):
        found[f"held {name}"] = pages.held(
            short_url=short_url, destination=destination, language=language
        )
        found[f"preview {name}"] = pages.preview(
            short_url=short_url,
            destination=destination,
            created_at=NOW - timedelta(days=3),
            expires_at=NOW + timedelta(seconds=5),
            now=NOW,
            is_held=True,
            contact=contact,
            language=language,
        )
    return {name: page.body.decode() for name, page in found.items()}


def test_a_page_is_the_same_in_both_but_for_its_words():
    english, german = made(ENGLISH), made(GERMAN)
    for name, page in english.items():
        other = german[name]
        assert '<html lang="en">' in page
        assert '<html lang="de">' in other
        assert re.findall(r"</?[a-z]+", page) == re.findall(r"</?[a-z]+", other), name
        words = set(re.findall(r">([^<>]{6,})<", page)) & set(re.findall(r">([^<>]{6,})<", other))
        assert [it for it in words if " " in it.strip() and "{" not in it] == [], name
        told = re.findall(r'data-(?:done|incomplete|problems)="([^"]+)"', page)
        assert not set(told) & set(re.findall(r'="([^"]+)"', other)), name


def test_the_set_up_page_says_what_to_do_about_an_address_with_an_account():
    german = made(GERMAN)
    assert "kurz admin promote" in german["setup"]
    assert "kurz admin promote" not in german["join"]


def test_spans_are_told_in_german():
    page = made(GERMAN)["preview known"]
    assert "vor 3 Tagen" in page
    assert "in weniger als einer Minute" in page
