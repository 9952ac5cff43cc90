"""The page System of the dashboard: how the instance is, its backups, and other instances."""

import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from kurz import __version__
from kurz.storage.engine.sqlite import default_driver
from support.dashboard import make, set_up, take
from support.redis_faults import Scene, killed

ADMIN = "ada@example.com"
DAY = 86_400_000_000  # microseconds
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


def good_backup(folder: Path) -> None:
    """As if the first one had been made, which takes a minute."""
    now = time.time_ns() // 1000
    with closing(default_driver.connect(folder / "kurz-data" / "kurz.db")) as database:
        database.execute(
            "INSERT INTO job_runs"
            " (job, holder, is_requested, started_at, ended_at, outcome, counts)"
            " VALUES ('backup', 'host:1:x', 0, ?1, ?1, 'done', '{\"bytes\": 18432}')",
            (now,),
        )
        database.execute(
            "INSERT INTO job_totals VALUES ('backup', 1, 0, 240, 0, 0, ?)",
            (now,),
        )
        database.commit()


def see_other_instances(folder: Path) -> None:
    """As if there were two more, one of them of an older version."""
    now = time.time_ns() // 1000 + DAY  # seen all the time
    with closing(default_driver.connect(folder / "kurz-data" / "kurz.db")) as database:
        for name, version, schema in (("a", "0.2.0", "0020"), ("b", __version__, "0024")):
            row = (name, version, schema, now)
            database.execute("INSERT INTO instances VALUES (?, ?, ?, ?)", row)
        database.commit()


@on_sqlite
def test_backups_and_instances_are_shown(
    start_program, environment, visit, pictures, tmp_path, engine
):
    place = tmp_path / "not-mounted" / "backups"
    program = start_program(**environment, KURZ_BACKUP=str(place))
    visitor = visit(program)
    set_up(visitor, program, ADMIN)
    see_other_instances(tmp_path)
    visitor.click("Administration")
    visitor.wait_for_text("There is no scheduled backup yet.")
    assert str(place) in visitor.text()
    visitor.wait_for_text("Instances run different versions.")
    assert "0.2.0" in visitor.text()
    take(visitor, pictures, "admin-system-instances")


@on_sqlite
def test_the_first_thing_seen_is_how_it_is(
    start_program, environment, visit, pictures, tmp_path, engine
):
    lists = [tmp_path / "phishing-hosts.txt", tmp_path / "gone.txt"]
    lists[0].write_text("".join(f"bad-{number}.example\n" for number in range(1200)))
    settings = {"KURZ_RATE_LIMITS": "on", "KURZ_BLOCKLISTS": ",".join(map(str, lists))}
    settings["KURZ_BACKUP"] = str(tmp_path / "backups")
    program = start_program(**environment, **settings)
    visitor = visit(program)
    set_up(visitor, program, ADMIN)
    make(visitor, custom_code="launch")
    with program.client() as client:
        for _ in range(8):
            client.get("/launch")
    good_backup(tmp_path)
    visitor.click("Administration")
    visitor.wait_for_text("1 error")
    text = visitor.text()
    assert "The last scheduled backup is recent." in text
    assert "A list cannot be read. Visitors to new links see a warning." in text
    assert "Set KURZ_BASE_URL to the public URL of this server." in text
    assert re.search("Rules 1,200|1,200", text)
    assert "SQLite 3." in text
    take(visitor, pictures, "admin-system")
    lists[1].write_text("worse.example\n")
    visitor.wait_for_text("1 warning")  # by itself
    visitor.prefer("light", "de-AT,de;q=0.9")
    visitor.visit("/app/admin")
    visitor.wait_for_text("1 Warnung")
    visitor.picture(pictures / "admin-system-german.png")


@pytest.mark.long
@on_postgres
def test_a_redis_that_is_gone_is_an_error(start_program, environment, visit, pictures, engine):
    with Scene() as scene:
        program = start_program(**environment, KURZ_REDIS_URL=scene.url, KURZ_WORKERS="2")
        visitor = visit(program)
        set_up(visitor, program, ADMIN)
        visitor.visit("/app/admin")
        error = "document.querySelector('li[data-status=error]')"
        visitor.wait_for_text("PostgreSQL 1")
        visitor.wait_for(f"{error} === null")
        with killed(scene):
            visitor.wait_for(f"{error}?.innerText.includes('Redis')")
            assert "kurz uses the database instead" in visitor.text()
            take(visitor, pictures, "admin-system-redis-out")
        visitor.wait_for(f"{error} === null")
