"""Lists, as whoever runs an installation meets them at the command line."""

import json
from pathlib import Path

import pytest

from support.terminal import Terminal

BAD, GOOD = "https://www.bad.example/", "https://good.example/"


@pytest.fixture
def blocklist(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("bad.example\n<what is this>\n0.0.0.0 worse.example\n")
    return path


@pytest.fixture
def terminal(environment: dict[str, str], tmp_path: Path, blocklist: Path) -> Terminal:
    more = {"KURZ_DATA_DIR": str(tmp_path / "data"), "KURZ_BLOCKLISTS": str(blocklist)}
    terminal = Terminal(environment | more)
    assert terminal.run("migrate").returncode == 0
    return terminal


def test_no_link_to_a_listed_host_is_made_without_a_server(terminal):
    refused = terminal.run("create", BAD)
    assert refused.returncode != 0
    assert "is not allowed on this server" in refused.stderr
    assert terminal.run("create", GOOD).returncode == 0


def test_it_tells_which_lists_there_are(terminal, blocklist):
    shown = json.loads(terminal.run("admin", "lists", "--json").stdout)
    assert shown["is_sure"]
    assert shown["lists"] == [
        {"role": "block", "path": str(blocklist), "rules": 2, "bad_lines": 1, "problem": None}
    ]
    assert shown["held_links"] == 0
    text = terminal.run("admin", "lists").stdout
    assert str(blocklist) in text
    assert "none yet" in text
    assert "it is on a blocklist" in terminal.run("admin", "lists", "--url", BAD).stdout
    assert "Links to this URL are allowed." in terminal.run("admin", "lists", "--url", GOOD).stdout


def test_a_list_that_is_gone_is_told_of_and_holds_links(terminal, blocklist):
    blocklist.unlink()
    code = terminal.run("create", GOOD).stdout.strip().rpartition("/")[2]
    assert "held" in terminal.run("show", code).stdout
    shown = json.loads(terminal.run("admin", "lists", "--json").stdout)
    assert (shown["is_sure"], shown["held_links"]) == (False, 1)
    assert "cannot be read" in terminal.run("admin", "lists").stdout
    doctor = terminal.run("doctor")
    assert doctor.returncode == 1
    assert f"{blocklist} cannot be read" in doctor.stdout
