"""What `make soak` says about its samples."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soak_judge import (
    LEAST_BLOCKS,
    Check,
    Points,
    Rule,
    Trend,
    as_told,
    blocks,
    is_passed,
    judge,
    number,
    table,
    trend,
)

ValueAt = Callable[[float], float]
MEMORY = Rule("MiB", percent_per_hour=1, scale=2**20)
BACKLOG = Rule("", percent_per_hour=100, floor=50)


def samples(value_at: ValueAt, *, minutes: int = 10, every: int = 5) -> Points:
    return [(at, value_at(at)) for at in range(0, minutes * 60, every)]


def leak(
    percent_per_hour: float, start: float = 100.0, noise: float = 0.0, seed: int = 1
) -> ValueAt:
    chance = random.Random(seed)
    return lambda at: (
        start * (1 + percent_per_hour / 100 * at / 3600) + noise * chance.uniform(-1, 1)
    )


@given(slope=st.floats(-50, 50), start=st.floats(1, 1000), count=st.integers(LEAST_BLOCKS, 20))
def test_the_trend_of_a_straight_line_is_its_slope(slope, start, count):
    found = trend([(60.0 * minute, start + slope * minute / 60) for minute in range(count)])
    assert found is not None
    assert (found.slope, found.low, found.high) == pytest.approx((slope,) * 3, abs=1e-6)


def test_one_outlier_changes_no_trend():
    points = [(60.0 * minute, 100.0) for minute in range(10)]
    points[4] = (240.0, 100_000.0)
    assert trend(points) == Trend(0, 0, 0)


def test_the_interval_is_that_of_sen():
    """Of the 45 slopes between ten points, 10 are below the interval and 10 above it: Kendall's S
    has a standard deviation of 11.2, and (45 - 1.96 * 11.2) / 2 is 11.5."""
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 8]
    points = [(3600.0 * hour, float(value)) for hour, value in enumerate(values)]
    slopes = sorted((values[b] - values[a]) / (b - a) for a in range(10) for b in range(a + 1, 10))
    assert trend(points) == Trend(slope=slopes[22], low=slopes[10], high=slopes[34])


def test_too_few_points_have_no_trend():
    line = [(60.0 * minute, float(minute)) for minute in range(LEAST_BLOCKS)]
    assert trend(line) is not None
    assert trend(line[1:]) is None


def test_a_block_is_the_median_of_a_minute():
    points = [
        (7.0 + at, value)
        for at, value in samples(lambda at: (1, 9, 2)[int(at) // 5 % 3], minutes=3)
    ]
    assert blocks(points) == [(37.0, 2), (97.0, 2), (157.0, 2)]


def test_an_unfinished_minute_is_no_block():
    whole = samples(lambda at: at // 60, minutes=3)
    assert blocks(whole) == [(30.0, 0), (90.0, 1), (150.0, 2)]
    assert blocks(whole[:-3]) == [(30.0, 0), (90.0, 1)]
    assert blocks([]) == []


@pytest.mark.parametrize(
    ("value_at", "verdict"),
    [
        (leak(0), "ok"),
        (leak(0.9), "ok"),
        (leak(1.1), "GROWS"),
        (leak(-5), "ok"),
        (leak(20, noise=1), "GROWS"),
        (leak(0, noise=20), "ok"),
        (lambda at: 100 if at < 300 else 101, "ok"),  # one step is no trend
        (lambda at: 100 + at // 120, "GROWS"),  # many are
        (lambda at: 100 + 50 * (at % 35 > 20), "ok"),  # comes and goes
    ],
)
def test_memory_grows_if_the_lower_bound_of_its_slope_is_too_much(value_at, verdict):
    assert judge("memory", samples(value_at), MEMORY).verdict == verdict


def test_noise_is_called_growth_about_as_seldom_as_the_interval_says():
    """2.5 % of the time: the lower bound is above the true slope."""
    called = sum(
        judge("memory", samples(leak(1, noise=1, seed=seed)), MEMORY).grows for seed in range(400)
    )
    assert 1 <= called <= 20


@pytest.mark.parametrize(("most", "verdict"), [(49, "ok"), (51, "GROWS")])
def test_a_backlog_may_do_as_it_likes_below_its_floor(most, verdict):
    assert judge("rows", samples(lambda at: most * at / 595), BACKLOG).verdict == verdict


def test_nothing_is_said_about_a_short_run_or_without_a_rule():
    short = samples(leak(500), minutes=LEAST_BLOCKS - 1)
    assert judge("memory", short, MEMORY).verdict == "too short"
    assert judge("rows", samples(lambda at: at % 2, minutes=3), BACKLOG).verdict == "ok"
    found = judge("database", samples(leak(500)), Rule("MiB"))
    assert found.percent is not None
    assert (found.verdict, round(found.percent.low)) == ("", 354)  # of its median


def test_what_is_always_zero_is_fine():
    found = judge("rows", samples(lambda _: 0), BACKLOG)
    assert (found.percent, found.verdict) == (None, "ok")


def test_a_run_passes_if_nothing_grows_and_every_check_is_met():
    fine = judge("memory", samples(leak(0)), MEMORY)
    growing = judge("memory", samples(leak(50)), MEMORY)
    unjudged = judge("memory", samples(leak(0), minutes=2), MEMORY)
    met, missed = Check("wrong answers", "0", is_met=True), Check("wrong", "1", is_met=False)
    assert is_passed([fine], [met])
    assert not is_passed([fine, growing], [met])
    assert not is_passed([fine], [met, missed])
    assert not is_passed([unjudged], [met])


def test_the_table_has_first_and_last_medians_in_units():
    growing = judge("jobs: memory", samples(leak(60, start=2**27)), MEMORY)
    short = judge("rows", samples(lambda _: 5, minutes=2), BACKLOG)
    head, *rows = table([growing, short])
    assert head == ["", "first", "last", "most", "% an hour", "95 %", "limit", ""]
    assert rows[0][:4] == ["jobs: memory, MiB", "129.5", "139.1", "140.7"]
    assert rows[0][4:] == ["+57.2", "+57.2 to +57.2", "1", "GROWS"]
    assert rows[1] == ["rows", "5", "5", "5", "–", "–", "100", "ok"]
    [told, _] = as_told([growing, short])
    assert (told["verdict"], told["unit"]) == ("GROWS", "MiB")


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (999.94, "999.9"), (42.0, "42"), (0.04, "0.0")]
)
def test_numbers_are_short(value, text):
    assert number(value) == text
