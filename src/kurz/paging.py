"""Which part of a list is wanted."""

from dataclasses import dataclass

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What comes after the item with this sort key, `limit` items at most; None: no bound."""

    after: Key | None = None
    limit: int | None = None


WHOLE = Part()
