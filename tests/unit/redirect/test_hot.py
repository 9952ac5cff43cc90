"""The worker's memory against a model: bounded, and never older than what it was told."""

import sys

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from kurz.links.lifecycle import Outcome
from kurz.links.model import Status
from kurz.redirect.entry import ABSENCE_MICROS, Entry, absence
from kurz.redirect.hot import HotSet, Load
from kurz.redirect.packed import OWN_BYTES, unpack
from support.hot import ENDLESS, NOW, entry, sizes, store
from support.links import route

HOUR = 3600 * 1_000_000
KEYS = [b"/a", b"/b", b"/c"]  # few, so that much happens to each


class Truth:
    """What the store has under a key: (link, version, is it in the trash), or nothing."""

    def __init__(self) -> None:
        self.link_id = self.version = 0
        self.is_dead = False
        self.writes = 0
        self.told = 0  # the last of them that the memory knows of


class Memory(RuleBasedStateMachine):
    """The writes of a store are told now or later, most of them in their order; lookups read the
    store at one moment and arrive at another."""

    loads = Bundle("loads")

    @initialize(max_entries=st.integers(1, 3), max_bytes=st.integers(OWN_BYTES, 4 * OWN_BYTES))
    def begin(self, max_entries: int, max_bytes: int) -> None:
        self.hot = HotSet(max_entries, max_bytes)
        self.max_entries, self.max_bytes = max_entries, max_bytes
        self.now = NOW
        self.truths = {key: Truth() for key in KEYS}
        self.untold: list[tuple[int, bytes, int, int]] = []
        self.next_link = 1
        self.moments: list[int] = []  # by `created_at`: the writes of its key that it has seen

    @rule(key=st.sampled_from(KEYS), act=st.sampled_from(["edit", "replace", "trash", "leave"]))
    def write(self, key: bytes, act: str) -> None:
        truth = self.truths[key]
        if not truth.link_id or act == "replace":
            if truth.link_id:  # the old one gets another code, which is a write of its own
                truth.version += 1
                self._note(key, truth)
            truth.link_id, truth.version, truth.is_dead = self.next_link, 1, False
            self.next_link += 1
            self._note(key, truth)
        else:
            truth.version += 1
            self._note(key, truth)
            truth.is_dead = act == "trash"
            if act == "leave":
                truth.link_id = truth.version = 0

    def _note(self, key: bytes, truth: Truth) -> None:
        truth.writes += 1
        self.untold.append((truth.writes, key, truth.version, truth.link_id))

    @precondition(lambda self: self.untold)
    @rule()
    def tell(self) -> None:
        self._tell(*self.untold.pop(0))

    def _tell(self, number: int, key: bytes, version: int, link_id: int) -> None:
        self.hot.forget(key, version, link_id)
        self.truths[key].told = max(self.truths[key].told, number)

    @precondition(lambda self: self.untold)
    @rule(data=st.data())
    def tell_out_of_turn(self, data) -> None:
        """Another process's writes are heard later than one's own: it is told again in turn."""
        self._tell(*data.draw(st.sampled_from(self.untold)))

    def _read(self, key: bytes, length: int) -> Entry:
        truth = self.truths[key]
        if truth.link_id:
            status = Status.DELETED if truth.is_dead else Status.ACTIVE
            found = entry(key, truth.version, truth.link_id, status, length)
        else:
            found = absence(key, self.now)
        found.created_at = len(self.moments)
        self.moments.append(truth.writes)
        return found

    @rule(target=loads, key=st.sampled_from(KEYS), length=st.sampled_from([20, 300, 2000]))
    def start_a_lookup(self, key: bytes, length: int) -> tuple[Load, Entry]:
        load = Load(key)
        self.hot.begin(load)
        return load, self._read(key, length)

    @rule(flight=consumes(loads))
    def arrive(self, flight: tuple[Load, Entry]) -> None:
        self.hot.finish(*flight)

    @rule(flight=consumes(loads))
    def fail(self, flight: tuple[Load, Entry]) -> None:
        self.hot.give_up(flight[0])

    @rule(key=st.sampled_from(KEYS), length=st.sampled_from([20, 300, 2000]))
    def look_up_at_once(self, key: bytes, length: int) -> None:
        if self.hot.peek(key, self.now) is None:
            store(self.hot, self._read(key, length))

    @rule(micros=st.sampled_from([1, ABSENCE_MICROS - 1, ABSENCE_MICROS, HOUR]))
    def wait(self, micros: int) -> None:
        self.now += micros

    @rule(key=st.sampled_from(KEYS))
    def look(self, key: bytes) -> None:
        found = self.hot.peek(key, self.now)
        if found is None:
            return
        assert found.key == key
        assert not found.is_stale(self.now)
        assert self.moments[found.created_at] >= self.truths[key].told

    @rule()
    def forget_all(self) -> None:
        for key in [*self.hot.entries, *self.hot.absences]:
            self.hot.forget(key, sys.maxsize)
        assert (self.hot.size, len(self.hot.entries), len(self.hot.absences)) == (0, 0, 0)

    @rule()
    def reset(self) -> None:
        """Whatever was read before is not to be believed any more."""
        self.hot.clear()
        for truth in self.truths.values():
            truth.told = truth.writes
        assert (self.hot.size, len(self.hot.entries), len(self.hot.absences)) == (0, 0, 0)

    @invariant()
    def nothing_is_older_than_what_was_told(self) -> None:
        if not hasattr(self, "hot"):
            return
        for key, packed in (*self.hot.entries.items(), *self.hot.absences.items()):
            found = unpack(key, packed)
            assert self.moments[found.created_at] >= self.truths[key].told

    @invariant()
    def the_bounds_hold(self) -> None:
        if not hasattr(self, "hot"):
            return
        links, absences = self.hot.entries, self.hot.absences
        assert len(links) <= self.max_entries
        assert sizes(links) <= self.max_bytes
        assert self.hot.size == sizes(links) + sizes(absences)
        assert not links.keys() & absences.keys()


TestMemory = Memory.TestCase
TestMemory.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_a_value_that_was_read_before_a_write_is_not_kept_after_it():
    hot, load = HotSet(10, ENDLESS), Load(b"/a")
    hot.begin(load)
    hot.forget(b"/a", 2, 1)
    hot.finish(load, entry(b"/a", 1))
    assert hot.peek(b"/a", NOW) is None
    assert not hot._loads


def test_a_value_that_is_older_than_the_known_one_is_not_kept():
    hot = HotSet(10, ENDLESS)
    store(hot, found := entry(b"/a", 5))
    store(hot, entry(b"/a", 4))
    assert hot.peek(b"/a", NOW) == found


def test_a_value_that_is_as_new_as_the_write_is_kept():
    hot, load = HotSet(10, ENDLESS), Load(b"/a")
    hot.begin(load)
    hot.forget(b"/a", 2, 1)
    hot.finish(load, found := entry(b"/a", 2))
    assert hot.peek(b"/a", NOW) == found
    hot.forget(b"/a", 2, 1)  # the same write, heard again
    assert hot.peek(b"/a", NOW) == found


def test_the_former_holder_of_a_code_does_not_come_back_with_its_higher_version():
    hot, load = HotSet(10, ENDLESS), Load(b"/a")
    hot.begin(load)
    hot.forget(b"/a", 1, 2)  # a new link has the code
    hot.finish(load, entry(b"/a", version=5, link_id=1))
    assert hot.peek(b"/a", NOW) is None
    store(hot, entry(b"/a", version=5, link_id=1))
    hot.forget(b"/a", 1, 2)
    assert hot.peek(b"/a", NOW) is None


def test_a_code_that_two_links_had_meanwhile_is_looked_up_again():
    hot, load = HotSet(10, ENDLESS), Load(b"/a")
    hot.begin(load)
    hot.forget(b"/a", 1, 2)  # our own write, heard at once
    hot.forget(b"/a", 4, 1)  # an older one of another process
    hot.finish(load, entry(b"/a", version=5, link_id=1))
    assert hot.peek(b"/a", NOW) is None


def test_what_is_on_its_way_when_memory_is_cleared_is_not_kept():
    hot, load, other = HotSet(10, ENDLESS), Load(b"/a"), Load(b"/b")
    entries, absences, used = hot.entries, hot.absences, hot.used
    hot.begin(load)
    hot.begin(other)
    store(hot, entry(b"/c"))
    store(hot, absence(b"/d", NOW))
    hot.clear()
    hot.finish(load, entry(b"/a", version=9))
    hot.finish(other, absence(b"/b", NOW))
    assert (hot.entries, hot.absences, hot.size) == ({}, {}, 0)
    store(hot, found := entry(b"/a"))
    assert hot.peek(b"/a", NOW) == found
    assert (entries, absences) == (hot.entries, {})  # the lane looks into these
    assert (used, list(used)) == (hot.used, [1])  # and here it marks what it finds


def test_all_links_of_a_space_are_forgotten_at_once_and_no_others():
    hot = HotSet(10, ENDLESS)
    for number in range(6):
        store(hot, entry(b"/%d" % number, space=-(number % 3)))
    hot.forget_space(-2)
    assert hot.entries.keys() == {b"/0", b"/1", b"/3", b"/4"}
    assert hot.size == sizes(hot.entries)


def test_a_value_that_was_read_before_its_space_ended_is_not_kept_after_it():
    hot, load = HotSet(10, ENDLESS), Load(b"/a")
    hot.begin(load)
    hot.forget_space(-2)
    hot.finish(load, entry(b"/a", 7, space=-2))
    assert hot.peek(b"/a", NOW) is None


def test_a_new_link_ends_the_memory_of_its_absence_and_voids_a_lookup_for_it():
    hot, load = HotSet(10, ENDLESS), Load(b"/a")
    store(hot, absence(b"/a", NOW))
    hot.begin(load)
    hot.forget(b"/a", 1, 1)
    assert hot.peek(b"/a", NOW) is None
    hot.finish(load, absence(b"/a", NOW))
    assert hot.peek(b"/a", NOW) is None
    store(hot, found := entry(b"/a"))
    store(hot, absence(b"/a", NOW))
    assert hot.peek(b"/a", NOW) == found


def test_an_entry_that_was_derived_anew_is_put_back():
    hot = HotSet(10, ENDLESS)
    found = route(version=3, starts_at=NOW + 1)
    store(hot, Entry.of(b"/a", 0, found, NOW))
    began = hot.peek(b"/a", NOW + 1)
    assert began is not None
    began.derive(NOW + 1)
    hot.update(began)
    assert hot.peek(b"/a", NOW + 1) == began == Entry.of(b"/a", 0, found, NOW + 1)
    assert hot.size == sizes(hot.entries)


@pytest.mark.parametrize("since", [None, entry(b"/a", version=4), entry(b"/a", link_id=2)])
def test_an_entry_is_not_put_back_if_something_was_written_since(since):
    hot = HotSet(10, ENDLESS)
    store(hot, old := entry(b"/a", version=3))
    hot.forget(b"/a", 4)
    if since is not None:
        store(hot, since)
    old.settled = Outcome.EXHAUSTED
    hot.update(old)
    assert hot.peek(b"/a", NOW) == since
