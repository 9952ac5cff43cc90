"""What long work shows on a terminal."""

import io
import re
import time
from contextlib import redirect_stderr

import pytest

from kurz.cli.progress import RowCounter, Stopwatch, TerminalLine


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True

    def line(self) -> str:
        """What the last line shows: text after a carriage return covers what was there."""
        shown = ""
        for part in self.getvalue().rpartition("\n")[2].split("\r"):
            plain = re.sub(r"\x1b\[\d*m", "", part)
            shown = plain + shown[len(plain) :]
        return shown.rstrip()


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Screen()


def count(stream: io.StringIO) -> None:
    with redirect_stderr(stream), RowCounter("links") as counter:
        time.sleep(0.2)
        counter.add(12_000)


def test_rows_are_counted(screen):
    count(screen)
    assert re.search(r"\x1b\[2m12,000 links  [\d,]+ per second\x1b\[0m", screen.getvalue())


def test_a_shorter_line_covers_a_longer_one_and_none_is_left(screen):
    with redirect_stderr(screen), TerminalLine() as line:
        line.show("a long line")
        line.show("short")
        assert screen.line() == "short"
    assert screen.line() == ""


def test_nobody_gets_colours_who_wants_none(screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    count(screen)
    assert "12,000 links" in screen.getvalue()
    assert "\x1b" not in screen.getvalue()


@pytest.mark.parametrize("is_dumb", [True, False])
def test_nothing_is_shown_where_no_line_can_be_written_again(monkeypatch, is_dumb):
    monkeypatch.setenv("TERM", "dumb" if is_dumb else "xterm")
    stream = Screen() if is_dumb else io.StringIO()
    count(stream)
    assert stream.getvalue() == ""


def test_a_stopwatch_shows_itself_after_a_while_and_lets_lines_stay(screen):
    with redirect_stderr(screen), Stopwatch("Working", shown_after_seconds=0.05) as watch:
        deadline = time.monotonic() + 60
        while not screen.line() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert re.fullmatch(r"Working  \d+ s", screen.line())
        watch.say("Half of it is done.")
    assert re.search(r"(?m)^.*\rHalf of it is done\.$", screen.getvalue())
    assert screen.line() == ""


def test_short_work_shows_nothing(screen):
    with redirect_stderr(screen), Stopwatch("Working"):
        pass
    assert screen.getvalue() == ""
