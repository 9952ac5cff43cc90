"""What stays in the memory of a worker when there is no room for all."""

import random
from collections import OrderedDict

import pytest

from kurz.redirect import hot as module
from kurz.redirect.entry import ABSENCE_MICROS, absence
from kurz.redirect.hot import HotSet
from support.hot import ENDLESS, NOW, entry, sizes, store


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
