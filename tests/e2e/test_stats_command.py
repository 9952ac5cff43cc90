"""`kurz stats`, by subprocess."""

import asyncio
import os
import pty
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kurz.clicks.counts import VisitKind
from kurz.links.model import Draft
from kurz.settings.model import Settings
from kurz.wiring.core import open_kurz
from support.counted import Clicks
from support.terminal import KURZ, Terminal


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """With a link that was clicked, one that was not, and a workspace."""
    folder = tmp_path_factory.mktemp("kurz") / "data"
    terminal = Terminal({"KURZ_DATA_DIR": str(folder), "COLUMNS": "80"})
    assert terminal.run("migrate").returncode == 0
    asyncio.run(fill(folder))
    return terminal


async def fill(folder: Path) -> None:
    async with open_kurz(Settings(data_dir=folder)) as kurz:
        made = [
            (await kurz.links.create(Draft(original_url="https://example.com/", **fields))).link
            for fields in ({"custom_code": "launch", "tags": ("red",)}, {"custom_code": "quiet"})
        ]
        clicks = Clicks(kurz.database)
        now = datetime.now(UTC)
        for day in range(5):
            at = now - timedelta(days=day)
            clicks.add(made[0], at, 10 * (day + 1), country="DE", referrer="news.example")
        clicks.add(made[0], now, 3, country="FR", referrer="\x1b[31mred.example")
        clicks.add(made[0], now, 7, sort=VisitKind.BOT, browser="Crawler")
        await clicks.save()


def test_a_link_is_told_in_words_and_tables(terminal):
    done = terminal.run("stats", "launch")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "http://127.0.0.1:8080/launch"
    assert "clicks    160" in lines
    assert "people    153" in lines
    assert "  DE  150   98%" in lines
    assert any(line.endswith("  50      0") for line in lines)
    assert "\x1b" not in done.stdout
    assert "█" not in done.stdout


def test_everything_names_the_links(terminal):
    assert "  http://127.0.0.1:8080/launch  153  100%" in terminal.run("stats").stdout.splitlines()


def test_a_tag_has_stats_of_its_own(terminal):
    assert terminal.json("stats", "--tag", "red")["totals"]["clicks"] == 160


def test_a_period_can_be_chosen(terminal):
    assert len(terminal.json("stats", "--last", "7d")["series"]) == 7
    assert terminal.json("stats", "--last", "3h")["interval"] == "hour"
    assert len(terminal.json("stats", "--last", "24h")["series"]) == 25  # today's midnight or not
    assert len(terminal.json("stats", "--last", "36h")["series"]) == 37
    found = terminal.json("stats", "--from", "2020-01-01", "--to", "2020-01-31")
    assert (found["totals"]["clicks"], found["all_time"]["clicks"]) == (0, 160)
    assert terminal.json("stats", "--zone", "Asia/Kolkata")["zone"] == "Asia/Kolkata"


def test_the_series_goes_into_a_file(terminal, tmp_path):
    done = terminal.run("stats", "launch", "--csv", str(tmp_path / "out.csv"))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "start,clicks,people,bots,daily_visitors"
    assert len(lines) == 31
    assert terminal.run("stats", "launch", "--csv", "-").stdout.splitlines() == lines


def test_a_link_without_clicks_says_so(terminal):
    done = terminal.run("stats", "quiet")
    assert done.stderr == "No clicks in this period.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nobody"], 3, "no link"),
        (["launch", "--tag", "red"], 2, "not both"),
        (["--workspace", "none"], 3, "no workspace"),
        (["--tag", "blue"], 3, "“blue”"),
        (["--last", "3d", "--from", "2026-01-01"], 2, "--last"),
        (["--from", "soon"], 2, "`from`"),
        (["--zone", "Moon"], 2, "Europe/Berlin"),
        (["--last", "long"], 2, "12h"),
        (["--last", "0d"], 2, "--last"),
        (["--csv", "-", "--json"], 2, "not both"),
    ],
)
def test_a_mistake_gets_one_line(terminal, arguments, code, sentence):
    done = terminal.run("stats", *arguments)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def show(terminal: Terminal, *arguments: str, columns: int) -> str:
    """What is on a terminal of that width."""
    ours, theirs = pty.openpty()
    environment = {**terminal.environment, "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [KURZ, *arguments], env=environment, stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # all has been read
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(60) == 0
    return shown.decode()


def test_on_a_terminal_there_is_a_chart(terminal):
    text = show(terminal, "stats", "launch", columns=80)
    assert "█" in text
    assert "people by day" in text
    assert "\x1b[31mred" not in text


@pytest.mark.parametrize("columns", [80, 60, 40, 30])
def test_what_came_fits_the_terminal(terminal, columns):
    text = re.sub(r"\x1b\[[0-9;]*m", "", show(terminal, "stats", columns=columns))
    tables = text[text.index("\r\nlinks") :].splitlines()
    assert max(map(len, tables)) <= columns
    assert any("/launch" in line for line in tables)
    assert any("news.exam" in line for line in tables)
