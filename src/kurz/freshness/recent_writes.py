"""What was written lately. By it values are judged that come from places which may be behind the
database: the second tier, and replicas."""

from collections import deque
from collections.abc import Sequence

from kurz.links.model import Change, Route

MAX_FLOORS = 20_000  # some 8 MB; what is older than the last so many changes is not believed

Numbered = tuple[int, Change]


class Floors:
    """`position` is the number up to which every row of the change log was heard: what is read from
    the database after that holds all those changes, and may say so of itself."""

    def __init__(self, max_floors: int = MAX_FLOORS) -> None:
        self._max_floors = max_floors
        self._floors: dict[tuple[int, str], Change] = {}
        self._order: deque[Numbered] = deque()
        self._begins_at = 0  # of the changes up to here some may be forgotten
        self._ends_at = 0  # the highest number so far
        self._last: dict[int, int] = {}  # workspace → number of its last change
        self._unnumbered: dict[int, set[Change]] = {}  # workspace → own changes, not yet read back
        self.position = 0

    def hear(self, changes: Sequence[Numbered]) -> None:
        """Number 0: written by this process, and not yet read back from the log."""
        for number, change in changes:
            self._raise(change)
            workspace_id = change.workspace_id
            if number:
                self._ends_at = max(self._ends_at, number)
                self._order.append((number, change))
                self._last[workspace_id] = max(self._last.get(workspace_id, 0), number)
                waiting = self._unnumbered.get(workspace_id)
                if waiting is not None:
                    waiting.discard(change)
                    if not waiting:
                        del self._unnumbered[workspace_id]
            else:
                self._unnumbered.setdefault(workspace_id, set()).add(change)
        while len(self._order) > self._max_floors:
            self._drop_first()

    def start_over(self, position: int) -> None:
        """Changes up to this number may have been missed."""
        self._floors.clear()
        self._order.clear()
        self._last.clear()
        self._unnumbered.clear()
        self._begins_at = self._ends_at = self.position = position

    def settle(self, position: int) -> None:
        self.position = position

    def admits(
        self, workspace_id: int, short_code: str, found: Route | None, position: int
    ) -> bool:
        """Whether what was found under this code, when the log stood at `position`, holds all that
        was heard of since. None: there was no such link. A position that was never heard of may be
        one of a log that is lost: the database was restored, or another one took over."""
        if not self._begins_at <= position <= self._ends_at:
            return False
        floor = self._floors.get((workspace_id, short_code))
        if floor is None:
            return True
        return (
            found is not None and found.link_id == floor.link_id and found.version >= floor.version
        )

    def position_of(self, workspace_id: int) -> int | None:
        """Where the log has to stand at least for a list of this workspace's links to be whole.
        None: nowhere that is known yet."""
        if workspace_id in self._unnumbered:
            return None
        return max(self._last.get(workspace_id, 0), self._begins_at)

    def _raise(self, change: Change) -> None:
        place = change.workspace_id, change.short_code
        floor = self._floors.get(place)
        if floor is None or floor.link_id != change.link_id or floor.version < change.version:
            self._floors[place] = change

    def _drop_first(self) -> None:
        number, change = self._order.popleft()
        self._begins_at = max(self._begins_at, number)
        place = change.workspace_id, change.short_code
        if self._floors.get(place) == change:
            del self._floors[place]
