"""An upgrade keeps the days of clicks, which can then be folded, and still be written by the
version before."""

from collections.abc import Callable

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION
from kurz.settings.model import Settings
from kurz.storage.clicks.stats import find_days
from kurz.storage.engine.migrate import Migrations
from kurz.storage.followers.day_folder import DayFolder
from kurz.wiring.core import open_kurz
from support.clock import FrozenClock
from support.migrations import NOW, read, snapshot, upgrade

TODAY = 20_513  # 2026-03-01
DAYS = (TODAY - 500, TODAY - 499, TODAY - 100, TODAY)
_INSERT = (
    "INSERT INTO click_days (kind, subject, day, clicks, people, visitors, counts, sketch)"
    " VALUES (3, 0, :day, 2, 1, 1, :counts, :sketch)"
)
_TOTAL = "INSERT INTO click_totals VALUES (3, 0, 8, 0, 0, 0)"


def insert(connection: sa.Connection, *days: int) -> None:
    counts = b'{"h07": 1, "H08": 1, "cDE": 1}'
    rows = [{"day": day, "counts": counts, "sketch": b""} for day in days]
    connection.execute(sa.text(_INSERT), rows)


async def test_days_survive_the_upgrade_and_are_folded_later(
    settings: Settings, until: Callable[[str], Migrations]
) -> None:
    settings.data_dir.mkdir(exist_ok=True)
    await upgrade(settings, until("0022"))
    await read(settings, lambda it: insert(it, *DAYS))
    await read(settings, lambda it: it.execute(sa.text(_TOTAL)).rowcount)
    _, before = await read(settings, snapshot)
    await upgrade(settings, Migrations())
    _, after = await read(settings, snapshot)
    changed = {name for name in after if before.get(name) != after[name]}
    revisions = {"alembic_version", "schema_revision"}
    of_checksums = {"links", "installation"}
    assert changed == {*revisions, *of_checksums, "instances", "click_days", "fold_position"}
    async with open_kurz(settings, FrozenClock(NOW)) as kurz:
        rows = await kurz.database.read(find_days, INSTALLATION, range(30_000))
        assert [(row.day, row.clicks, row.month) for row in rows] == [(it, 2, None) for it in DAYS]
        folder = DayFolder(kurz.database, 400)
        assert await folder.run(TODAY, lambda: False) == 2
        await read(settings, lambda it: insert(it, TODAY - 498))  # by the version before
        rows = await kurz.database.read(find_days, INSTALLATION, range(30_000))
        assert [row.clicks for row in rows] == [4, 2, 2, 2]
        assert await folder.fold([INSTALLATION], range(TODAY - 365), lambda: False) > 0
        rows = await kurz.database.read(find_days, INSTALLATION, range(30_000))
        assert [row.clicks for row in rows] == [6, 2, 2]
