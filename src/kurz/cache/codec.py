"""The format of values in the second tier: JSON that contains its own key, so that `redis-cli GET`
is readable and a reader can check everything."""

import json
import re
from typing import Any

from kurz.freshness.routes import Cached, Change, Route
from kurz.links.model import Status

FORMAT = 2

ABSENT = "unknown"  # there is no such link
WRITTEN = "written"  # a write marker: earlier versions are outdated, ask the store
EXPIRED = "expired"
REASONS = {
    Status.DELETED: "deleted",
    Status.BANNED: "banned",
    Status.PAUSED: "paused",
}
EXHAUSTED = "exhausted"
REDIRECTS = frozenset((301, 302, 307, 308))
STATUSES = frozenset(Status)
MAX_NUMBER = 2**53  # the largest integer that Lua compares exactly

_LOCATION = re.compile(r"https?://[\x21-\x7e]+")
_encode = json.JSONEncoder(separators=(",", ":")).encode


class WrongKey(ValueError):
    """The value belongs to another key: answers may be out of order."""


def reason_of(route: Route, now: int) -> str | None:
    """Why a link no longer redirects at this instant; None: it does, or will."""
    status = Status(route.status)
    if status in (Status.BANNED, Status.DELETED):
        return REASONS[status]
    if route.expires_at is not None and route.expires_at <= now:
        return EXPIRED
    if route.max_clicks is not None and route.clicks_used >= route.max_clicks:
        return EXHAUSTED
    return REASONS.get(status)


def is_sound(location: str) -> bool:
    """Whether it may be used in a Location header."""
    return _LOCATION.fullmatch(location) is not None


def encode_route(key: str, route: Route, position: int, reason: str | None) -> str:
    return _encode(
        {
            "format": FORMAT,
            "key": key,
            "is_tombstone": reason is not None,
            "reason": reason,
            "position": position,
            "link_id": route.link_id,
            "version": route.version,
            "status": route.status,
            "original_url": route.location,
            "redirect_status": route.redirect_status,
            "forward_query": bool(route.forward_query),
            "max_clicks": route.max_clicks,
            "clicks_used": route.clicks_used,
            "created_at": route.created_at,
            "starts_at": route.starts_at,
            "expires_at": route.expires_at,
            "is_held": bool(route.is_held),
            "space": route.space,
        }
    )


def encode_absence(key: str, position: int) -> str:
    return _encode_without_route(key, ABSENT, 0, 0, position)


def encode_change(key: str, change: Change) -> str:
    return _encode_without_route(key, WRITTEN, change.link_id, change.version, 0)


def decode(text: bytes, key: str) -> Cached:
    """Raises ValueError for anything that was not written for this key by this format."""
    value = json.loads(text)
    if type(value) is not dict or value.get("format") != FORMAT:
        raise ValueError("another format")
    if value.get("key") != key:
        raise WrongKey
    position = _number(value, "position")
    reason = value.get("reason")
    if reason == ABSENT:
        return Cached(0, 0, None, position)
    link_id, version = _number(value, "link_id", 1), _number(value, "version", 1)
    if reason == WRITTEN:
        return Cached(link_id, version, None, position)
    return Cached(link_id, version, _route(value, link_id, version), position)


def _encode_without_route(key: str, reason: str, link_id: int, version: int, position: int) -> str:
    return _encode(
        {
            "format": FORMAT,
            "key": key,
            "is_tombstone": True,
            "reason": reason,
            "position": position,
            "link_id": link_id,
            "version": version,
        }
    )


def _route(value: dict[str, Any], link_id: int, version: int) -> Route:
    status, location = value.get("status"), value.get("original_url")
    redirect_status, forward_query = value.get("redirect_status"), value.get("forward_query")
    is_held, space = value.get("is_held"), value.get("space")
    if type(status) is not str or status not in STATUSES:
        raise ValueError("another kind of link")
    if type(redirect_status) is not int or redirect_status not in REDIRECTS:
        raise ValueError("another kind of link")
    if type(location) is not str or not is_sound(location) or type(forward_query) is not bool:
        raise ValueError("no destination")
    if type(is_held) is not bool:
        raise ValueError("another kind of link")
    # The previous version wrote none: such a link could not be dropped together with its account.
    if type(space) is not int or abs(space) > MAX_NUMBER:
        raise ValueError("space")
    return Route(
        link_id,
        version,
        status,
        location,
        redirect_status,
        forward_query,
        _number_or_none(value, "max_clicks"),
        _number(value, "clicks_used"),
        _number(value, "created_at"),
        _number_or_none(value, "starts_at"),
        _number_or_none(value, "expires_at"),
        is_held,
        space,
    )


def _number(value: dict[str, Any], name: str, least: int = 0) -> int:
    number = value.get(name)
    if type(number) is not int or not least <= number <= MAX_NUMBER:
        raise ValueError(name)
    return number


def _number_or_none(value: dict[str, Any], name: str) -> int | None:
    return None if value.get(name, ...) is None else _number(value, name)
