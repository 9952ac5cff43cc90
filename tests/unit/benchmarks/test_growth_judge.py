"""What `make bench-growth` says about its measurements."""

import pytest

from growth_judge import Expectation, Series, goal_ms, grows, growth, short, table

MOST, FLOOR_MS = 3, 5
NOTHING = Expectation()


def measured(*cpu_ms: float, name: str = "list", expectation: Expectation = NOTHING) -> Series:
    """One round each with 10, 100, … links."""
    series = Series("sqlite", name, expectation)
    for place, found in enumerate(cpu_ms, 1):
        series.add(10**place, found, 2 * found)
    return series


@pytest.mark.parametrize(
    ("cpu_ms", "is_growing"),
    [
        ((4.0, 4.0, 12.0), False),
        ((4.0, 4.0, 12.1), True),
        ((4.0, 40.0, 12.0), False),  # only the largest database counts
        ((0.1, 1.0, 5.0), False),  # below the floor
        ((0.1, 1.0, 5.1), True),
        ((9.0, 3.0, 1.0), False),
        ((90.0,), False),
    ],
)
def test_an_operation_grows_if_both_its_ratio_and_its_time_are_high(cpu_ms, is_growing):
    assert grows(measured(*cpu_ms).cpu, MOST, FLOOR_MS) is is_growing


def test_growth_compares_the_largest_database_with_the_smallest():
    assert growth({1000: 8.0, 10: 2.0, 100: 1.0}) == 4
    assert growth({10: 2.0}) is None


def test_a_series_has_the_medians_of_its_rounds_by_size():
    series = Series("sqlite", "list", NOTHING)
    for size, cpu, elapsed in [(100, 3, 9), (10, 1, 5), (100, 50, 8), (100, 2, 90), (10, 2, 6)]:
        series.add(size, cpu, elapsed)
    assert list(series.cpu.items()) == [(10, 1.5), (100, 3)]
    assert list(series.elapsed.items()) == [(10, 5.5), (100, 9)]


def test_a_goal_may_be_a_multiple_of_another_operation_on_the_same_engine():
    twice = measured(9, 9, name="tag", expectation=Expectation(goal_of=(2, "all")))
    one = measured(5, 4, name="all")
    elsewhere = Series("postgres", "all", NOTHING)
    elsewhere.add(100, 7, 7)
    assert goal_ms(twice, [elsewhere, twice, one]) == 8
    assert goal_ms(twice, [elsewhere, twice]) is None  # not measured in this run
    assert goal_ms(measured(9, expectation=Expectation(goal_ms=20)), []) == 20


def test_the_table_says_which_goals_are_missed_and_what_grows():
    goal = Expectation(goal_ms=20)
    found = [
        measured(1, 2, name="met", expectation=goal),
        measured(19, 21, name="missed", expectation=goal),
        measured(6, 60, name="both", expectation=goal),
        measured(6, 60, name="grown"),
        measured(6, 60, name="allowed", expectation=Expectation(floor_ms=60)),
        measured(7, name="smallest only"),
    ]
    head, *rows = table(found, MOST)
    assert head == ["", "10", "100", "growth", "elapsed", "goal", ""]
    assert [row[-1] for row in rows] == ["met", "missed", "missed GROWS", "GROWS", "", ""]
    assert rows[2] == ["sqlite: both", "6.0", "60.0", "10.0 ×", "120", "20.0", "missed GROWS"]
    assert rows[5] == ["sqlite: smallest only", "7.0", "", "", "14.0", "", ""]


@pytest.mark.parametrize(
    ("number", "text"), [(1234.5, "1234"), (99.94, "99.9"), (1.0, "1.0"), (0.0123, "0.012")]
)
def test_numbers_are_short(number, text):
    assert short(number) == text
