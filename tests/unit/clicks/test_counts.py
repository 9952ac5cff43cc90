"""Tables of counts: nothing is lost, and they do not grow without end."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.counts import OTHER, SLACK, merge

keys = st.builds(str.__add__, st.sampled_from("crb"), st.text("xyz", max_size=3))
tables = st.dictionaries(keys, st.integers(1, 9), max_size=40)


def sums(counts: dict[str, int]) -> Counter[str]:
    by_letter: Counter[str] = Counter()
    for key, number in counts.items():
        by_letter[key[0]] += number
    return by_letter


def values(counts: dict[str, int], letter: str) -> dict[str, int]:
    return {key: number for key, number in counts.items() if key[0] == letter}


@given(st.lists(tables, max_size=5))
def test_below_the_cap_every_value_is_exact(parts):
    counts: dict[str, int] = {}
    for part in parts:
        merge(counts, part, 1000)
    assert counts == sum(map(Counter, parts), Counter())


@given(st.lists(tables, max_size=5), st.integers(1, 6))
def test_above_the_cap_sums_are_exact_and_values_few(parts, cap):
    counts: dict[str, int] = {}
    for part in parts:
        merge(counts, part, cap)
    assert sums(counts) == sum(map(sums, parts), Counter())
    for letter in "crb":
        kept = values(counts, letter).keys() - {letter, letter + OTHER}
        assert len(kept) <= SLACK * cap
        assert counts.get(letter, 0) == sum(part.get(letter, 0) for part in parts)


@given(tables, st.integers(1, 6))
def test_the_largest_values_stay(table, cap):
    counts: dict[str, int] = {}
    merge(counts, table, cap)
    if len(table) <= SLACK * cap:
        assert counts == table
        return
    for letter in "crb":
        asked = {key: number for key, number in values(table, letter).items() if key != letter}
        largest = sorted(asked.values(), reverse=True)[:cap]
        kept = values(counts, letter)
        other = kept.pop(letter + OTHER, 0)
        kept.pop(letter, None)
        assert sorted(kept.values(), reverse=True) == largest
        assert other == sum(asked.values()) - sum(largest)


def test_a_value_that_has_grown_comes_back_from_the_rest():
    counts = {"ra": 5, "rb": 3, "r*": 7}
    merge(counts, {"rc": 4}, 1)
    assert counts == {"ra": 5, "r*": 14}
    merge(counts, {"rc": 6, "rd": 1}, 1)
    assert counts == {"rc": 6, "r*": 20}
