"""How long a call of the database may take, for everything: waiting for a connection, making one,
the query, and the commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

LIST_SECONDS = 5.0  # of any number of rows
CHECK_SECONDS = 1.0
LONG_SECONDS = 60.0  # what writes many links at once
MIGRATION_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """What an installation may set: for a link that a visitor waits for, and for a write. A read of
    one thing or a few has the time of a write, which begins with such reads."""

    look_up_seconds: float = 0.25
    write_seconds: float = 1.0


USUAL = Deadlines()

_chosen: ContextVar[float | None] = ContextVar("patience", default=None)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Calls within take as long as this, whatever they are."""
    token = _chosen.set(seconds)
    try:
        yield
    finally:
        _chosen.reset(token)


def end_patience() -> None:
    """For a task: what it starts in turn has the usual time again."""
    _chosen.set(None)


def chosen_or(usual_seconds: float) -> float:
    return _chosen.get() or usual_seconds
