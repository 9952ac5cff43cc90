"""Links as people have them, with a past: for the pages of the dashboard that show many."""

import json
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.dashboard import do
from support.visitor import Visitor

LONG_URL = "https://shop.example.org/catalogue?" + "&".join(f"part{n}=value{n}" for n in range(120))
SHELF: list[dict[str, Any]] = [
    {"short_code": "launch", "title": "Spring launch", "tags": ["campaign", "press"], "days": 2},
    {"short_code": "menu", "title": "Lunch menu", "tags": ["print"], "days": 400},
    {"short_code": "jobs-2026", "title": "Open positions", "tags": ["team"], "days": 31},
    {"short_code": "aB3xK9z", "tags": [], "days": 0.1},
    {"short_code": "tickets", "title": "Concert tickets", "tags": ["event", "campaign"], "days": 6},
    {"short_code": "survey", "title": "Customer survey", "tags": ["research"], "days": 18},
    {"short_code": "old-sale", "title": "Winter sale", "tags": ["campaign"], "days": 120},
    {"short_code": "beta", "title": "Beta programme", "tags": ["team"], "days": 64},
    {"short_code": "catalogue", "title": "Everything we sell", "tags": ["t" * 50], "days": 9},
    {
        "short_code": "payload",
        "title": "<img src=x onerror=alert(1)>",
        "tags": ["a<b>c"],
        "days": 3,
    },
]
_MORE: dict[str, dict[str, Any]] = {
    "launch": {"redirect_count": 12_048, "ends": 12},
    "menu": {"redirect_count": 3_204},
    "jobs-2026": {"redirect_count": 318, "ends": 45},
    "tickets": {"redirect_count": 871, "ends": 0.13},
    "survey": {"redirect_count": 64, "status": "PAUSED"},
    "old-sale": {"redirect_count": 5_530, "ends": -3},
    "beta": {"redirect_count": 200, "max_clicks": 200, "clicks_used": 200, "status": "EXHAUSTED"},
    "catalogue": {"redirect_count": 17, "original_url": LONG_URL},
}


def rows(now: datetime | None = None) -> list[dict[str, Any]]:
    """In the format of imports."""
    now = now or datetime.now(UTC)
    made = []
    for plain in SHELF:
        row = {"original_url": f"https://example.com/{plain['short_code']}/2026", **plain}
        row |= _MORE.get(plain["short_code"], {})
        row["created_at"] = (now - timedelta(days=row.pop("days"))).isoformat()
        if "ends" in row:
            row["expires_at"] = (now + timedelta(days=row.pop("ends"))).isoformat()
        made.append(row)
    return made


def fill(visitor: Visitor, links: list[dict[str, Any]] | None = None, place: str = "") -> None:
    lines = "".join(json.dumps(row) + "\n" for row in (rows() if links is None else links))
    result = do(visitor, "POST", f"{place}/links/import", lines)
    assert result["summary"]["created"] == result["summary"]["rows"], result


def check(data_dir: Path) -> None:
    """As if destinations had been looked at an hour ago."""
    found = {"menu": ("broken", 404), "survey": ("unknown", 503), "aB3xK9z": (None, None)}
    with sqlite3.connect(data_dir / "kurz.db", timeout=60) as database:
        for row in SHELF:
            status, http = found.get(row["short_code"], ("ok", 200))
            at = int((time.time() - 3600) * 1e6) if status else None
            database.execute(
                "UPDATE links SET destination_status = ?, destination_http_status = ?,"
                " last_checked_at = ? WHERE short_code = ?",
                (status, http, at, row["short_code"]),
            )
    database.close()
