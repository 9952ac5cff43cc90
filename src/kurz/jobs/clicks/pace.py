"""How many clicks are counted at a time."""

# The clicks of a batch share the cost of the rows they add to. With 20,000 instead of 5,000, a
# click takes a seventh less of the loader's CPU time. Larger batches gain little more.
MAX_RECORDS = 20_000
MIN_RECORDS = 200  # below this, the transaction itself is most of the cost
FIRST_RECORDS = 5000
SLOW_SECONDS = 2.0  # of the 10 that writing a batch may take


class CountingPace:
    """Writing a batch should take at most `SLOW_SECONDS`: a slow database gets smaller batches."""

    def __init__(self) -> None:
        self.records = FIRST_RECORDS

    def note(self, records: int, seconds: float) -> None:
        """Writing a batch of this many clicks took this long."""
        if seconds > SLOW_SECONDS:
            self.slow_down()
        elif records >= self.records and seconds < SLOW_SECONDS / 2:
            self.records = min(self.records * 2, MAX_RECORDS)

    def slow_down(self) -> None:
        self.records = max(self.records // 2, MIN_RECORDS)
