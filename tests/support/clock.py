"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta

from kurz.clock import to_micros


class FrozenClock:
    def __init__(self, instant: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self._instant = instant

    def now(self) -> datetime:
        return self._instant

    def micros(self) -> int:
        return to_micros(self._instant)

    def earliest_micros(self) -> int:
        return self.micros()

    def advance(self, **distance: float) -> None:
        """Moves on, by `timedelta`'s arguments: `clock.advance(hours=8)`."""
        self._instant += timedelta(**distance)
