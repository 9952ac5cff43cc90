"""Days of a month, folded into one row."""

import json
import tracemalloc
import zlib
from datetime import date

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.folding import pack, read_strictly, spread, unpack, unpack_counts
from kurz.clicks.months import add_up, covered, fold, touches
from kurz.clicks.series import Day
from kurz.clock import EPOCH

FIRST = (date(2026, 2, 1) - EPOCH.date()).days
FEBRUARY = range(FIRST, FIRST + 28)


@st.composite
def days(draw: st.DrawFn) -> Day:
    hours = draw(st.dictionaries(st.integers(0, 47), st.integers(1, 2**40), max_size=5))
    values = draw(st.dictionaries(st.sampled_from(["DE", "FR", "CH"]), st.integers(1, 9)))
    keys = {f"{'hH'[hour // 24]}{hour % 24:02}": number for hour, number in hours.items()}
    keys |= {f"c{country}": number for country, number in values.items()}
    people = sum(number for hour, number in hours.items() if hour < 24)
    visitors = draw(st.integers(0, people))
    day = draw(st.sampled_from(FEBRUARY))
    return Day(day, sum(hours.values()), people, visitors, json.dumps(keys).encode())


def by_day(found: list[Day]) -> dict[int, tuple[int, int, int]]:
    return {it.day: it[1:4] for it in found}


@given(st.lists(days(), min_size=1, unique_by=lambda it: it.day), st.lists(days()))
def test_nothing_is_lost_of_days_and_hours_however_often_they_are_folded(first, more):
    whole = before = fold(first)
    everything = [*first]
    for late in more:
        everything.append(late)
        assert spread([whole, late]) == spread(everything)
        whole = fold([whole, late])
    assert whole.day == before.day == FIRST
    assert spread([whole]) == spread(everything)
    sums = add_up(everything)
    assert add_up([whole]).counts == sums.counts
    assert {k: [*v] for k, v in add_up([whole]).hours.items()} == {
        k: [*v] for k, v in sums.hours.items()
    }
    assert (whole.clicks, whole.people, whole.visitors) == tuple(
        sum(it[at] for it in everything) for at in (1, 2, 3)
    )
    assert whole.month is not None
    counts = read_strictly(whole.month, 28, whole[1:3])
    assert counts is not None
    assert json.loads(counts) == unpack_counts(whole.month) == sums.counts


def test_what_the_previous_version_adds_to_a_folded_month_counts_for_its_first_day():
    """It takes the row for a day."""
    month = fold([Day(FIRST + 9, 3, 2, 2, b'{"h09": 2, "H09": 1, "cDE": 2}')])
    added = month._replace(clicks=4, people=3, visitors=1, counts=b'{"h23": 1, "cFR": 1}')
    for row in added, fold([added, Day(FIRST + 3, 0, 0, 0, b"{}")]):
        days = {day: numbers for day, numbers in by_day(spread([row])).items() if any(numbers)}
        assert days == {FIRST: (1, 1, 0), FIRST + 9: (3, 2, 2)}
        found = add_up([row])
        assert found.counts == {"cDE": 2, "cFR": 1}
        assert (found.clicks, found.hours[FIRST][23], found.hours[FIRST + 9][9]) == (4, 1, 2)


def test_a_folded_day_takes_few_bytes():
    counts = b'"cDE": 5, "bFirefox": 5, "rnews.example": 5, "sperson": 5'
    rows = [
        Day(day, 5, 5, 4, b'{"h%02d": 2, "h17": 3, %s}' % (day % 17, counts)) for day in FEBRUARY
    ]
    month = fold(rows).month
    assert month is not None
    assert len(month) <= 28 * 9 + len(counts) + 20


def test_a_month_has_as_many_values_as_a_day_of_a_workspace():
    rows = [
        Day(
            FIRST + number,
            100,
            100,
            1,
            json.dumps({f"r{number}-{n}.example": 1 for n in range(100)}).encode(),
        )
        for number in range(20)
    ]
    month = fold(rows).month
    assert month is not None
    folded = unpack_counts(month)
    assert len(folded) == 301
    assert sum(folded.values()) == 2000


def test_the_days_of_breakdowns_are_those_of_whole_folded_months():
    day = Day(FIRST + 9, 1, 1, 1, b'{"h09": 1}')
    month = fold([day])
    inside = range(FIRST + 20, FIRST + 22)
    assert touches(month, inside)
    assert covered([day], inside) == inside
    assert covered([month], inside) == FEBRUARY
    assert covered([month], range(FIRST + 20, FIRST + 40)) == range(FIRST, FIRST + 40)
    for outside in (range(FIRST - 3, FIRST), range(FIRST + 28, FIRST + 31)):
        assert not touches(month, outside)
        assert covered([month], outside) == outside
    assert add_up([month, day._replace(counts=b'{"h09": 1, "cDE": 1}')], inside).counts == {}


GOOD = zlib.compress(b"{}")
LIES = {
    "nothing": b"",
    "no list": msgspec.msgpack.encode({"a": 1}),
    "too short": [[0, 1, 1]],
    "half an hour": [[0, 1, 1, 1, 3]],
    "hour 48": [[0, 1, 1, 1, 48, 1]],
    "an hour twice": [[0, 1, 1, 1, 3, 1, 3, 1]],
    "negative": [[0, 1, 1, 1, 3, -1]],
    "day 29": [[28, 1, 1, 1]],
    "a day twice": [[3, 1, 1, 1], [3, 0, 0, 0]],
    "wrong order": [[4, 1, 1, 1], [3, 0, 0, 0]],
    "more clicks": [[3, 2, 1, 1]],
    "more people": [[2, 1, 1, 1], [3, 0, 1, 1]],
    "long": [[0, 1, 1, 1], *[[0] * 4] * 300_000],
    "a bomb": msgspec.msgpack.encode([[[0, 1, 1, 1]], zlib.compress(bytes(2**26))]),
    "cut off": msgspec.msgpack.encode([[[0, 1, 1, 1]], GOOD[:-1]]),
    "not compressed": msgspec.msgpack.encode([[[0, 1, 1, 1]], b"{}"]),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_no_month_contains_is_found(lie):
    data = lie if isinstance(lie, bytes) else msgspec.msgpack.encode([lie, GOOD])
    tracemalloc.start()
    try:
        assert read_strictly(data, 28, (1, 1)) is None
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_what_a_month_contains_is_sound():
    numbers = Day(FIRST + 3, 1, 1, 1, b"")
    data = pack(FIRST, [numbers], {FIRST + 3: [0, 1, *[0] * 46]}, {"cDE": 1})
    assert read_strictly(data, 28, (1, 1)) == b'{"cDE":1}'
    [(day, hours)] = unpack(FIRST, data)
    assert (day, sum(hours), hours[1]) == (numbers, 1, 1)
