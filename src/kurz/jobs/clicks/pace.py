"""How many clicks are counted at a time."""

MAX_RECORDS = 5000
MIN_RECORDS = 200  # below this, the transaction itself is most of the cost
FIRST_RECORDS = 1000


class CountingPace:
    """Adapts to the duration of writes: at most `max_seconds`, if there is a limit. A single slow
    write may have waited for others, so it takes several to slow down."""

    def __init__(self, max_seconds: float | None) -> None:
        self.records = MAX_RECORDS if max_seconds is None else FIRST_RECORDS
        self._max_seconds = max_seconds

    @property
    def is_bounded(self) -> bool:
        return self._max_seconds is not None

    def note(self, records: int, seconds: float) -> None:
        """A write of this many clicks took this long."""
        if self._max_seconds is None:
            return
        if seconds > self._max_seconds:
            self.records = max(self.records * 3 // 4, MIN_RECORDS)
        elif records >= self.records and seconds < self._max_seconds * 3 / 4:
            self.records = min(self.records * 5 // 4, MAX_RECORDS)
