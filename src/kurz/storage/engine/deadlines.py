"""How long a database call may take in total: waiting for a connection, opening one, the query, and
the commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

LIST_SECONDS = 5.0  # of any number of rows
CHECK_SECONDS = 1.0
LONG_SECONDS = 60.0  # what writes many links at once


@dataclass(frozen=True, slots=True)
class Deadlines:
    """What an installation can configure: the time of a lookup that a visitor waits for, and of a
    write. Small reads have the time of a write, because writes begin with such reads."""

    lookup_seconds: float = 0.25
    write_seconds: float = 1.0


USUAL = Deadlines()

_current: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Database calls inside this block have this many seconds instead of their default."""
    token = _current.set(seconds)
    try:
        yield
    finally:
        _current.reset(token)


def end_deadline() -> None:
    """For a task: its calls use their default again."""
    _current.set(None)


def current_or(usual_seconds: float) -> float:
    return _current.get() or usual_seconds
