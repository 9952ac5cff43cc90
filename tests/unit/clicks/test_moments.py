"""Mean and variance, however the values come."""

import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.moments import Moments

latencies = st.floats(0, 1e6, allow_nan=False)


def one_by_one(values: Sequence[float]) -> Moments:
    moments = Moments()
    for value in values:
        moments = moments.add(value)
    return moments


def near(expected: float, values: list[float], power: int = 1) -> object:
    """Rounding is in proportion to the largest value, not to the result."""
    return pytest.approx(expected, rel=1e-9, abs=1e-9 * max(values, default=0) ** power + 1e-12)


def test_the_worked_example_of_the_seeds():
    means = [one_by_one([150, 200, 180, 160][:count]).mean for count in (1, 2, 3, 4)]
    assert means == pytest.approx([150, 175, 530 / 3, 172.5])


@given(st.lists(latencies, min_size=1, max_size=50))
def test_one_by_one_is_what_statistics_says(values):
    moments = one_by_one(values)
    assert moments.number == len(values)
    assert moments.mean == near(statistics.fmean(values), values)
    assert moments.variance == near(statistics.pvariance(values), values, 2)


@given(st.lists(latencies, max_size=50))
def test_all_at_once_is_one_by_one(values):
    whole, expected = Moments.of(values), one_by_one(values)
    assert whole.number == expected.number
    assert whole.mean == near(expected.mean, values)
    assert whole.m2 == near(expected.m2, values, 2)


@given(st.lists(st.lists(latencies, max_size=8), max_size=8), st.randoms())
def test_parts_merge_to_the_whole_in_any_order(parts, random):
    values = [value for part in parts for value in part]
    expected = one_by_one(values)
    moments = [one_by_one(part) for part in parts]
    while len(moments) > 1:
        random.shuffle(moments)
        moments.append(moments.pop().merge(moments.pop()))
    (merged,) = moments or [Moments()]
    assert merged.number == expected.number
    assert merged.mean == near(expected.mean, values)
    assert merged.m2 == near(expected.m2, values, 2)


def test_nothing_has_no_variance():
    assert Moments().variance is None
    assert Moments.of([]) == Moments().merge(Moments()) == Moments()
