"""The links that `reaper.py` ends, half of all, and how they get into a database."""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import asyncpg
import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.clock import SystemClock
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.settings.model import Settings
from kurz.storage.links.active import ENDLESS, SLOT_MICROS
from kurz.storage.schema.base import NEVER
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from list_rows import fill_index_of_texts, fill_postgres, fill_sqlite

TEAM = 7
OWNER = 123_456_789
DAY_MICROS = 86_400_000_000
NOW = SystemClock().micros()
TODAY = NOW // DAY_MICROS
OWNED = 5  # every so many links are somebody's
CLICKED = 3  # every so many have clicks, on two days
COUNTS_BYTES, SKETCH_BYTES = 150, 40

# Whole tables at once: what was counted, of links and of clicks.
_ADD_SLOTS = f"""
    INSERT INTO active_links
    SELECT coalesce(expires_at / {SLOT_MICROS}, {ENDLESS}), count(*) FROM links GROUP BY 1
"""  # noqa: S608
_ALL_IS_COUNTED = f"""
    UPDATE count_position
    SET link_id = {NEVER}, change_id = (SELECT coalesce(max(id), 0) FROM changes)
"""  # noqa: S608
_ADD_CLICKS = f"""
    INSERT INTO click_totals
    SELECT {SubjectKind.LINK.value}, id, 9, 9, 1.5, 0.5 FROM links WHERE id % {CLICKED} = 0
"""  # noqa: S608
COUNTED = (
    "INSERT INTO counted_links SELECT id, expires_at FROM links",
    _ADD_SLOTS,
    _ALL_IS_COUNTED,
    _ADD_CLICKS,
)
CLICK_DAYS = f"""
    INSERT INTO click_days
    SELECT {SubjectKind.LINK.value}, id, {{day}}, 5, 4, 3, {{counts}}, {{sketch}}
    FROM links WHERE id % {CLICKED} = 0
"""  # noqa: S608


class Links:
    """As an installation has them that anybody may use: most are nobody's and end after some weeks.
    Of those that are somebody's, half are in a workspace, and half have tags. Every other link has
    ended, more than a week ago, and nobody has marked it yet."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._chance = random.Random(5)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Of `list_rows.FILLED`."""
        for link_id in range(1, self.count + 1):
            number, is_live = link_id // 2, link_id % 2 == 0
            is_owned = number % OWNED == 0
            place = (ROOT_WORKSPACE_ID, 0)
            if is_owned:
                place = (TEAM, TEAM) if number % 2 else (ROOT_WORKSPACE_ID, -OWNER)
            url = f"https://www.example.com/{link_id}/".ljust(100, "x")
            created = NOW - round((400 - 350 * link_id / self.count) * DAY_MICROS)
            tags = ("launch", f"tag-{number % 97}") if is_owned and number % 4 < 2 else None
            yield (
                *(link_id, *place, self._code(link_id), 1, "random", url, url),
                *(OWNER if is_owned else None, "PERMANENT" if is_owned else "TEMPORARY", "ACTIVE"),
                *(created, created, self._end(created, is_live=is_live), None, 302, None),
                *(json.dumps(tags) if tags else None, False, None, 0, 0),
            )

    def live_codes(self, count: int) -> list[str]:
        """Some of those at the root that redirect for long."""
        live = range(2, self.count + 1, 2)
        some = (self._code(link_id) for link_id in live if link_id // 2 % OWNED)
        return list(itertools.islice(some, count))

    def _end(self, created: int, *, is_live: bool) -> int:
        since, days = (NOW, 30) if is_live else (created, 20)
        return since + days * DAY_MICROS + self._chance.randrange(20 * DAY_MICROS)

    def _code(self, link_id: int) -> str:
        return f"{link_id * 2_654_435_761 % 2**40:x}"  # each another, in no order


async def fill(settings: Settings, links: Links) -> None:
    """Nothing is left to index or count: a server would do it while it is measured."""
    await prepare(settings, upgrades_postgres=True)
    if settings.database_url is not None:
        await _fill_postgres(settings.database_url, links)
        return
    async with open_kurz(settings) as kurz:
        await kurz.database.write(fill_sqlite, links.rows())
        await fill_index_of_texts(kurz)
        await kurz.database.write(_add_counts)


def _add_counts(connection: sa.Connection) -> None:
    values = (f"zeroblob({size})" for size in (COUNTS_BYTES, SKETCH_BYTES))
    for statement in (*COUNTED, *_click_days(*values)):
        connection.exec_driver_sql(statement)
    # There is nothing to trim while it is measured. The last one says how far all is indexed.
    connection.exec_driver_sql("DELETE FROM changes WHERE id < (SELECT max(id) FROM changes)")


async def _fill_postgres(url: str, links: Links) -> None:
    await fill_postgres(url, links.rows())
    connection = await asyncpg.connect(url)
    values = (f"decode(repeat('00', {size}), 'hex')" for size in (COUNTS_BYTES, SKETCH_BYTES))
    for statement in (*COUNTED, *_click_days(*values)):
        await connection.execute(statement)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()


def _click_days(counts: str, sketch: str) -> Iterator[str]:
    for day in TODAY - 60, TODAY - 59:
        yield CLICK_DAYS.format(day=day, counts=counts, sketch=sketch)
