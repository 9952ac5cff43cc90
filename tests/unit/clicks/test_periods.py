"""Periods and their pieces, in every kind of zone."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kurz.clicks.errors import PeriodRefused
from kurz.clicks.periods import MAX_DAYS, Interval, Period, cut, last_days, last_hours, read_period
from kurz.clock import EPOCH

NOW = datetime(2026, 3, 10, 12, 34, 56, tzinfo=UTC)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Pacific/Kiritimati",
    "Pacific/Pago_Pago",
    "Pacific/Auckland",
    "Pacific/Chatham",
)
HOUR = timedelta(hours=1)


def at(hour: int) -> datetime:
    return EPOCH + hour * HOUR


def starts(period: Period, interval: Interval) -> list[str]:
    return [start.isoformat() for start in cut(period, interval).starts]


def test_by_default_it_is_the_last_thirty_days_with_the_present_hour():
    period = read_period(NOW, None, None, None)
    assert period.start == datetime(2026, 2, 9, tzinfo=UTC)
    assert period.end == datetime(2026, 3, 10, 13, tzinfo=UTC)
    assert len(starts(period, Interval.DAY)) == 30


def test_at_the_full_hour_the_hour_that_begins_is_in_it():
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert read_period(noon, None, None, None).end == noon + HOUR


def test_the_default_beginning_counts_back_from_the_end_that_is_named():
    period = read_period(NOW, None, "2026-01-31", None)
    assert period.start == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("text", ["20260301", "2026-W09", "2026-W09-7", "2026W097"])
def test_other_spellings_of_a_date_are_not_taken_for_its_midnight(text):
    with pytest.raises(PeriodRefused, match="2026-03-31"):
        read_period(NOW, "2026-01-01", text, None)


@pytest.mark.parametrize("zone", ["localtime", "right/Europe/Berlin", "right/UTC"])
def test_zones_of_the_system_alone_are_none(zone):
    with pytest.raises(PeriodRefused, match="Europe/Berlin"):
        read_period(NOW, None, None, zone)


def test_the_last_hours_begin_with_a_whole_one():
    period = read_period(NOW, last_hours(NOW, timedelta(hours=24)), None, "Asia/Kolkata")
    assert period.start == datetime(2026, 3, 9, 12, tzinfo=UTC)
    assert len(period.hours) == 25


def test_a_date_at_the_end_is_included():
    period = read_period(NOW, "2026-03-01", "2026-03-01", "Europe/Berlin")
    assert period.start.isoformat() == "2026-03-01T00:00:00+01:00"
    assert period.end.isoformat() == "2026-03-02T00:00:00+01:00"


def test_an_instant_without_an_offset_is_of_the_zone():
    period = read_period(NOW, "2026-07-01T10:00", "2026-07-01T12:00Z", "Europe/Berlin")
    assert period.start == datetime(2026, 7, 1, 8, tzinfo=UTC)
    assert len(period.hours) == 4


def test_an_hour_belongs_to_where_it_begins():
    period = read_period(NOW, "2026-03-01T10:30Z", "2026-03-01T12:30Z", None)
    assert [at(hour).hour for hour in period.hours] == [11, 12]


@pytest.mark.parametrize(
    ("start", "end", "zone"),
    [
        ("2026-03-02", "2026-03-01", None),
        ("2026-03-01T10:15Z", "2026-03-01T10:45Z", None),
        ("2015-01-01", "2026-01-01", None),
        ("yesterday", None, None),
        ("2026-02-30", None, None),
        ("2026-3-1", None, None),
        (None, "9999-12-31", None),
        ("0001-01-01", "0001-01-02", None),
        (None, None, "Mars/Olympus"),
        (None, None, "Europe"),
        (None, None, "../../etc/passwd"),
        (None, None, "Europe/Berlin\0"),
        (None, None, ""),
        (None, None, "A" * 5000),
    ],
)
def test_what_is_no_period_is_refused(start, end, zone):
    with pytest.raises(PeriodRefused):
        read_period(NOW, start, end, zone)


def test_the_longest_period_is_as_long_as_it_may_be():
    start = str((NOW - timedelta(days=MAX_DAYS - 1)).date())
    assert len(cut(read_period(NOW, start, "2026-03-10", None), Interval.DAY).starts) == MAX_DAYS
    with pytest.raises(PeriodRefused):
        read_period(NOW, start, "2026-03-11", None)


def test_hours_are_told_for_a_month_also_when_one_comes_twice():
    period = read_period(NOW, "2025-10-01", "2025-10-31", "Europe/Berlin")
    assert len(cut(period, Interval.HOUR).starts) == 31 * 24 + 1
    with pytest.raises(PeriodRefused):
        cut(read_period(NOW, "2025-10-01", "2025-11-01", "Europe/Berlin"), Interval.HOUR)


def test_days_begin_at_midnight_of_the_zone_on_both_sides_of_summer_time():
    period = read_period(NOW, "2026-03-28", "2026-03-30", "Europe/Berlin")
    assert starts(period, Interval.DAY) == [
        "2026-03-28T00:00:00+01:00",
        "2026-03-29T00:00:00+01:00",
        "2026-03-30T00:00:00+02:00",
    ]
    pieces = cut(period, Interval.DAY)
    lengths = [0, 0, 0]
    for hour in period.hours:
        lengths[pieces.number_of(hour)] += 1
    assert lengths == [24, 23, 24]


def test_a_day_without_midnight_begins_with_its_first_hour():
    period = read_period(NOW, "2026-09-06", "2026-09-06", "America/Santiago")
    assert at(period.hours[0]).isoformat() == "2026-09-06T04:00:00+00:00"
    assert len(period.hours) == 23


def test_weeks_begin_on_monday_and_months_on_the_first():
    period = read_period(NOW, "2026-01-15", "2026-03-02", None)
    assert starts(period, Interval.WEEK)[0] == "2026-01-12T00:00:00+00:00"
    assert starts(period, Interval.WEEK)[-1] == "2026-03-02T00:00:00+00:00"
    assert [start[:10] for start in starts(period, Interval.MONTH)] == [
        "2026-01-01",
        "2026-02-01",
        "2026-03-01",
    ]


@pytest.mark.parametrize(
    ("start", "interval"),
    [
        ("2026-03-09", Interval.HOUR),
        ("2026-03-08", Interval.DAY),
        ("2025-12-10", Interval.DAY),
        ("2025-11-01", Interval.WEEK),
        ("2023-01-01", Interval.MONTH),
    ],
)
def test_the_interval_suits_the_period(start, interval):
    assert read_period(NOW, start, "2026-03-10", None).choose_interval() is interval


def test_before_whole_days_there_are_as_many_days_also_in_summer_time():
    earlier = read_period(NOW, "2026-03-30", "2026-03-31", "Europe/Berlin").previous()
    assert earlier.start.isoformat() == "2026-03-28T00:00:00+01:00"
    assert earlier.end.isoformat() == "2026-03-30T00:00:00+02:00"


def test_before_some_hours_there_are_as_many_hours():
    earlier = read_period(NOW, "2026-03-29T04:00", "2026-03-29T06:00", "Europe/Berlin").previous()
    assert earlier.start.isoformat() == "2026-03-29T01:00:00+01:00"
    assert len(earlier.hours) == 2


def test_last_days_are_of_the_zone():
    late = datetime(2026, 3, 10, 23, 30, tzinfo=UTC)
    assert last_days(late, 1, None) == "2026-03-10"
    assert last_days(late, 2, "Europe/Berlin") == "2026-03-10"


def test_todays_breakdowns_are_there_before_noon():
    early = datetime(2026, 3, 10, 0, 40, tzinfo=UTC)
    today = (early - EPOCH).days
    days = read_period(early, None, None, None).days_for_breakdowns
    assert (len(days), days[-1]) == (30, today)
    yesterday = read_period(early, None, "2026-03-10T00:00:00Z", None)
    assert yesterday.days_for_breakdowns[-1] == today - 1
    until_then = read_period(early + timedelta(days=2), None, "2026-03-10T00:40:00Z", None)
    assert until_then.days_for_breakdowns[-1] == today - 1


@example(  # where the day behind it begins at one o'clock
    zone="America/Santiago", first=date(2025, 9, 1), length=6, interval=Interval.DAY
)
@given(
    zone=st.sampled_from(ZONES),
    first=st.dates(date(2019, 1, 1), date(2027, 1, 1)),
    length=st.integers(1, 400),
    interval=st.sampled_from([Interval.DAY, Interval.WEEK, Interval.MONTH]),
)
def test_every_hour_is_in_the_piece_of_its_own_date(zone, first, length, interval):
    last = first + timedelta(days=length - 1)
    period = read_period(NOW, str(first), str(last), zone)
    pieces = cut(period, interval)
    place = UTC if zone == "UTC" else ZoneInfo(zone)
    for hour in period.hours:
        start = pieces.starts[pieces.number_of(hour)]
        local = at(hour).astimezone(place).date()
        if interval is Interval.DAY:
            assert start.date() == local
        elif interval is Interval.WEEK:
            assert timedelta(0) <= local - start.date() < timedelta(days=7)
            assert start.weekday() == 0
        else:
            assert (start.year, start.month, start.day) == (local.year, local.month, 1)
    assert len(pieces.starts) == len({pieces.number_of(hour) for hour in period.hours})


@given(
    zone=st.sampled_from(ZONES),
    first=st.dates(date(2019, 1, 1), date(2027, 1, 1)),
    lengths=st.lists(st.integers(1, 40), min_size=2, max_size=4),
)
def test_periods_that_follow_each_other_share_no_day_of_breakdowns(zone, first, lengths):
    days: list[int] = []
    for length in lengths:
        last = first + timedelta(days=length - 1)
        days += read_period(NOW, str(first), str(last), zone).days_for_breakdowns
        first = last + timedelta(days=1)
    assert days == list(range(days[0], days[-1] + 1))
    assert len(days) == sum(lengths)
