"""Checks of destinations for tests: what is found, as a table has it, and what is stored."""

import asyncio
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from kurz.clock import Clock
from kurz.links.model import DestinationStatus, Link
from kurz.links.model import Scope as LinkScope
from kurz.safety.check_schedule import conclude
from kurz.safety.checks import Destination, Finding, NoTurn, Reason
from kurz.storage.followers.destinations import DestinationFollower
from kurz.storage.safety.checks import SqlCheckStore
from kurz.storage.schema.safety import destinations, link_destinations
from kurz.wiring.checks import site_of
from kurz.wiring.core import Kurz

OK = Finding(DestinationStatus.OK, Reason.ANSWERED, 200)
GONE = Finding(DestinationStatus.BROKEN, Reason.ANSWERED, 404)
FAILING = Finding(DestinationStatus.BROKEN, Reason.ANSWERED, 500)
SILENT = Finding(DestinationStatus.BROKEN, Reason.NO_ANSWER)
REFUSED = Finding(DestinationStatus.UNKNOWN, Reason.ANSWERED, 403)
INSIDE = Finding(DestinationStatus.NOT_CHECKED, Reason.NOT_PUBLIC)
NO_NAME = Finding(DestinationStatus.BROKEN, Reason.NO_NAME)
NO_NAME_SERVERS = Finding(DestinationStatus.UNKNOWN, Reason.NAME_SERVERS)


class TableChecker:
    """The `Checker` of a table: what is found at each URL; `OK` at all others. With a gate, it
    waits for that before each answer; some lead to a site without a turn."""

    def __init__(self, found: Mapping[str, Finding] | None = None) -> None:
        self.found = dict(found or {})
        self.asked: list[tuple[str, bool]] = []
        self.at_once = self.most_at_once = 0
        self.gate: asyncio.Event | None = None
        self.without_turn: set[str] = set()

    @property
    def urls(self) -> list[str]:
        return [url for url, _ in self.asked]

    async def check(self, location: str, *, was_ok: bool, is_requested: bool = False) -> Finding:
        self.asked.append((location, was_ok))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.gate is not None:
                await self.gate.wait()
            if location in self.without_turn:
                raise NoTurn(location)
            await asyncio.sleep(0)
        finally:
            self.at_once -= 1
        return self.found.get(location, OK)


class FreeTurns:
    """The `Turns` of sites that may be called at any time, but for those that are named: for
    nobody, or only if somebody asks."""

    def __init__(self) -> None:
        self.closed: set[str] = set()
        self.only_asked: set[str] = set()
        self.waiting = 0
        self.rests: list[float] = []

    def rest(self, seconds_ago: float) -> None:
        self.rests.append(seconds_ago)

    def is_open(self, site: str, *, is_requested: bool = False) -> bool:
        return site not in self.closed and (is_requested or site not in self.only_asked)


def store_of(kurz: Kurz) -> SqlCheckStore:
    return SqlCheckStore(kurz.database, site_of)


async def follow(kurz: Kurz, clock: Clock | None = None) -> None:
    await DestinationFollower(kurz.database, clock or kurz.clock, site_of).catch_up()


async def rows(kurz: Kurz, table: sa.Table) -> list[dict[str, Any]]:
    found = await kurz.database.read(lambda it: it.execute(sa.select(table)).mappings().all())
    return [dict(row) for row in found]


async def led_to(kurz: Kurz) -> dict[str, set[int]]:
    """URL → links that are said to lead there."""
    query = sa.select(destinations.c.location, link_destinations.c.link_id).select_from(
        destinations.outerjoin(
            link_destinations, link_destinations.c.destination_id == destinations.c.id
        )
    )
    found: dict[str, set[int]] = {}
    for location, link_id in await kurz.database.read(lambda it: it.execute(query).all()):
        found.setdefault(location, set()).update(() if link_id is None else (link_id,))
    return found


async def reread(kurz: Kurz, link: Link) -> Link:
    found = await kurz.store.find(link.id, LinkScope())
    assert found is not None
    return found


async def conclude_at(kurz: Kurz, url: str, finding: Finding) -> None:
    """Records what a check of a URL found, at this instant."""
    destination, now = await load_due(kurz, url), kurz.clock.now()
    await store_of(kurz).record(destination.id, conclude(destination, finding, now, now))


async def load_due(kurz: Kurz, url: str) -> Destination:
    """Makes a destination due, and gives it."""
    due = sa.update(destinations).where(destinations.c.location == url)
    due = due.values(due_at=kurz.clock.micros()).returning(destinations.c.id)
    found = await kurz.database.write(lambda it: it.execute(due).scalar_one())
    (destination,) = await store_of(kurz).load([found], kurz.clock.now())
    return destination
