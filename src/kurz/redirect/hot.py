"""The links in a worker's memory: bounded, and without invalidated entries."""

from collections import deque

from kurz.redirect.entry import Entry

MAX_ABSENCES = 10_000  # so that guessing codes does not evict links
_NEVER = 2**63  # more than any version: two links had the code since the lookup began
_SLACK = 1000  # stale places in a queue, beyond the number of entries


class Load:
    """A lookup in progress. Its result is kept only if it is not older than `min_version`, the
    version that was written since it began, and belongs to the link that was written."""

    __slots__ = ("key", "link_id", "min_version")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.min_version = 0
        self.link_id = 0  # any


class _EntryQueue:
    """FIFO with a second chance. The oldest entry is evicted, unless it was used since its last
    turn; then it goes to the end of the queue. A hit only has to set a flag."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self.entries: dict[bytes, Entry] = {}
        self.bytes = 0
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._queue: deque[Entry] = deque()

    def put(self, entry: Entry) -> None:
        self.drop(entry.key)
        self.entries[entry.key] = entry
        self.bytes += entry.size
        self._queue.append(entry)
        while len(self.entries) > self._max_entries or self.bytes > self._max_bytes:
            self._make_room()
        if len(self._queue) > 2 * len(self.entries) + _SLACK:
            self._queue = deque(self.entries.values())

    def drop(self, key: bytes) -> None:
        """Its place in the queue is removed later."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry.size

    def clear(self) -> None:
        self.entries.clear()  # the same dict, which others read
        self._queue.clear()
        self.bytes = 0

    def _make_room(self) -> None:
        entry = self._queue.popleft()
        if self.entries.get(entry.key) is not entry:
            return
        if entry.was_used and self._queue:
            entry.was_used = False
            self._queue.append(entry)
        else:
            self.drop(entry.key)


class HotSet:
    """The lane reads `entries` and `absences` directly, and sets `was_used`."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._links = _EntryQueue(max_entries, max_bytes)
        self._absent = _EntryQueue(MAX_ABSENCES, max_bytes)
        self._loads: dict[bytes, set[Load]] = {}
        self.entries = self._links.entries
        self.absences = self._absent.entries

    @property
    def size(self) -> int:
        """In bytes."""
        return self._links.bytes + self._absent.bytes

    def peek(self, key: bytes, now: int) -> Entry | None:
        entry = self.entries.get(key) or self.absences.get(key)
        if entry is None:
            return None
        if entry.is_stale(now):
            self._links.drop(key)
            self._absent.drop(key)
            return None
        entry.was_used = True
        return entry

    def begin(self, load: Load) -> None:
        """To be called before the store is asked, if that waits. `finish` or `give_up` ends it."""
        self._loads.setdefault(load.key, set()).add(load)

    def finish(self, load: Load, entry: Entry) -> None:
        """Keeps what was found, unless something newer was written or is known."""
        self.give_up(load)
        known = self.entries.get(load.key)
        if entry.version < load.min_version or (load.link_id and entry.link_id != load.link_id):
            return
        if known is not None and known.version > entry.version:
            return
        if entry.version:
            self._absent.drop(load.key)
            self._links.put(entry)
        else:
            self._links.drop(load.key)
            self._absent.put(entry)

    def forget_space(self, space: int) -> None:
        """Drops all links of a space, because they have ended. Results of lookups in progress are
        not kept, because nobody knows yet whose links they will find."""
        for key in [key for key, entry in self.entries.items() if entry.space == space]:
            self._links.drop(key)
        self._outdate_loads()

    def clear(self) -> None:
        """Drops everything, including the results of lookups in progress."""
        self._links.clear()
        self._absent.clear()
        self._outdate_loads()

    def _outdate_loads(self) -> None:
        for loads in self._loads.values():
            for load in loads:
                load.min_version = _NEVER

    def give_up(self, load: Load) -> None:
        loads = self._loads.get(load.key)
        if loads is not None:
            loads.discard(load)
            if not loads:
                del self._loads[load.key]

    def forget(self, key: bytes, version: int, link_id: int = 0) -> None:
        """Something was written under this key: drops what is older, also results of lookups in
        progress. An entry of another link is dropped whatever its version; 0 is any link."""
        self._absent.drop(key)
        known = self.entries.get(key)
        if known is not None and (
            known.version < version or (link_id and known.link_id != link_id)
        ):
            self._links.drop(key)
        for load in self._loads.get(key, ()):
            is_of_another = link_id and load.link_id not in (0, link_id)
            load.min_version = _NEVER if is_of_another else max(load.min_version, version, 1)
            load.link_id = link_id or load.link_id
