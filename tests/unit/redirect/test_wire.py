"""How long a browser may keep a redirect."""

from datetime import timedelta

import pytest

from kurz.links.model import Link, LinkType, Status, Strategy
from kurz.redirect import wire
from support.clock import FrozenClock

NOW = FrozenClock().now()


def caching(status: int, lives: timedelta | None = None, max_clicks: int | None = None) -> str:
    link = Link(
        id=1,
        workspace_id=0,
        short_code="abc",
        version=1,
        strategy=Strategy.RANDOM,
        original_url="https://example.com/",
        canonical_url="https://example.com/",
        location="https://example.com/",
        owner_id=None,
        link_type=LinkType.PERMANENT,
        status=Status.ACTIVE,
        created_at=NOW,
        updated_at=NOW,
        expires_at=None if lives is None else NOW + lives,
        redirect_status=status,
        max_clicks=max_clicks,
    )
    return dict(wire.redirect(link, "", NOW).headers)[b"cache-control"].decode()


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
