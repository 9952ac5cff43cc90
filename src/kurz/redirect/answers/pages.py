"""The pages that visitors of a short link see: not found, gone, a preview, the home page.

Each page is self-contained, without scripts or files, so that it also works on a custom domain.
"""

import functools
import json
import re
from base64 import b64encode
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kurz.redirect.answers import one_time as one_time_words
from kurz.redirect.answers.languages import ENGLISH, GERMAN

# The values are those of `safety.abuse_reports.Category`.
CATEGORIES = {
    ENGLISH: {
        "phishing": "It steals passwords or money",
        "malware": "It contains malware",
        "spam": "It is spam",
        "illegal": "It is illegal",
        "other": "Something else",
    },
    GERMAN: {
        "phishing": "Er stiehlt Passwörter oder Geld",
        "malware": "Er enthält Schadsoftware",
        "spam": "Er ist Spam",
        "illegal": "Er ist illegal",
        "other": "Etwas anderes",
    },
}
GONE_REASONS = frozenset({"expired", "exhausted", "banned"})

_TEMPLATES = Path(__file__).parent / "templates"
_LENGTHS = (
    timedelta(days=365),
    timedelta(days=30),
    timedelta(days=1),
    timedelta(hours=1),
    timedelta(minutes=1),
)
_EMAIL = re.compile(r"[^@\s:/?&]+@[^@\s:/?&]+\.[^@\s:/?&]+")
# Anything else (a script, a user name that looks like a host) is shown, but never as a link.
_WEB_URL = re.compile(r"(https?://)([^/?#@\\]+)((?:[/?#].*)?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """HTML in UTF-8, and the Content-Security-Policy it needs."""

    body: bytes
    csp: str


@functools.cache
def missing(language: str = ENGLISH) -> Page:
    return _render("missing.html", language)


@functools.cache
def gone(
    reason: str,
    contact: str | None = None,
    dashboard: str | None = None,
    language: str = ENGLISH,
) -> Page:
    """`contact`: whom to ask about a link that was taken down. `dashboard`: where people restore
    their own links."""
    if reason not in GONE_REASONS:
        raise ValueError(f"no page says that a link is {reason!r}")
    return _render(f"{reason}.html", language, contact=_contact(contact), dashboard=dashboard)


@functools.cache
def reported(contact: str | None = None, language: str = ENGLISH) -> Page:
    return _render("reported.html", language, contact=_contact(contact))


def unreported(why: str, language: str = ENGLISH) -> Page:
    return _render("unreported.html", language, why=why.replace("`", ""))


@functools.cache
def unavailable(language: str = ENGLISH) -> Page:
    return _render("unavailable.html", language)


@functools.cache
def limited(language: str = ENGLISH) -> Page:
    return _render("limited.html", language)


@functools.cache
def misdirected(_language: str = ENGLISH) -> Page:
    """In English only: it is for the operator of the server."""
    return _render("misdirected.html")


def preview(
    *,
    short_url: str,
    destination: str | None,
    created_at: datetime,
    expires_at: datetime | None,
    now: datetime,
    is_held: bool = False,
    contact: str | None = None,
    language: str = ENGLISH,
) -> Page:
    """Where a link leads, and a form to report it. `destination` is None if the link has a click
    limit, because then the page does not show it."""
    parts = _WEB_URL.fullmatch(destination or "")
    page = _render(
        "preview.html",
        language,
        is_held=is_held,
        short_url=short_url,
        destination=destination,
        parts=parts.groups() if parts else None,
        made=_Moment(created_at, _ago(now - created_at, language)),
        expires=_Moment(expires_at, _ahead(expires_at - now, language)) if expires_at else None,
        categories=CATEGORIES[language],
        contact=_contact(contact),
    )
    return Page(page.body, page.csp.replace("form-action 'none'", "form-action 'self'"))


def held(*, short_url: str, destination: str | None, language: str = ENGLISH) -> Page:
    """A warning: the destination could not be screened yet. `destination` as in `preview`."""
    parts = _WEB_URL.fullmatch(destination or "")
    return _render(
        "held.html",
        language,
        short_url=short_url,
        destination=destination,
        parts=parts.groups() if parts else None,
    )


ONE_TIME_ACTS = frozenset(one_time_words.WORDS[ENGLISH])


@functools.cache
def one_time(act: str, language: str = ENGLISH) -> Page:
    """The page that a one-time link opens."""
    words = asdict(one_time_words.WORDS[language][act])
    sentences = one_time_words.PROBLEMS[language]
    if act == "setup":
        sentences = sentences | one_time_words.SET_UP_PROBLEMS[language]
    problems = json.dumps(sentences, ensure_ascii=False)
    page = _render("one_time.html", language, act=act, problems=problems, **words)
    return Page(page.body, page.csp + "; script-src 'self'; connect-src 'self'")


def home(*, base_url: str, is_public: bool = True) -> Page:
    return _render("home.html", base_url=base_url.rstrip("/"), is_public=is_public)


def _render(template: str, language: str = ENGLISH, **values: object) -> Page:
    folder = "" if language == ENGLISH else f"{language}/"
    html = _environment().get_template(folder + template).render(values, language=language)
    return Page(html.encode(errors="replace"), _policy())


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    icon = (_TEMPLATES / "icon.svg").read_text("utf-8").strip()
    environment.globals["icon"] = "data:image/svg+xml," + quote(icon, safe=" /:='(),")
    environment.globals["style"] = Markup(_style())  # noqa: S704 our own file
    return environment


@functools.cache
def _style() -> str:
    text = re.sub(r"\s*\n\s*", "", (_TEMPLATES / "style.css").read_text("utf-8"))
    return re.sub(r" (?={)|(?<=[:;,{]) ", "", text)


@functools.cache
def _policy() -> str:
    digest = b64encode(sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@dataclass(frozen=True, slots=True)
class _Contact:
    text: str
    href: str | None


def _contact(text: str | None) -> _Contact | None:
    if text is None:
        return None
    if _EMAIL.fullmatch(text):
        return _Contact(text, f"mailto:{text}")
    return _Contact(text, text if _WEB_URL.fullmatch(text) and " " not in text else None)


class _Moment:
    """An instant as shown to the reader: relative in words, exact on hover."""

    def __init__(self, instant: datetime, words: str) -> None:
        utc = instant.astimezone(UTC)
        self.words = words
        self.exact = f"{utc:%Y-%m-%d %H:%M} UTC"
        self.iso = f"{utc:%Y-%m-%dT%H:%MZ}"


@dataclass(frozen=True, slots=True)
class _Spans:
    """A language's words for time spans: singular and plural units, in the order of `_LENGTHS`."""

    units: tuple[tuple[str, str], ...]
    ago: str
    just_now: str
    ahead: str
    soon: str


_SPANS = {
    ENGLISH: _Spans(
        tuple((unit, f"{unit}s") for unit in ("year", "month", "day", "hour", "minute")),
        ago="{} ago",
        just_now="just now",
        ahead="in {}",
        soon="in less than a minute",
    ),
    GERMAN: _Spans(
        (
            ("Jahr", "Jahren"),
            ("Monat", "Monaten"),
            ("Tag", "Tagen"),
            ("Stunde", "Stunden"),
            ("Minute", "Minuten"),
        ),
        ago="vor {}",
        just_now="gerade eben",
        ahead="in {}",
        soon="in weniger als einer Minute",
    ),
}


def _ago(age: timedelta, language: str = ENGLISH) -> str:
    words, spans = _largest_unit(age, language), _SPANS[language]
    return spans.ago.format(words) if words else spans.just_now


def _ahead(wait: timedelta, language: str = ENGLISH) -> str:
    words, spans = _largest_unit(wait, language), _SPANS[language]
    return spans.ahead.format(words) if words else spans.soon


def _largest_unit(span: timedelta, language: str) -> str | None:
    """The span in whole units of the largest one that fits ("3 days"); None below a minute."""
    for (one, several), length in zip(_SPANS[language].units, _LENGTHS, strict=True):
        if count := max(span, timedelta()) // length:
            return f"{count} {one if count == 1 else several}"
    return None
