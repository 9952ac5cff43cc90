"""A batch in slices, each of which is written in its own transaction.

The larger a batch, the fewer rows it writes for each click. But on SQLite, nobody else can write
during a transaction. So a slice has some links of the batch, in the order of their ids, and a
proportional share of the clicks to store. The last one also has the subjects that all links share.
The position in the journal says which slices are counted. A loader that finds a partly counted
batch reads the same clicks again, and continues after that link. It may divide the rest
differently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from kurz.clicks.batch import Batch, DayCounts, Event, Subject, SubjectKind
from kurz.clicks.moments import Moments
from kurz.storage.clicks.positions import CountedSlices

MAX_CLICKS = 5000
MIN_CLICKS = 200  # below this, the transaction itself is most of the cost
FIRST_CLICKS = 1000


@dataclass(slots=True)
class Slice:
    """What one transaction adds. It is refused unless the segment is at `before`."""

    segment: bytes
    before: CountedSlices
    after: CountedSlices
    days: Mapping[tuple[Subject, int], DayCounts]
    moments: Mapping[Subject, Moments]
    events: Sequence[Event]

    @property
    def is_last(self) -> bool:
        return self.after.slices_end is None


class SlicePace:
    """Adapts the size of slices, in clicks or rows, so that writing one takes at most
    `max_seconds`. A single slow write may have waited for others, so the size changes in small
    steps."""

    def __init__(self, max_seconds: float, size: int = FIRST_CLICKS) -> None:
        self.size = size
        self._max_seconds = max_seconds

    def note(self, seconds: float, *, is_full: bool) -> None:
        """Writing a slice took this long. `is_full`: it was as large as it could be."""
        if seconds > self._max_seconds:
            self.size = max(self.size * 3 // 4, MIN_CLICKS)
        elif is_full and seconds < self._max_seconds * 3 / 4:
            self.size = min(self.size * 5 // 4, MAX_CLICKS)


def begins_at(batch: Batch, progress: CountedSlices) -> bool:
    """Whether the next slice of this segment belongs to this batch."""
    at, end = progress.offset, progress.slices_end
    return at == batch.start.offset and end in (None, batch.end.offset)


class Slices:
    """The slices of a batch from `progress` on. The caller says how large each is."""

    def __init__(self, batch: Batch, progress: CountedSlices) -> None:
        self._batch = batch
        self._progress = progress
        self._event = progress.stored_events or 0
        links = [key for key in batch.days if key[0].kind is SubjectKind.LINK]
        links.sort(key=_link_of)
        counted = progress.counted_link
        if counted is not None:
            links = [key for key in links if _link_of(key) > counted]
        self._links = links
        self._next = 0
        self._links_a_click = len(links) / max(len(batch.events) - self._event, 1)

    def cut(self, clicks: int | None) -> Slice:
        """The next slice, of about this many clicks; None: all that is left."""
        batch, before = self._batch, self._progress
        event, link = len(batch.events), len(self._links)
        if clicks is not None:
            event = min(event, self._event + clicks)
            link = self._end_of_link(self._next + max(ceil(clicks * self._links_a_click), 1))
        keys = self._links[self._next : link]
        events = batch.events[self._event : event]
        if event == len(batch.events) and link == len(self._links):
            after = CountedSlices(batch.end.offset)
            keys += [key for key in batch.days if key[0].kind is not SubjectKind.LINK]
        else:
            counted = _link_of(keys[-1]) if keys else before.counted_link
            after = CountedSlices(batch.start.offset, batch.end.offset, counted, event)
        self._progress, self._event, self._next = after, event, link
        days, moments = batch.days, batch.moments
        if before.slices_end is not None or after.slices_end is not None:
            days = {key: days[key] for key in keys}
            moments = {subject: moments[subject] for subject, _ in keys if subject in moments}
        return Slice(batch.start.segment, before, after, days, moments, events)

    def _end_of_link(self, at: int) -> int:
        """All days of a link belong to one slice."""
        links = self._links
        while 0 < at < len(links) and _link_of(links[at]) == _link_of(links[at - 1]):
            at += 1
        return min(at, len(links))


def _link_of(key: tuple[Subject, int]) -> int:
    return key[0][1]
