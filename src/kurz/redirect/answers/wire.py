"""The bytes of answers: statuses, headers and bodies of everything a short link can lead to."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from kurz.clock import from_micros, from_micros_or_none
from kurz.errors import Kind, KurzError, MethodNotAllowed, StoreUnavailable, Unavailable, problem
from kurz.headers import POLICY, SECURITY_HEADERS, STRICTEST_POLICY
from kurz.links.errors import (
    FieldRefused,
    LinkBanned,
    LinkExhausted,
    LinkExpired,
    LinkHeld,
    LinkNotFound,
)
from kurz.links.fields import REDIRECT_STATUSES
from kurz.links.lifecycle import Outcome
from kurz.links.urls import merge_query
from kurz.people.errors import HostUnclear, HostUnknown, RequestForged
from kurz.people.limits import TooManyRequests
from kurz.redirect.answers import pages
from kurz.redirect.answers.languages import ENGLISH, GERMAN
from kurz.redirect.answers.report_form import FormRefused
from kurz.redirect.entry import END, KEEP_MICROS, PERMANENT, SECOND, Entry

Headers = list[tuple[bytes, bytes]]
# The same URL answers programs with a problem, and people with a page in their language.
BY_READER = b"accept, accept-language"


_STATUSES = {
    LinkNotFound: 404,
    LinkExpired: 410,
    LinkExhausted: 410,
    LinkBanned: 410,
    LinkHeld: 403,
    HostUnclear: 400,
    HostUnknown: 421,
    TooManyRequests: 429,
    StoreUnavailable: 503,
    MethodNotAllowed: 405,
    FormRefused: 400,
    FieldRefused: 422,
    RequestForged: 403,
}
_PROBLEMS = {
    Outcome.MISSING: LinkNotFound("There is no link at this address. Check it for typos."),
    Outcome.EXPIRED: LinkExpired("This link has expired."),
    Outcome.EXHAUSTED: LinkExhausted("This link has reached its click limit."),
    Outcome.BANNED: LinkBanned("This link was taken down."),
}
_PAGES: dict[type[KurzError], Callable[[str], pages.Page]] = {
    LinkNotFound: pages.missing,
    LinkExhausted: lambda language: pages.gone("exhausted", language=language),
    LinkBanned: lambda language: pages.gone("banned", language=language),
    HostUnknown: pages.misdirected,
    TooManyRequests: pages.limited,
    StoreUnavailable: pages.unavailable,
}
# In German; in English the error's own text is used.
_UNREPORTED: dict[type[KurzError], str] = {
    FieldRefused: "Eine Angabe fehlt oder ist zu lang.",
    FormRefused: "Das Formular kam nicht ganz an oder ist zu groß.",
    RequestForged: "Das Formular kam von der Seite eines anderen Servers.",
    TooManyRequests: "Aus diesem Netz kamen gerade viele Meldungen. Bitte später noch einmal.",
}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Headers
    body: bytes = b""


def redirect(entry: Entry, query: str, now: int) -> Answer:
    """The redirect of a live link; `query` is the visitor's, for links that forward it."""
    location = entry.location
    if entry.forward_query and query:
        location = merge_query(location, query)
    keep = 0
    if entry.redirect_status in PERMANENT and not entry.is_limited:
        keep = KEEP_MICROS
        if entry.expires_at is not None:  # no browser may follow it after its expiry
            keep = min(keep, entry.expires_at - now)
    return redirect_to(location, entry.redirect_status, keep // SECOND)


def redirect_to(location: str, status: int = 302, keep_seconds: int = 0) -> Answer:
    return Answer(status, [*_redirect_headers(keep_seconds), (b"location", location.encode())])


def _redirect_headers(keep_seconds: int) -> Headers:
    caching = f"private, max-age={keep_seconds}" if keep_seconds > 0 else "no-store"
    headers = [(b"content-length", b"0"), (b"cache-control", caching.encode())]
    return [*headers, *SECURITY_HEADERS, (POLICY, STRICTEST_POLICY)]


def plain_heads(date: bytes) -> list[bytes]:
    """Plain redirects up to their location, in the order of `REDIRECT_STATUSES`. An entry's `tail`
    is the rest."""
    heads = []
    for status in REDIRECT_STATUSES:
        keep_seconds = KEEP_MICROS // SECOND if status in PERMANENT else 0
        heads.append(_head(status, date, _redirect_headers(keep_seconds)) + b"location: ")
    return heads


def merged_tail(tail: bytes, query: str) -> bytes:
    """An entry's `tail` with the visitor's query."""
    return merge_query(tail[: -len(END)].decode(), query).encode() + END


def closing(answer: bytes) -> bytes:
    """The same answer, after which the connection ends."""
    head, _, body = answer.partition(END)
    return b"".join((head, b"\r\nconnection: close", END, body))


def to_bytes(answer: Answer, date: bytes) -> bytes:
    """A whole answer as it goes over the wire."""
    return _head(answer.status, date, answer.headers) + b"\r\n" + answer.body


def _head(status: int, date: bytes, headers: Headers) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), b"date: " + date]
    return b"".join(line + b"\r\n" for line in [*lines, *(b": ".join(pair) for pair in headers)])


@functools.cache
def dead(
    outcome: Outcome,
    *,
    as_page: bool,
    contact: str | None = None,
    dashboard: str | None = None,
    language: str = ENGLISH,
) -> Answer:
    """`contact` is whom to ask about a link that was taken down; `dashboard` is where people
    restore their links."""
    error = _PROBLEMS[outcome]
    if outcome is Outcome.EXPIRED and as_page:
        content = pages.gone("expired", dashboard=dashboard, language=language)
        return page(content, _STATUSES[LinkExpired])
    if outcome is Outcome.BANNED and contact is not None:
        if as_page:
            return page(pages.gone("banned", contact, language=language), _STATUSES[LinkBanned])
        error = LinkBanned(error.detail, contact=contact)
    return failure(error, as_page=as_page, language=language)


def reported(contact: str | None, *, as_page: bool, language: str = ENGLISH) -> Answer:
    """The same whether or not the link was reported before."""
    if as_page:
        return page(pages.reported(contact, language))
    return _whole(202, b"application/json", b'{"status": "received"}', [])


def unreported(error: KurzError, *, as_page: bool, language: str = ENGLISH) -> Answer:
    """Why a report was refused."""
    if as_page:
        why = _UNREPORTED[type(error)] if language == GERMAN else error.detail
        content = pages.unreported(why, language)
        return page(content, _STATUSES[type(error)], _headers_of(error))
    return failure(error, as_page=False)


def failure(
    error: KurzError, *, as_page: bool, allowed_methods: bytes = b"", language: str = ENGLISH
) -> Answer:
    """The error as a page for people or a problem for programs."""
    status = _STATUSES.get(type(error), 503 if error.kind is Kind.UNAVAILABLE else 500)
    extra = _headers_of(error)
    if allowed_methods:
        extra.append((b"allow", allowed_methods))
    if as_page and type(error) in _PAGES:
        return page(_PAGES[type(error)](language), status, extra)
    body = json.dumps(problem(error, status), ensure_ascii=False).encode()
    return _whole(status, b"application/problem+json", body, extra)


def _headers_of(error: KurzError) -> Headers:
    if isinstance(error, Unavailable):
        return [(b"retry-after", str(error.retry_after_seconds).encode())]
    if isinstance(error, TooManyRequests):
        return [(name.encode(), value.encode()) for name, value in error.header_fields.items()]
    return []


def page(
    content: pages.Page,
    status: int = 200,
    extra: Headers | None = None,
    vary: bytes = BY_READER,
) -> Answer:
    policy = (POLICY, content.csp.encode())
    extra = [policy, *(extra or [])]
    html = b"text/html; charset=utf-8"
    return _whole(status, html, content.body, extra, vary)


def held(entry: Entry, short_url: str, *, as_page: bool, language: str = ENGLISH) -> Answer:
    """A warning, with a link to go on for people. A link with a click limit does not show its
    destination."""
    if as_page:
        destination = None if entry.is_limited else entry.location
        content = pages.held(short_url=short_url, destination=destination, language=language)
        return page(content, 403)
    problem = LinkHeld("The destination of this link has not been screened yet. Try again later.")
    return failure(problem, as_page=False)


def preview(
    entry: Entry,
    short_url: str,
    now: int,
    *,
    shows_destination: bool,
    as_page: bool,
    contact: str | None = None,
    language: str = ENGLISH,
) -> Answer:
    destination = entry.location if shows_destination else None
    created_at = from_micros(entry.created_at)
    expires_at = from_micros_or_none(entry.expires_at)
    if as_page:
        content = pages.preview(
            short_url=short_url,
            destination=destination,
            created_at=created_at,
            expires_at=expires_at,
            now=from_micros(now),
            is_held=entry.settled is Outcome.HELD,
            contact=contact,
            language=language,
        )
        return page(content)
    document = {
        "short_url": short_url,
        "original_url": destination,
        "created_at": created_at.isoformat(),
        "expires_at": expires_at.isoformat() if expires_at else None,
        "is_held": entry.settled is Outcome.HELD,
    }
    return _whole(200, b"application/json", json.dumps(document).encode(), [])


def file(content_type: bytes, body: bytes) -> Answer:
    """A small file that browsers may keep for a day."""
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"public, max-age=86400"),
        *SECURITY_HEADERS,
        (POLICY, STRICTEST_POLICY),
    ]
    return Answer(200, headers, body)


def _whole(
    status: int, content_type: bytes, body: bytes, extra: Headers, vary: bytes = BY_READER
) -> Answer:
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"vary", vary),
        *SECURITY_HEADERS,
        *extra,
    ]
    if POLICY not in [name for name, _ in headers]:
        headers.append((POLICY, STRICTEST_POLICY))
    return Answer(status, headers, body)
