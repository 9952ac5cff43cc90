"""Values in arguments: durations, instants and links."""

import re
from datetime import UTC, datetime
from urllib.parse import urlsplit

import typer

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST = 5200 * _UNITS["w"]
_DURATION = re.compile(r"([0-9]+)([smhdw]?)")


def seconds(text: str) -> int:
    """`90`, `45s`, `30m`, `12h`, `3d` or `2w`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise typer.BadParameter("use seconds, or a number with s, m, h, d or w, such as 12h")
    span = int(match[1]) * _UNITS[match[2] or "s"]
    if span > _LONGEST:
        raise typer.BadParameter("use at most 5200w (100 years)")
    return span


def instant(text: str) -> datetime:
    """ISO 8601; without a time zone it is the local one of this machine."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter("use a date or time such as 2030-01-31T18:00") from None


def reference(text: str) -> tuple[str | None, str | None, str]:
    """The host (None: not given), the slug (None: the root) and the code in `code`, `@slug/code` or
    a whole short URL."""
    parts = urlsplit(text) if "://" in text else None
    path = parts.path if parts else text
    head, slash, code = path.strip("/").rpartition("/")
    if slash and (not head.startswith("@") or "/" in head):
        raise typer.BadParameter("use a code, @workspace/code or a short URL")
    return parts.hostname if parts else None, head[1:] if slash else None, code
