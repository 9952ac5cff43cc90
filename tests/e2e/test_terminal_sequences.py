"""Whatever text is in the database, commands print nothing that a terminal obeys. Most of it cannot
come there: what is written is judged. This is for what came by another way."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from data.payloads import SEQUENCES
from kurz.links.model import Draft, Status
from kurz.people.access import Permission
from kurz.settings.model import Settings
from kurz.storage.schema.links import links
from kurz.storage.schema.people import accounts, keys, workspaces
from kurz.storage.schema.safety import audit, bans, reports
from kurz.wiring.core import open_kurz
from support.counted import Clicks
from support.long_run import in_the_long_run
from support.people import People
from support.terminal import Terminal

HOSTILE = "".join(f"<{text}>" for text in SEQUENCES if "\0" not in text)
NOTES = "first\nstatus  forged\n\tlast"


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """All text that people can write is hostile."""
    folder = tmp_path_factory.mktemp("kurz") / "data"
    terminal = Terminal({"KURZ_DATA_DIR": str(folder)})
    assert terminal.run("migrate").returncode == 0
    asyncio.run(fill(folder))
    return terminal


async def fill(folder: Path) -> None:
    async with open_kurz(Settings(data_dir=folder)) as kurz:
        people = People(kurz)
        ada = await people.add("ada@example.com")
        bob = await people.add("bob@example.com")
        await people.workspace(ada)
        await people.key(ada, Permission.LINKS_READ)
        for code in ("listed", "thrown-away"):
            draft = Draft(original_url="https://example.com/", custom_code=code, tags=("x",))
            link = (await kurz.links.create(draft)).link
        await kurz.store.update(link, {"status": Status.DELETED}, kurz.clock.now())
        clicks = Clicks(kurz.database)
        clicks.add(link, datetime.now(UTC), referrer=HOSTILE, browser=HOSTILE, country=HOSTILE)
        await clicks.save()

        def spoil(connection: sa.Connection) -> None:
            text = {"original_url": HOSTILE, "title": HOSTILE, "notes": NOTES + HOSTILE}
            connection.execute(sa.update(links).values(text))
            connection.execute(sa.update(workspaces).values(name=HOSTILE))
            connection.execute(sa.update(keys).values(name=HOSTILE))
            report = {"id": 1, "link_id": link.id, "workspace_id": 0, "short_code": "listed"}
            report |= {"short_url": HOSTILE, "location": HOSTILE, "category": "spam"}
            report |= {"message": NOTES + HOSTILE, "contact": HOSTILE, "note": HOSTILE}
            report |= {"reporter": b"", "reported_at": 1, "state": "open"}
            connection.execute(sa.insert(reports).values(report))
            ban = {"kind": "host", "subject": HOSTILE, "reason": HOSTILE}
            connection.execute(
                sa.insert(bans).values(
                    ban | {"banned_at": 1, "is_pending": False, "was_disabled": False}
                )
            )
            entry = {"via": "cli", "action": HOSTILE, "subject": HOSTILE, "done_at": 1}
            details = json.dumps({"reason": HOSTILE})
            connection.execute(sa.insert(audit).values(entry | {"details": details}))
            of_bob = sa.update(accounts).where(accounts.c.id == bob.id)
            connection.execute(of_bob.values(email=HOSTILE))

        await kurz.database.write(spoil)


@pytest.mark.parametrize(
    "command",
    [
        *("list", "show listed", "trash", "stats", "admin workspace list"),
        *in_the_long_run("stats thrown-away", "stats --workspace team", "qr listed", "admin list"),
        *("admin reports show 1", "admin bans", "admin audit"),
        *in_the_long_run("admin key list ada@example.com", "admin reports list"),
    ],
)
def test_a_table_has_no_sequences(terminal, command):
    done = terminal.run(*command.split(" "))
    assert done.returncode == 0, done.stderr
    for line in (done.stdout + done.stderr).split("\n"):
        assert line.isprintable(), line


@pytest.mark.parametrize(
    "command", in_the_long_run("show nothing\x1b[31m", "list --status \x1b[31m")
)
def test_an_error_has_none(terminal, command):
    done = terminal.run(*command.split(" "))
    assert done.returncode != 0
    assert done.stderr.strip("\n").isprintable()


@pytest.mark.parametrize(
    "command", ["show listed", *in_the_long_run("list", "stats", "admin workspace list")]
)
def test_json_says_the_same_in_escapes(terminal, command):
    done = terminal.run(*command.split(" "), "--json")
    assert done.returncode == 0, done.stderr
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", done.stdout)
    assert json.dumps(HOSTILE)[1:-1] in json.dumps(json.loads(done.stdout))


def test_notes_do_not_look_like_other_fields(terminal):
    lines = terminal.run("show", "listed").stdout.splitlines()
    assert len([line for line in lines if line.startswith("status")]) == 1
    [forged] = [line for line in lines if "forged" in line and "status" in line]
    assert forged.startswith("  ")
