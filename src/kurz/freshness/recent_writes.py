"""The last writes. They decide whether a value from the second tier or a replica, which may be
behind the database, is current."""

from collections import deque
from collections.abc import Sequence

from kurz.freshness.routes import Change, Route

MAX_RECENT_WRITES = 20_000  # about 8 MB; older values are not used

_NOT_READ_BACK = 2**63  # above any number: until it is read back, no value is known to be newer

Numbered = tuple[int, Change]


class RecentWrites:
    """`position` is the number up to which every row of the change log was read. A value read from
    the database after that contains all those changes, and is stored with this position."""

    def __init__(self, max_writes: int = MAX_RECENT_WRITES) -> None:
        self._max_writes = max_writes
        self._latest: dict[tuple[int, str], Change] = {}
        self._order: deque[Numbered] = deque()
        self._begins_at = 0  # changes up to here may be forgotten
        self._ends_at = 0  # the highest number so far
        self._last: dict[int, int] = {}  # workspace → number of its last change
        self._unnumbered: dict[int, set[Change]] = {}  # workspace → own changes, not yet read back
        self._ended: dict[int, int] = {}  # space → number of the change that ended it
        self.position = 0

    def on_changes(self, changes: Sequence[Numbered]) -> None:
        """Number 0: written by this process, and not yet read back from the log."""
        for number, change in changes:
            if (space := change.ended_space) is not None:
                self._ended[space] = number or self._ended.get(space, _NOT_READ_BACK)
            else:
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
        while len(self._order) > self._max_writes:
            self._drop_first()

    def reset(self, position: int) -> None:
        """Changes up to this number may have been missed."""
        self._latest.clear()
        self._order.clear()
        self._last.clear()
        self._unnumbered.clear()
        self._ended.clear()
        self._begins_at = self._ends_at = self.position = position

    def on_caught_up(self, position: int) -> None:
        self.position = position

    def is_current(
        self, workspace_id: int, short_code: str, found: Route | None, position: int
    ) -> bool:
        """Whether a value that was read at `position` contains all changes that this process has
        read. `found` None: there was no such link. A position beyond what was read may be of a lost
        log: the database was restored, or another one took over."""
        if not self._begins_at <= position <= self._ends_at:
            return False
        if found is not None and position < self._ended.get(found.space, 0):
            return False
        latest = self._latest.get((workspace_id, short_code))
        if latest is None:
            return True
        return (
            found is not None
            and found.link_id == latest.link_id
            and found.version >= latest.version
        )

    def required_position(self, workspace_id: int) -> int | None:
        """The position that a replica must have reached to list this workspace's links completely.
        None: it is not known yet."""
        if workspace_id in self._unnumbered:
            return None
        return max(self._last.get(workspace_id, 0), self._begins_at)

    def _raise(self, change: Change) -> None:
        place = change.workspace_id, change.short_code
        latest = self._latest.get(place)
        if latest is None or latest.link_id != change.link_id or latest.version < change.version:
            self._latest[place] = change

    def _drop_first(self) -> None:
        number, change = self._order.popleft()
        self._begins_at = max(self._begins_at, number)
        place = change.workspace_id, change.short_code
        if self._latest.get(place) == change:
            del self._latest[place]
        if (space := change.ended_space) is not None and self._ended.get(space) == number:
            del self._ended[space]
