"""Clicks of some weeks, as a shop's newsletter might get them, for pages that are looked at."""

import asyncio
import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kurz.clicks.counts import VisitKind
from kurz.clock import to_micros
from kurz.links.model import ROOT_WORKSPACE_ID, Link
from kurz.settings.model import Settings
from kurz.storage.schema.safety import checks, destinations, link_destinations
from kurz.wiring.core import open_kurz
from support.counted import Clicks

_VALUES = {
    "country": ["DE"] * 9 + ["AT"] * 4 + ["CH"] * 3 + ["US", "GB", "FR", "NL", "PL", ""],
    "referrer": [""] * 6 + ["news.example"] * 5 + ["forum.example.org"] * 3 + ["t.example"],
    "browser": ["Chrome"] * 6 + ["Safari"] * 5 + ["Firefox"] * 3 + ["Edge"],
    "system": ["Android"] * 5 + ["iOS"] * 4 + ["Windows"] * 4 + ["macOS"] * 2 + ["Linux"],
    "device": ["phone"] * 9 + ["desktop"] * 6 + ["tablet"],
    "language": ["de"] * 9 + ["en"] * 4 + ["fr", "pl", "de-AT"],
}
_BOTS = [
    (VisitKind.PREVIEW, "Slackbot"),
    (VisitKind.PREVIEW, "WhatsApp"),
    (VisitKind.BOT, "Googlebot"),
]


def seed(data_dir: Path, codes: Iterable[str], days: int = 30, busy: int = 40) -> None:
    """On every day some clicks on each of these links at the root, fewer on each next one; none is
    in the future."""
    asyncio.run(_seed(data_dir, list(codes), days, busy))


async def _seed(data_dir: Path, codes: list[str], days: int, busy: int) -> None:
    chance = random.Random(3)
    now = datetime.now(UTC)
    async with open_kurz(Settings(data_dir=data_dir)) as kurz:
        found: list[tuple[datetime, Link]] = []
        for place, code in enumerate(codes, 1):
            link = await kurz.links.get_by_code(ROOT_WORKSPACE_ID, code)
            for back in range(days):
                midnight = (now - timedelta(days=back)).replace(hour=0, minute=0, second=0)
                weekly = 0.5 if midnight.weekday() > 4 else 1.0
                for _ in range(int(busy / place * weekly * chance.uniform(0.5, 1.4))):
                    at = midnight + timedelta(seconds=chance.triangular(0, 86_399, 64_000))
                    if at < now:
                        found.append((at, link))
        clicks = Clicks(kurz.database)
        for at, link in sorted(found, key=lambda it: it[0]):
            clicks.add(link, at, latency_ms=chance.uniform(0.1, 0.4), **_who(chance))
        await clicks.save()


def seed_checks(data_dir: Path, results: Mapping[int, tuple[str, str, int | None]]) -> None:
    """What checks of the only destination found, so many days ago: result, reason, HTTP status."""

    def write(connection: sa.Connection) -> None:
        [destination_id] = connection.execute(sa.select(destinations.c.id)).scalars()
        connection.execute(sa.update(link_destinations).values(since=0))
        for days, (result, reason, status) in results.items():
            at = to_micros(datetime.now(UTC) - timedelta(days=days))
            values = {"result": result, "reason": reason, "http_status": status}
            row = {"id": -days, "destination_id": destination_id, "checked_at": at, **values}
            connection.execute(sa.insert(checks).values(row))

    async def run() -> None:
        async with open_kurz(Settings(data_dir=data_dir)) as kurz:
            await kurz.database.write(write)

    asyncio.run(run())


def _who(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.15:
        sort, name = chance.choice(_BOTS)
        return {"sort": sort, "browser": name}
    values = {name: chance.choice(of) for name, of in _VALUES.items()}
    return {**values, "visitor": str(chance.randrange(9999))}
