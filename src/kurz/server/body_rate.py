"""How fast the body of a request must arrive."""

from collections import deque

MIN_BYTES_PER_SECOND = 1024
WINDOW_SECONDS = 10.0  # over which that is measured
SAMPLE_SECONDS = 0.5  # until the next check: less than a tick, so at every tick


class BodyRate:
    """The arrival of one body, by the loop's clock. `add` counts what arrives; `is_too_slow` is
    asked once a second. The first window is free, and so is a body that ends before its window
    does."""

    def __init__(self, now: float) -> None:
        self._received = 0
        self.began_at = now
        self._samples = deque([(now, 0)])  # of the last window: when, and what had arrived

    def add(self, count: int) -> None:
        self._received += count

    def is_too_slow(self, now: float) -> bool:
        samples = self._samples
        samples.append((now, self._received))
        while samples[1][0] <= now - WINDOW_SECONDS:
            samples.popleft()
        at, before = samples[0]
        is_whole_window = now - at >= WINDOW_SECONDS
        return is_whole_window and self._received - before < MIN_BYTES_PER_SECOND * WINDOW_SECONDS

    def restart(self, now: float) -> None:
        """The server did not read: that time does not count."""
        self._received = 0
        self.began_at = now
        self._samples = deque([(now, 0)])

    def behind_since(self, now: float) -> float:
        """Until when the rate was high enough: now, if it still is."""
        return min(self.began_at + self._received / MIN_BYTES_PER_SECOND, now)
