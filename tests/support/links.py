"""Links and routes for tests: a test names the fields that it is about, the rest has defaults."""

from typing import Any

from kurz.clock import to_micros, to_micros_or_none
from kurz.freshness.routes import Route
from kurz.links.model import Draft, Link, LinkType, Status, Strategy, space_of
from kurz.wiring.core import Kurz
from support.clock import FrozenClock

NOW = FrozenClock().now()
URL = "https://example.com/page"


async def create_link(kurz: Kurz, url: str = URL, **fields: Any) -> Link:
    """A link that the service of kurz creates, at the root and without an owner, unless the fields
    say otherwise."""
    return (await kurz.links.create(Draft(original_url=url, **fields))).link


def link(code: str = "abc", **fields: Any) -> Link:
    """A permanent link at the root that no store has given an id yet. `url` is where it leads, in
    every form; by default it is made of the code."""
    url = fields.pop("url", f"https://example.com/{code}")
    return Link(
        **{
            "id": 0,
            "workspace_id": 0,
            "short_code": code,
            "version": 1,
            "strategy": Strategy.RANDOM,
            "original_url": url,
            "canonical_url": url,
            "location": url,
            "owner_id": None,
            "link_type": LinkType.PERMANENT,
            "status": Status.ACTIVE,
            "created_at": NOW,
            "updated_at": NOW,
            **fields,
        }
    )


def route(link_id: int = 1, version: int = 1, **fields: Any) -> Route:
    """A route of an active link. Its location tells which link and version it is of."""
    return Route(
        **{
            "link_id": link_id,
            "version": version,
            "status": Status.ACTIVE,
            "location": f"https://example.com/{link_id}/{version}",
            "redirect_status": 302,
            "forward_query": False,
            "max_clicks": None,
            "clicks_used": 0,
            "created_at": to_micros(NOW),
            "starts_at": None,
            "expires_at": None,
            **fields,
        }
    )


def route_of(stored: Link) -> Route:
    """The route that a stored link has."""
    return Route(
        link_id=stored.id,
        version=stored.version,
        status=stored.status,
        location=stored.location,
        redirect_status=stored.redirect_status,
        forward_query=stored.forward_query,
        max_clicks=stored.max_clicks,
        clicks_used=stored.clicks_used,
        created_at=to_micros(stored.created_at),
        starts_at=to_micros_or_none(stored.starts_at),
        expires_at=to_micros_or_none(stored.expires_at),
        space=space_of(stored.workspace_id, stored.owner_id),
    )
