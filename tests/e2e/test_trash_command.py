"""`kurz trash` by subprocess."""

import re

import pytest

from kurz.links.model import Draft, Scope
from kurz.wiring.core import Kurz
from support.people import People


async def make(kurz: Kurz, *codes: str, workspace_id: int = 0) -> list[int]:
    """Links; their ids."""
    drafts = [
        Draft(
            original_url=f"https://example.com/{code}", workspace_id=workspace_id, custom_code=code
        )
        for code in codes
    ]
    return [kurz.links.public_id((await kurz.links.create(draft)).link) for draft in drafts]


async def throw_away(kurz: Kurz, *codes: str, workspace_id: int = 0) -> None:
    """Links that were made and deleted."""
    for link_id in await make(kurz, *codes, workspace_id=workspace_id):
        await kurz.links.delete(link_id, Scope())


def codes(terminal, *options: str) -> list[str]:
    return [link["short_code"] for link in terminal.json("trash", *options)["links"]]


def test_a_link_goes_to_the_trash_and_back_or_for_ever(terminal):
    terminal.prepare(lambda kurz: make(kurz, "first", "second"))
    assert "empty" in terminal.run("trash").stderr
    assert terminal.run("trash", "delete", "first").returncode == 3  # it is not there yet
    for code in ("first", "second"):
        terminal.run("delete", code)
    shown = terminal.run("trash").stdout.splitlines()
    assert shown[0].split() == ["deleted", "link", "clicks", "by", "purged", "destination"]
    assert [re.findall(r" (/\w+) ", line) for line in shown[1:]] == [["/second"], ["/first"]]
    assert all(
        "owner" in line and ("in 29 d 23 h" in line or "in 30 d" in line) for line in shown[1:]
    )
    later = terminal.json("trash", "restore", "first", "--expires-in", "3d")
    assert later["expires_at"] is not None
    done = terminal.run("trash", "delete", "second")
    assert done.stdout.endswith("/second was permanently deleted.\n")
    assert codes(terminal) == []
    assert terminal.run("show", "second").returncode == 3
    assert terminal.json("show", "first")["status"] == "ACTIVE"


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_emptying_asks_first(terminal):

    async def fill(kurz: Kurz) -> None:
        await throw_away(kurz, "one", "two")
        await make(kurz, "kept")

    terminal.prepare(fill)
    refused = terminal.run("trash", "empty")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    code, screen = terminal.type_at("trash", "empty", answers=["n"])
    assert code == 130
    assert "Permanently delete 2 links?" in screen
    assert len(codes(terminal)) == 2
    code, screen = terminal.type_at("trash", "empty", answers=["y"])
    assert (code, "2 links permanently deleted." in screen) == (0, True)
    assert terminal.json("trash", "empty", "--yes") == {"purged": 0}
    assert terminal.json("list")["total"] == 1


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_options_of_the_list_do_not_get_lost_before_a_command(terminal, tmp_path):
    terminal.prepare(lambda kurz: throw_away(kurz, "one"))
    for options in (["--data-dir", str(tmp_path)], ["--workspace", "team"], ["--json"]):
        done = terminal.run("trash", *options, "empty", "--yes")
        assert done.returncode == 2
        assert "kurz trash empty" in done.stderr
    assert codes(terminal) == ["one"]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_workspaces_trash_is_emptied_alone(terminal):
    async def fill(kurz: Kurz) -> None:
        people = People(kurz)
        team = await people.workspace(await people.add())
        await throw_away(kurz, "mine")
        await throw_away(kurz, "ours", workspace_id=team.id)

    terminal.prepare(fill)
    assert codes(terminal, "--workspace", "team") == ["ours"]
    assert terminal.json("trash", "empty", "--workspace", "team", "--yes") == {"purged": 1}
    assert codes(terminal) == ["mine"]
    assert terminal.json("trash", "empty", "--yes") == {"purged": 1}
