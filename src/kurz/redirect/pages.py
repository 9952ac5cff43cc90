"""The pages that visitors of a short link see: no link, a dead link, a preview, the front page.

Each is whole in itself, without scripts or files, so that it also works on a custom domain.
"""

import functools
import re
from base64 import b64encode
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

GONE_REASONS = frozenset({"expired", "exhausted", "banned"})

_TEMPLATES = Path(__file__).parent / "templates"
_UNITS = {
    "year": timedelta(days=365),
    "month": timedelta(days=30),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
}
# Anything else (a script, a user name that looks like a host) is shown, but never made a link.
_WEB_URL = re.compile(r"(https?://)([^/?#@\\]+)((?:[/?#].*)?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """HTML in UTF-8, and the Content-Security-Policy it needs."""

    body: bytes
    csp: str


@functools.cache
def missing() -> Page:
    return _render("missing.html")


@functools.cache
def gone(reason: str) -> Page:
    if reason not in GONE_REASONS:
        raise ValueError(f"no page says that a link is {reason!r}")
    return _render(f"{reason}.html")


@functools.cache
def unavailable() -> Page:
    return _render("unavailable.html")


@functools.cache
def limited() -> Page:
    return _render("limited.html")


@functools.cache
def misdirected() -> Page:
    return _render("misdirected.html")


def preview(
    *,
    short_url: str,
    destination: str | None,
    created_at: datetime,
    expires_at: datetime | None,
    now: datetime,
) -> Page:
    """What a link leads to. `destination` None: the link is limited and does not tell."""
    parts = _WEB_URL.fullmatch(destination or "")
    return _render(
        "preview.html",
        short_url=short_url,
        destination=destination,
        parts=parts.groups() if parts else None,
        made=_Moment(created_at, _ago(now - created_at)),
        expires=_Moment(expires_at, _ahead(expires_at - now)) if expires_at else None,
    )


@dataclass(frozen=True, slots=True)
class _OneTime:
    heading: str
    text: str
    button: str
    done: str
    asks_email: bool


_ONE_TIME = {
    "setup": _OneTime(
        heading="Set up kurz.",
        text="Make the first administrator's account.",
        button="Make the account",
        done="Done. Your account is ready: you are the administrator.",
        asks_email=True,
    ),
    "reset": _OneTime(
        heading="A new password.",
        text="Choose a password with at least 8 characters. It ends every session you have.",
        button="Set the password",
        done="Done. Sign in with your new password from now on.",
        asks_email=False,
    ),
    "join": _OneTime(
        heading="You are invited.",
        text="Make an account to follow the invitation, or use the one you have.",
        button="Join",
        done="Done. You are in.",
        asks_email=True,
    ),
}


ONE_TIME_ACTS = frozenset(_ONE_TIME)


@functools.cache
def one_time(act: str) -> Page:
    """The page that a one-time link leads to."""
    page = _render("one_time.html", act=act, **asdict(_ONE_TIME[act]))
    return Page(page.body, page.csp + "; script-src 'self'; connect-src 'self'")


def home(*, base_url: str, is_public: bool = True) -> Page:
    return _render("home.html", base_url=base_url.rstrip("/"), is_public=is_public)


def _render(template: str, **values: object) -> Page:
    html = _environment().get_template(template).render(values)
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
    return re.sub(r"\s*\n\s*", "", (_TEMPLATES / "style.css").read_text("utf-8"))


@functools.cache
def _policy() -> str:
    digest = b64encode(sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class _Moment:
    """An instant as the reader meets it: relative in words, exact on hover."""

    def __init__(self, instant: datetime, words: str) -> None:
        utc = instant.astimezone(UTC)
        self.words = words
        self.exact = f"{utc:%Y-%m-%d %H:%M} UTC"
        self.iso = f"{utc:%Y-%m-%dT%H:%MZ}"


def _ago(age: timedelta) -> str:
    words = _largest_unit(age)
    return f"{words} ago" if words else "just now"


def _ahead(wait: timedelta) -> str:
    return f"in {_largest_unit(wait) or 'less than a minute'}"


def _largest_unit(span: timedelta) -> str | None:
    """The span in whole units of the largest that fits ("3 days"), None below a minute."""
    for name, length in _UNITS.items():
        if count := max(span, timedelta()) // length:
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    return None
