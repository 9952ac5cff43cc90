"""The history of a link over HTTP, and the change log behind it."""

import sqlalchemy as sa

from kurz.people.access import Role
from kurz.storage.schema.links import changes
from support.desk import Desk
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine


async def test_history_tells_who_did_what_newest_first(team, people, clock):
    link = await team.make(title="old", tags=["a"])
    editor = await people.add()
    workspace = await team.kurz.workspaces.find(team.workspace_id)
    await people.join(workspace, editor, Role.EDITOR)
    other = Desk(team.kurz, team.client, editor, team.workspace_id)
    clock.advance(hours=1)
    await other.edit(link, title="new", expires_at="2027-01-01T00:00:00Z")
    await team.edit(link, is_paused=True)
    await team.ask("PATCH", f"{team.tags}/a", json={"tag": "b"})
    await team.delete(link)
    await other.restore(link)
    history = (await team.get(link, "/history")).json()["history"]
    assert [(entry["action"], entry["account_id"], entry["version"]) for entry in history] == [
        ("restore", editor.id, 6),
        ("delete", team.person.id, 5),
        ("tags", team.person.id, 4),
        ("edit", team.person.id, 3),
        ("edit", editor.id, 2),
    ]
    assert [entry["changes"] for entry in history] == [
        {"status": ["DELETED", "ACTIVE"]},
        {"status": ["PAUSED", "DELETED"]},
        {"tags": [["a"], ["b"]]},
        {"status": ["ACTIVE", "PAUSED"]},
        {"title": ["old", "new"], "expires_at": [None, "2027-01-01T00:00:00+00:00"]},
    ]
    assert {entry["changed_at"] for entry in history} == {"2026-03-01T13:00:00Z"}


async def test_what_was_refused_is_not_in_the_history(desk):
    link = await desk.make()
    await desk.edit(link, title="")
    await desk.edit(link, if_match='"9"', title="x")
    assert (await desk.get(link, "/history")).json()["history"] == []


async def test_every_write_is_in_the_change_log(desk):
    """It is what caches follow; a link that moves leaves its old code there too."""
    link = await desk.make(custom_code="before", tags=["a"])
    await desk.edit(link, custom_code="after")
    await desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "b"})
    await desk.delete(link)
    await desk.restore(link)
    query = sa.select(changes.c.short_code, changes.c.version).order_by(changes.c.id)
    logged = await desk.kurz.database.read(lambda it: [tuple(row) for row in it.execute(query)])
    assert sorted(logged, key=lambda row: row[1]) == [
        ("before", 1),
        ("after", 2),
        ("before", 2),
        ("after", 3),
        ("after", 4),
        ("after", 5),
    ]
