"""How results look in a terminal, and as JSON for programs."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import typer

_MARKS = {
    "ACTIVE": ("●", "green"),
    "EXPIRED": ("◷", "yellow"),
    "DELETED": ("✕", "red"),
    "PAUSED": ("‖", "yellow"),
    "EXHAUSTED": ("○", "yellow"),
    "BANNED": ("⊘", "red"),
}
_SPANS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def print_json(value: object) -> None:
    def plain(item: object) -> str:
        return item.isoformat() if isinstance(item, datetime) else str(item)

    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=plain))


def print_links(views: list[dict[str, Any]], now: datetime) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("status", no_wrap=True)
    table.add_column("short URL", no_wrap=True)
    table.add_column("leads to", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("clicks", justify="right", no_wrap=True)
    table.add_column("expires", no_wrap=True)
    table.add_column("made", no_wrap=True)
    for item in views:
        mark, colour = _MARKS[item["status"]]
        table.add_row(
            Text(f"{mark} {item['status'].lower()}", colour),
            Text(item["short_url"]),
            Text(item["original_url"]),
            f"{item['redirect_count']:,}",
            _relative(item["expires_at"], now) if item["expires_at"] else "never",
            _relative(item["created_at"], now),
        )
    _console().print(table)


def print_link(item: Mapping[str, Any], now: datetime) -> None:
    """One link, a field a line; what is not set is left out."""
    from rich.table import Table
    from rich.text import Text

    mark, colour = _MARKS[item["status"]]
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("short URL", Text(item["short_url"], "bold"))
    table.add_row("leads to", Text(item["original_url"]))
    table.add_row("status", Text(f"{mark} {item['status'].lower()}", colour))
    for label, name in _FIELDS:
        if item[name] not in (None, [], False):
            table.add_row(label, Text(_shown(item[name], now)))
    _console().print(table)


_FIELDS = (
    ("title", "title"),
    ("tags", "tags"),
    ("notes", "notes"),
    ("type", "link_type"),
    ("code by", "strategy"),
    ("answers with", "redirect_status"),
    ("forwards query", "forward_query"),
    ("most clicks", "max_clicks"),
    ("clicks", "redirect_count"),
    ("made", "created_at"),
    ("changed", "updated_at"),
    ("starts", "starts_at"),
    ("expires", "expires_at"),
    ("workspace", "workspace_id"),
    ("id", "id"),
)


def print_hint(text: str) -> None:
    """The next useful thing to do; on the error stream, so that pipes do not see it."""
    typer.secho(text, err=True, dim=True)


def _shown(value: object, now: datetime) -> str:
    if isinstance(value, datetime):
        return f"{_relative(value, now)}  ({value:%Y-%m-%d %H:%M:%S} UTC)"
    if isinstance(value, list):
        return ", ".join(value)
    if value is True:
        return "yes"
    return str(value).lower() if isinstance(value, str) and value.isupper() else str(value)


def _relative(instant: datetime, now: datetime) -> str:
    distance = (instant - now).total_seconds()
    size = abs(distance)
    for seconds, unit in _SPANS:
        if size >= seconds:
            words = f"{int(size // seconds)} {unit}"
            return f"in {words}" if distance > 0 else f"{words} ago"
    return "now"


def _console() -> Any:
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False)
