"""How results look in a terminal, and as JSON for programs."""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import typer

_SYMBOLS = {
    "ACTIVE": ("●", "green"),
    "EXPIRED": ("◷", "yellow"),
    "DELETED": ("✕", "red"),
    "PAUSED": ("‖", "yellow"),
    "EXHAUSTED": ("○", "yellow"),
    "BANNED": ("⊘", "red"),
}
_SPANS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_GAP = "  "
_NARROWEST = 16  # characters that a URL keeps in the narrowest terminal
_RAW_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")  # JSON escapes those below a space only


def print_json(value: object) -> None:
    def plain(item: object) -> str:
        return item.isoformat() if isinstance(item, datetime) else str(item)

    typer.echo(escape_controls(json.dumps(value, ensure_ascii=False, indent=2, default=plain)))


def print_result(value: object, sentence: str, hint: str | None = None, *, as_json: bool) -> None:
    """What a command did: JSON for programs, or a sentence for people, with a hint."""
    if as_json:
        print_json(value)
        return
    typer.echo(sentence)
    if hint is not None:
        print_hint(hint)


def fields_of(item: object, *names: str) -> dict[str, Any]:
    """These attributes of an object, for JSON."""
    return {name: getattr(item, name) for name in names}


def escape_controls(text: str) -> str:
    """The same JSON in a form that a terminal can show too."""
    return _RAW_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable(text: str) -> str:
    """Text from strangers, without characters that would move the cursor or change colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_links(views: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """One line each, cut to the terminal's width; nothing is cut in a pipe."""
    head = ("status", "link", "clicks", "expires", "created", "destination")
    rows = [
        (
            f"{_SYMBOLS[item['status']][0]} {item['status'].lower()}",
            _name(item["short_url"]),
            f"{item['redirect_count']:,}",
            relative(item["expires_at"], now) if item["expires_at"] else "never",
            relative(item["created_at"], now),
            printable(item["original_url"]),
        )
        for item in views
    ]
    width = max(len(row[0]) for row in (head, *rows))
    for item, line in zip(views, _lines(head, rows), strict=True):
        symbol = line[:width]
        typer.echo(typer.style(symbol, fg=_SYMBOLS[item["status"]][1]) + line[width:])


def print_trash(views: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """Links in the trash, in the same way: since when, and until when."""
    head = ("deleted", "link", "clicks", "by", "purged", "destination")
    rows = [
        (
            relative(item["deleted_at"], now) if item["deleted_at"] else "",
            _name(item["short_url"]),
            f"{item['redirect_count']:,}",
            "reaper" if item["swept_at"] else "owner",
            _purge(item["purged_at"], now),
            printable(item["original_url"]),
        )
        for item in views
    ]
    for line in _lines(head, rows):
        typer.echo(line)


def print_link(item: Mapping[str, Any], now: datetime) -> None:
    """One link, one field per line; empty fields are left out."""
    symbol, colour = _SYMBOLS[item["status"]]
    rows = [
        ("short URL", typer.style(item["short_url"], bold=True)),
        ("destination", printable(item["original_url"])),
        ("status", typer.style(f"{symbol} {item['status'].lower()}", fg=colour)),
    ]
    rows += [
        (label, _shown(item[name], now))
        for label, name in _FIELDS
        if item[name] not in (None, [], False)
    ]
    print_fields(rows)


def print_fields(rows: Sequence[tuple[str, str]]) -> None:
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        # Indented, so that a text of several lines cannot look like another field.
        lines = text.replace("\n", "\n" + " " * width + _GAP)
        typer.echo(typer.style(f"{label:<{width}}", dim=True) + _GAP + lines)


_FIELDS = (
    ("title", "title"),
    ("tags", "tags"),
    ("notes", "notes"),
    ("type", "link_type"),
    ("code type", "strategy"),
    ("redirect status", "redirect_status"),
    ("forwards query", "forward_query"),
    ("click limit", "max_clicks"),
    ("clicks", "redirect_count"),
    ("created", "created_at"),
    ("changed", "updated_at"),
    ("starts", "starts_at"),
    ("expires", "expires_at"),
    ("held", "held_at"),
    ("deleted", "deleted_at"),
    ("purged", "purged_at"),
    ("destination check", "destination_status"),
    ("HTTP status", "destination_http_status"),
    ("checked", "last_checked_at"),
    ("workspace", "workspace_id"),
    ("id", "id"),
)


def print_counted(head: Sequence[str], rows: Sequence[Sequence[str]], noun: str) -> None:
    """A table, and how many rows it has."""
    print_table(head, rows)
    print_hint(f"{len(rows)} {noun}{'' if len(rows) == 1 else 's'}")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the last one takes what it needs."""
    if not rows:
        return
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    for number, row in enumerate((head, *rows)):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        typer.secho(_GAP.join((*cells, row[-1])), dim=number == 0)


def print_hint(text: str) -> None:
    """The next useful command; on the error stream, so that pipes do not get it."""
    typer.secho(text, err=True, dim=True)


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as lines; the head is printed before the first."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    room = _room(sum(widths) + len(_GAP) * len(widths))
    typer.secho(_line(head, widths, room), dim=True)
    for row in rows:
        yield _line(row, widths, room)


def _purge(purged_at: datetime | None, now: datetime) -> str:
    if purged_at is None:
        return "never"
    return relative(purged_at, now) if purged_at > now else "soon"


def _line(row: Sequence[str], widths: Sequence[int], room: int | None) -> str:
    cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
    cells[2] = cells[2].strip().rjust(widths[2])  # numbers are right-aligned
    last = row[-1]
    if room is not None and len(last) > room:
        last = last[: room - 1] + "…"
    return _GAP.join((*cells, last))


def _room(taken: int) -> int | None:
    """Characters left for the last column; None: unlimited."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns - taken, _NARROWEST)


def _name(short_url: str) -> str:
    """`/code` or `/@slug/code`: the host is the same for all."""
    return "/" + short_url.partition("://")[2].partition("/")[2]


def _shown(value: object, now: datetime) -> str:
    if isinstance(value, datetime):
        return f"{relative(value, now)}  ({value:%Y-%m-%d %H:%M:%S} UTC)"
    if isinstance(value, list):
        return printable(", ".join(map(str, value)))
    if value is True:
        return "yes"
    if isinstance(value, StrEnum):
        return value.lower()
    return "\n".join(printable(line.expandtabs()) for line in str(value).split("\n"))


def relative(instant: datetime, now: datetime) -> str:
    """The distance in its two largest units: "in 2 d 23 h", "5 min 3 s ago"."""
    distance = round((instant - now).total_seconds())
    rest = abs(distance)
    words: list[str] = []
    for seconds, unit in _SPANS:
        count, rest = divmod(rest, seconds)
        if count or words:
            words.append(f"{count} {unit}" if count else "")
    shown = " ".join(filter(None, words[:2]))
    if not shown:
        return "now"
    return f"in {shown}" if distance > 0 else f"{shown} ago"
