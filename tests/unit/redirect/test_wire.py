"""How long a browser may keep a redirect."""

from datetime import timedelta

import pytest

from kurz.clock import MICROSECOND
from kurz.redirect.answers import wire
from kurz.redirect.entry import Entry
from support.clock import FrozenClock
from support.links import route

NOW = FrozenClock().micros()


def caching(status: int, lives: timedelta | None = None, max_clicks: int | None = None) -> str:
    expires_at = None if lives is None else NOW + lives // MICROSECOND
    found = route(redirect_status=status, max_clicks=max_clicks, expires_at=expires_at)
    entry = Entry.of(b"/abc", 0, found, NOW)
    return dict(wire.redirect(entry, "", NOW).headers)[b"cache-control"].decode()


@pytest.mark.parametrize("status", [301, 308])
def test_a_permanent_redirect_is_kept_for_a_minute_but_never_past_its_end(status):
    assert caching(status) == "private, max-age=60"
    assert caching(status, timedelta(hours=1)) == "private, max-age=60"
    assert caching(status, timedelta(seconds=5.9)) == "private, max-age=5"
    assert caching(status, timedelta(seconds=0.9)) == "no-store"


@pytest.mark.parametrize("status", [301, 308])
def test_a_limited_redirect_is_never_kept(status):
    assert caching(status, max_clicks=3) == "no-store"


@pytest.mark.parametrize("status", [302, 307])
def test_a_temporary_redirect_is_never_kept(status):
    assert caching(status) == "no-store"
