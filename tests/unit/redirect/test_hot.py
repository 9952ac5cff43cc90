"""The worker's memory against a model: bounded, and never older than what it was told."""

import random
import sys
from collections import OrderedDict

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
from kurz.redirect import hot as module
from kurz.redirect.entry import ABSENCE_MICROS, Entry, absence
from kurz.redirect.hot import HotSet, Load
from kurz.redirect.packed import OWN_BYTES, size_of, unpack
from support.clock import FrozenClock
from support.links import route

NOW = FrozenClock().micros()
HOUR = 3600 * 1_000_000
KEYS = [b"/a", b"/b", b"/c"]  # few, so that much happens to each
ENDLESS = 10**12


def entry(
    key: bytes,
    version: int = 1,
    link_id: int = 1,
    status: Status = Status.ACTIVE,
    length: int = 20,
    space: int = 0,
) -> Entry:
    location = "https://e.example/".ljust(length, "x")
    found = route(link_id, version, status=status, location=location, space=space)
    return Entry.of(key, 0, found, NOW)


def store(hot: HotSet, found: Entry) -> None:
    hot.finish(Load(found.key), found)


def sizes(entries: dict[bytes, bytes]) -> int:
    return sum(size_of(key, packed) for key, packed in entries.items())


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


def test_one_entry_beyond_the_bytes_is_not_kept_and_harms_no_accounting():
    hot = HotSet(10, 5000)
    store(hot, entry(b"/huge", length=6000))
    assert (len(hot.entries), hot.size) == (0, 0)
    store(hot, entry(b"/a"))
    assert hot.size == sizes(hot.entries) > 0


def test_bytes_are_counted_back_to_nothing():
    hot = HotSet(1000, ENDLESS)
    rng = random.Random(4)
    for number in range(3000):
        key = b"/%d" % rng.randrange(1500)
        store(hot, absence(key, NOW) if number % 3 == 0 else entry(key, length=number % 200 + 20))
    assert hot.size > 0
    for key in [*hot.entries, *hot.absences]:
        hot.forget(key, 2)
    assert (hot.size, len(hot.entries), len(hot.absences)) == (0, 0, 0)


def test_absences_never_push_links_out_and_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_ABSENCES", 100)
    hot = HotSet(10, ENDLESS)
    for number in range(10):
        store(hot, entry(b"/link%d" % number))
    for number in range(1000):
        store(hot, absence(b"/none%d" % number, NOW))
    assert len(hot.entries) == 10
    assert len(hot.absences) == 100
    assert hot.peek(b"/none999", NOW) is not None


def test_endless_forgetting_and_reloading_takes_no_more_slots():
    hot = HotSet(50, ENDLESS)
    for number in range(20_000):
        key = b"/%d" % (number % 20)
        hot.forget(key, number + 1)
        store(hot, entry(key, version=number + 1))
        assert len(hot.used) <= 21
    assert len(hot.entries) == 20
    # Those that took the slots of others make room like all.
    for number in range(200):
        store(hot, entry(b"/new%d" % number))
    assert len(hot.entries) == 50
    assert len(hot.used) == 51
    assert b"/19" not in hot.entries


def test_an_endless_stream_of_absences_that_go_stale_takes_one_slot():
    hot = HotSet(50, ENDLESS)
    for number in range(5000):
        now = NOW + number * ABSENCE_MICROS
        assert hot.peek(b"/none", now) is None
        store(hot, absence(b"/none", now))
    assert len(hot._absent.used) == 1


def test_the_oldest_that_was_not_used_since_its_last_turn_goes_first():
    hot = HotSet(4, ENDLESS)

    def keep(*numbers: int) -> set[bytes]:
        for number in numbers:
            store(hot, entry(b"/%d" % number))
        return {key[1:] for key in hot.entries}

    keep(0, 1, 2, 3)
    for key in (b"/0", b"/2"):
        hot.peek(key, NOW)
    assert keep(4) == {b"0", b"2", b"3", b"4"}
    assert keep(5) == {b"0", b"2", b"4", b"5"}
    hot.forget(b"/4", 2)
    assert keep(6) == {b"0", b"2", b"5", b"6"}
    assert keep(7) == {b"2", b"5", b"6", b"7"}  # 0 was not used since its turn


def test_if_all_were_used_the_oldest_goes():
    hot = HotSet(3, ENDLESS)
    for number in range(3):
        store(hot, entry(b"/%d" % number))
        hot.peek(b"/%d" % number, NOW)
    store(hot, entry(b"/new"))
    assert len(hot.entries) == 3
    assert b"/new" in hot.entries


def test_the_slot_of_a_link_that_was_dropped_is_free_of_its_mark():
    hot = HotSet(2, ENDLESS)
    for key in (b"/a", b"/b"):
        store(hot, entry(key))
        hot.peek(key, NOW)
    hot.forget(b"/b", 2)
    store(hot, entry(b"/c"))
    store(hot, entry(b"/d"))
    assert hot.entries.keys() == {b"/a", b"/d"}


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


class Fifo:
    """What the memory must be better than."""

    def __init__(self, size: int) -> None:
        self._kept: OrderedDict[int, None] = OrderedDict()
        self._size = size

    def hit(self, item: int) -> bool:
        if item in self._kept:
            return True
        self._kept[item] = None
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return False


class Kept:
    def __init__(self, size: int) -> None:
        self._hot = HotSet(size, ENDLESS)

    def hit(self, item: int) -> bool:
        key = b"/%d" % item
        if self._hot.peek(key, NOW) is not None:
            return True
        store(self._hot, entry(key))
        return False


def zipf_with_scan(seed: int) -> list[tuple[int, bool]]:
    """What is asked for, and whether it counts: popular links all the time, and in the middle as
    many again that are asked for once."""
    rng = random.Random(seed)
    weights = [1 / rank for rank in range(1, 5001)]
    popular = rng.choices(range(5000), weights, k=30_000)
    trace = []
    for place, item in enumerate(popular):
        trace.append((item, place > 10_000))
        if 10_000 < place < 20_000:
            trace.append((1_000_000 + place, False))
    return trace


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_used_survives_a_scan_better_than_in_a_queue(seed):
    trace = zipf_with_scan(seed)
    rates = []
    for memory in (Kept(500), Fifo(500)):
        hits = [memory.hit(item) for item, _ in trace]
        counted = [hit for hit, (_, counts) in zip(hits, trace, strict=True) if counts]
        rates.append(sum(counted) / len(counted))
    assert rates[0] > rates[1] + 0.03


def test_a_used_link_outlives_any_number_that_are_used_once():
    hot = HotSet(100, ENDLESS)
    store(hot, entry(b"/popular"))
    for number in range(5000):
        if number % 50 == 0:
            assert hot.peek(b"/popular", NOW) is not None
        store(hot, entry(b"/once%d" % number))
