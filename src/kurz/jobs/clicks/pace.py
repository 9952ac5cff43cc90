"""How many clicks are counted at a time."""

MAX_RECORDS = 5000
MIN_RECORDS = 200  # below this, what a transaction itself costs is most of it
FIRST_RECORDS = 1000


class Pace:
    """Follows what writes take: at most `max_seconds`, if there is such a bound. A single slow one
    may have waited for somebody else, so that it takes several to become slow."""

    def __init__(self, max_seconds: float | None) -> None:
        self.records = MAX_RECORDS if max_seconds is None else FIRST_RECORDS
        self._max_seconds = max_seconds

    @property
    def is_bounded(self) -> bool:
        return self._max_seconds is not None

    def note(self, records: int, seconds: float) -> None:
        """A write of that many took so long."""
        if self._max_seconds is None:
            return
        if seconds > self._max_seconds:
            self.records = max(self.records * 3 // 4, MIN_RECORDS)
        elif records >= self.records and seconds < self._max_seconds * 3 / 4:
            self.records = min(self.records * 5 // 4, MAX_RECORDS)
