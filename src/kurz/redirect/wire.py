"""The bytes of answers: statuses, headers and bodies of everything a short link can lead to."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from kurz.errors import Kind, KurzError, MethodNotAllowed, StoreUnavailable, Unavailable, problem
from kurz.links.errors import LinkBanned, LinkExhausted, LinkExpired, LinkNotFound
from kurz.links.lifecycle import Outcome
from kurz.links.model import Link
from kurz.links.urls import merge_query
from kurz.people.errors import HostUnknown
from kurz.people.limits import TooManyRequests
from kurz.redirect import pages

PERMANENT_MAX_AGE_SECONDS = 60  # browsers may keep a 301 or 308 this long: an edit must get through

Headers = list[tuple[bytes, bytes]]


_STATUSES = {
    LinkNotFound: 404,
    LinkExpired: 410,
    LinkExhausted: 410,
    LinkBanned: 410,
    HostUnknown: 421,
    TooManyRequests: 429,
    StoreUnavailable: 503,
    MethodNotAllowed: 405,
}
_PROBLEMS = {
    Outcome.MISSING: LinkNotFound("There is no link here. Check the address for typing errors."),
    Outcome.EXPIRED: LinkExpired("This link has expired."),
    Outcome.EXHAUSTED: LinkExhausted("This link could be opened a limited number of times."),
    Outcome.BANNED: LinkBanned("This link was taken down."),
}
_PAGES: dict[type[KurzError], Callable[[], pages.Page]] = {
    LinkNotFound: pages.missing,
    LinkExpired: functools.partial(pages.gone, "expired"),
    LinkExhausted: functools.partial(pages.gone, "exhausted"),
    LinkBanned: functools.partial(pages.gone, "banned"),
    HostUnknown: pages.misdirected,
    TooManyRequests: pages.limited,
    StoreUnavailable: pages.unavailable,
}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Headers
    body: bytes = b""


def redirect(link: Link, query: str, now: datetime) -> Answer:
    """The redirect of a live link; `query` is the visitor's, for links that forward it."""
    location = merge_query(link.location, query) if link.forward_query and query else link.location
    keep_seconds = 0
    if link.redirect_status in (301, 308) and link.max_clicks is None:
        keep_seconds = PERMANENT_MAX_AGE_SECONDS
        if link.expires_at is not None:  # no browser may follow it after its end
            keep_seconds = min(keep_seconds, int((link.expires_at - now).total_seconds()))
    return redirect_to(location, link.redirect_status, keep_seconds)


def redirect_to(location: str, status: int = 302, keep_seconds: int = 0) -> Answer:
    caching = f"private, max-age={keep_seconds}" if keep_seconds > 0 else "no-store"
    headers = [(b"location", location.encode()), (b"cache-control", caching.encode())]
    return Answer(status, [*headers, (b"content-length", b"0")])


@functools.cache
def dead(outcome: Outcome, *, as_page: bool) -> Answer:
    return failure(_PROBLEMS[outcome], as_page=as_page)


def failure(error: KurzError, *, as_page: bool, allowed_methods: bytes = b"") -> Answer:
    """The error as a page for people or a problem for programs."""
    status = _STATUSES.get(type(error), 503 if error.kind is Kind.UNAVAILABLE else 500)
    extra: Headers = []
    if isinstance(error, Unavailable):
        extra.append((b"retry-after", str(error.retry_after_seconds).encode()))
    if isinstance(error, TooManyRequests):
        extra += [(name.encode(), value.encode()) for name, value in error.header_fields.items()]
    if allowed_methods:
        extra.append((b"allow", allowed_methods))
    if as_page and type(error) in _PAGES:
        return page(_PAGES[type(error)](), status, extra)
    body = json.dumps(problem(error, status), ensure_ascii=False).encode()
    return _whole(status, b"application/problem+json", body, extra)


def page(content: pages.Page, status: int = 200, extra: Headers | None = None) -> Answer:
    policy = (b"content-security-policy", content.csp.encode())
    return _whole(status, b"text/html; charset=utf-8", content.body, [policy, *(extra or [])])


def preview(
    link: Link, short_url: str, now: datetime, *, shows_destination: bool, as_page: bool
) -> Answer:
    destination = link.location if shows_destination else None
    if as_page:
        content = pages.preview(
            short_url=short_url,
            destination=destination,
            created_at=link.created_at,
            expires_at=link.expires_at,
            now=now,
        )
        return page(content)
    document = {
        "short_url": short_url,
        "original_url": destination,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat() if link.expires_at else None,
    }
    return _whole(200, b"application/json", json.dumps(document).encode(), [])


def file(content_type: bytes, body: bytes) -> Answer:
    """A small file that browsers may keep for a day."""
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"public, max-age=86400"),
    ]
    return Answer(200, headers, body)


def _whole(status: int, content_type: bytes, body: bytes, extra: Headers) -> Answer:
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept"),
        *extra,
    ]
    return Answer(status, headers, body)
