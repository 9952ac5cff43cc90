"""Which part of a list is wanted."""

from dataclasses import dataclass
from datetime import datetime

Key = tuple[str | int, ...]

After = tuple[datetime, int] | None  # where a page ended that is in order of time


@dataclass(frozen=True, slots=True)
class Part:
    """What comes after the item with this sort key, `limit` items at most; None: no bound."""

    after: Key | None = None
    limit: int | None = None


WHOLE = Part()
