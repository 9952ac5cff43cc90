"""Turns links into lines of an export."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kurz.links import lifecycle
from kurz.links.cells import disarm
from kurz.links.model import Link
from kurz.links.transfers import TransferFormat
from kurz.transfer.format import FIELDS, join_tags

Writer = Callable[[Sequence[Link], Mapping[int, str], datetime], bytes]


def record(link: Link, workspace: str, now: datetime) -> dict[str, Any]:
    """A link in the fields of the format."""
    return {
        "short_code": link.short_code,
        "original_url": link.original_url,
        "title": link.title,
        "tags": link.tags,
        "notes": link.notes,
        "status": lifecycle.status(link, now),
        "link_type": link.link_type,
        "strategy": link.strategy,
        "redirect_status": link.redirect_status,
        "forward_query": link.forward_query,
        "max_clicks": link.max_clicks,
        "clicks_used": link.clicks_used,
        "created_at": _instant(link.created_at),
        "updated_at": _instant(link.updated_at),
        "starts_at": _instant(link.starts_at),
        "expires_at": _instant(link.expires_at),
        "deleted_at": _instant(link.deleted_at),
        "swept_at": _instant(link.swept_at),
        "redirect_count": link.redirect_count,
        "avg_redirect_ms": link.avg_redirect_ms,
        "workspace": workspace,
    }


def head(format: TransferFormat) -> bytes:  # noqa: A002  the word of the product
    """What comes before the first link."""
    return ",".join(FIELDS).encode() + b"\r\n" if format is TransferFormat.CSV else b""


def write_csv(links: Sequence[Link], slugs: Mapping[int, str], now: datetime) -> bytes:
    page = io.StringIO(newline="")
    writer = csv.writer(page)
    for link in links:
        item = record(link, slugs.get(link.workspace_id, ""), now)
        item["tags"] = join_tags(link.tags)
        item["forward_query"] = "true" if link.forward_query else "false"
        for name in ("short_code", "original_url", "title", "tags", "notes"):
            if item[name]:
                item[name] = disarm(item[name])
        writer.writerow(item.values())
    return page.getvalue().encode()


def write_json_lines(links: Sequence[Link], slugs: Mapping[int, str], now: datetime) -> bytes:
    lines = [
        json.dumps(
            record(link, slugs.get(link.workspace_id, ""), now),
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for link in links
    ]
    return "".join(f"{line}\n" for line in lines).encode()


WRITERS: dict[TransferFormat, Writer] = {
    TransferFormat.CSV: write_csv,
    TransferFormat.JSONL: write_json_lines,
}


def _instant(instant: datetime | None) -> str | None:
    """ISO 8601 in UTC, with microseconds if there are any."""
    return None if instant is None else instant.isoformat().removesuffix("+00:00") + "Z"
