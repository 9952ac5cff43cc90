"""Stats as the API gives them."""

from pydantic import AwareDatetime, BaseModel, Field

from kurz.clicks.periods import Interval


class NumbersRead(BaseModel):
    """`clicks` are those of `people` and `bots`. `daily_visitors` is the sum of each UTC day's
    visitors: who comes on two days counts twice."""

    clicks: int
    people: int
    bots: int
    daily_visitors: int


class PreviousRead(NumbersRead):
    """As much time before."""

    from_: AwareDatetime = Field(alias="from")
    to: AwareDatetime


class PointRead(NumbersRead):
    """`daily_visitors` is null for hours."""

    start: AwareDatetime
    daily_visitors: int | None  # type: ignore[assignment]


class ValueRead(BaseModel):
    value: str
    clicks: int


class BreakdownRead(BaseModel):
    """`other`: clicks with values that are not named; `unknown`: with none."""

    values: list[ValueRead]
    other: int
    unknown: int


class BreakdownsRead(BaseModel):
    """Of the days of UTC from `first_day` to `last_day`. All but `sorts` and `bots` are of people.
    A referrer is a host; unknown ones came directly, or their browser did not tell."""

    first_day: str
    last_day: str
    countries: BreakdownRead
    referrers: BreakdownRead
    browsers: BreakdownRead
    systems: BreakdownRead
    devices: BreakdownRead
    languages: BreakdownRead
    sorts: BreakdownRead
    bots: BreakdownRead


class TopLinkRead(BaseModel):
    id: int
    short_code: str
    short_url: str
    title: str | None
    clicks: int


class TopLinksRead(BaseModel):
    """By clicks of people. `gone`: clicks of links that would be among them, but exist no more or
    are elsewhere by now."""

    values: list[TopLinkRead]
    gone: int
    other: int


class AllTimeRead(BaseModel):
    """Since there are clicks. The mean and the standard deviation are of the server's time for a
    redirect; null as long as none was measured."""

    clicks: int
    mean_ms: float | None
    deviation_ms: float | None


class StatsRead(BaseModel):
    """`previous` is null unless `compare` was asked for, `links` is null for a link."""

    from_: AwareDatetime = Field(alias="from")
    to: AwareDatetime
    zone: str
    interval: Interval
    totals: NumbersRead
    previous: PreviousRead | None
    all_time: AllTimeRead
    series: list[PointRead]
    breakdowns: BreakdownsRead
    links: TopLinksRead | None
