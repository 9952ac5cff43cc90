"""Progress on a terminal: a line that is written again and again, on the error stream."""

import re
import sys
import threading
import time
from typing import Self

import typer

from kurz.terminals import has_colours, has_cursor

_REFRESH_SECONDS = 0.1
_STYLE = re.compile(r"\x1b\[[0-9;]*m")  # what typer.style adds
_SHOWN_AFTER_SECONDS = 2.0  # shorter work shows nothing


class TerminalLine:
    """A line of progress on a terminal, and nothing elsewhere. It disappears when the work is
    done."""

    def __init__(self) -> None:
        self._is_shown = has_cursor(sys.stderr)
        self._has_colours = has_colours(sys.stderr)
        self._shown_at = float("-inf")
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def is_due(self) -> bool:
        """Not for every small step: that would take longer than the work."""
        return self._is_shown and time.monotonic() - self._shown_at > _REFRESH_SECONDS

    def show(self, text: str) -> None:
        """Spaces cover what is left of a longer line: not all terminals know a sequence for it."""
        self._shown_at = time.monotonic()
        width = len(_STYLE.sub("", text))
        self._write(f"\r{text}{' ' * (self._width - width)}")
        self._width = width

    def clear(self) -> None:
        if self._width:
            self.show("")
            self._write("\r")

    def _write(self, text: str) -> None:
        typer.echo(text, nl=False, err=True, color=self._has_colours)


class RowCounter(TerminalLine):
    """`12,000 rows  9,800 a second`."""

    def __init__(self, noun: str) -> None:
        super().__init__()
        self._noun = noun
        self._started = self._shown_at = time.monotonic()
        self.count = 0

    def add(self, count: int) -> None:
        self.count += count
        if self.is_due():
            rate = self.count / (time.monotonic() - self._started)
            self.show(typer.style(f"{self.count:,} {self._noun}  {rate:,.0f} per second", dim=True))


class Stopwatch(TerminalLine):
    """`Upgrading the database  12 s`: for work whose steps cannot be counted. A thread of its own
    shows it, because the work may keep this one busy."""

    def __init__(self, text: str, *, shown_after_seconds: float = _SHOWN_AFTER_SECONDS) -> None:
        super().__init__()
        self._text = text
        self._shown_after_seconds = shown_after_seconds
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if self._is_shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._is_shown:
            self._thread.join()
        self.clear()

    def say(self, text: str) -> None:
        """A whole line, which stays."""
        with self._lock:
            self.clear()
            typer.echo(text, err=True)

    def _run(self) -> None:
        started = time.monotonic()
        wait_seconds = self._shown_after_seconds
        while not self._end.wait(wait_seconds):
            with self._lock:
                self.show(f"{self._text}  {time.monotonic() - started:.0f} s")
            wait_seconds = 1.0
