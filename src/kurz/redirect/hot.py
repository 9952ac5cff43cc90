"""The links in a worker's memory: bounded, and without invalidated entries."""

from kurz.redirect.entry import Entry
from kurz.redirect.packed import (
    SPACE,
    identity_of,
    pack,
    pack_space,
    size_of,
    slot_of,
    unpack,
)

MAX_ABSENCES = 10_000  # so that guessing codes does not evict links
_NEVER = 2**63  # more than any version: two links had the code since the lookup began


class Load:
    """A lookup in progress. Its result is kept only if it is not older than `min_version`, the
    version that was written since it began, and belongs to the link that was written."""

    __slots__ = ("key", "link_id", "min_version")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.min_version = 0
        self.link_id = 0  # any


class _Ring:
    """Packed entries, in the order of eviction: each has a slot, and a hand goes round the slots.
    It evicts the entry that it points to, unless that was used since its last turn. A hit only has
    to mark the slot in `used`."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self.entries: dict[bytes, bytes] = {}
        self.used = bytearray()
        self.bytes = 0
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._keys: list[bytes | None] = []  # by slot
        self._free: list[int] = []  # slots
        self._hand = 0

    def put(self, entry: Entry) -> None:
        key = entry.key
        self.drop(key)
        slot = self._free.pop() if self._free else self._add_slot()
        has_whole_turn = slot == (self._hand - 1) % len(self._keys)
        packed = pack(entry, slot)
        self._keys[slot] = key
        self.entries[key] = packed
        self.bytes += size_of(key, packed)
        self.used[slot] = 1  # not to be evicted first
        while len(self.entries) > self._max_entries or self.bytes > self._max_bytes:
            self._evict()
        if has_whole_turn:
            self.used[slot] = 0

    def drop(self, key: bytes) -> None:
        packed = self.entries.pop(key, None)
        if packed is not None:
            self.bytes -= size_of(key, packed)
            slot = slot_of(packed)
            self._keys[slot] = None
            self._free.append(slot)

    def clear(self) -> None:
        self.entries.clear()  # the same objects, which others use
        self.used.clear()
        self.bytes = 0
        self._keys.clear()
        self._free.clear()
        self._hand = 0

    def _add_slot(self) -> int:
        self._keys.append(None)
        self.used.append(0)
        return len(self._keys) - 1

    def _evict(self) -> None:
        """The next entry that was not used; free slots are passed over."""
        key = None
        while key is None:
            unused = self.used.find(0, self._hand)
            if unused != self._hand:  # those in between have had their second chance
                end = unused if unused >= 0 else len(self.used)
                self.used[self._hand : end] = bytes(end - self._hand)
            if unused >= 0:
                key = self._keys[unused]
            self._hand = unused + 1
        self.drop(key)


class HotSet:
    """The lane reads `entries` and `absences` directly, and marks slots of links in `used`."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._links = _Ring(max_entries, max_bytes)
        self._absent = _Ring(MAX_ABSENCES, max_bytes)
        self._loads: dict[bytes, set[Load]] = {}
        self.entries = self._links.entries
        self.absences = self._absent.entries
        self.used = self._links.used

    @property
    def size(self) -> int:
        """In bytes."""
        return self._links.bytes + self._absent.bytes

    def peek(self, key: bytes, now: int) -> Entry | None:
        ring = self._links if key in self.entries else self._absent
        packed = ring.entries.get(key)
        if packed is None:
            return None
        entry = unpack(key, packed)
        if entry.is_stale(now):
            ring.drop(key)
            return None
        ring.used[slot_of(packed)] = 1
        return entry

    def update(self, entry: Entry) -> None:
        """Keeps an entry of `peek` that was derived anew, unless something else was kept since."""
        known = self.entries.get(entry.key)
        if known is not None and identity_of(known) == (entry.link_id, entry.version):
            self._links.put(entry)

    def begin(self, load: Load) -> None:
        """To be called before the store is asked, if that waits. `finish` or `give_up` ends it."""
        self._loads.setdefault(load.key, set()).add(load)

    def finish(self, load: Load, entry: Entry) -> None:
        """Keeps what was found, unless something newer was written or is known."""
        self.give_up(load)
        known = self.entries.get(load.key)
        if entry.version < load.min_version or (load.link_id and entry.link_id != load.link_id):
            return
        if known is not None and identity_of(known)[1] > entry.version:
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
        wanted = pack_space(space)
        for key in [key for key, packed in self.entries.items() if packed[SPACE] == wanted]:
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
        if known is not None:
            known_id, known_version = identity_of(known)
            if known_version < version or (link_id and known_id != link_id):
                self._links.drop(key)
        for load in self._loads.get(key, ()):
            is_of_another = link_id and load.link_id not in (0, link_id)
            load.min_version = _NEVER if is_of_another else max(load.min_version, version, 1)
            load.link_id = link_id or load.link_id
