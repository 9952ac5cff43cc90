"""Stats in the API."""

from pydantic import AwareDatetime, BaseModel, Field

from kurz.clicks.periods import Interval


class NumbersRead(BaseModel):
    """`clicks` is the sum of `people` and `bots`. `daily_visitors` is the sum of each UTC day's
    visitors: a visitor who returns on another day counts again."""

    clicks: int
    people: int
    bots: int
    daily_visitors: int


class PreviousRead(NumbersRead):
    """The previous period of the same length."""

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
    """`other`: clicks with values not listed here; `unknown`: clicks without a value."""

    values: list[ValueRead]
    other: int
    unknown: int


class BreakdownsRead(BaseModel):
    """Covers the UTC days from `first_day` to `last_day`. Old breakdowns are stored by month; they
    cover whole months, even if the period has only some of their days. All but `kinds` and `bots`
    count people only. A referrer is a host; `unknown` referrers are direct visits, or browsers that
    sent none."""

    first_day: str
    last_day: str
    countries: BreakdownRead
    referrers: BreakdownRead
    browsers: BreakdownRead
    systems: BreakdownRead
    devices: BreakdownRead
    languages: BreakdownRead
    kinds: BreakdownRead
    bots: BreakdownRead


class TopLinkRead(BaseModel):
    id: int
    short_code: str
    short_url: str
    title: str | None
    clicks: int


class TopLinksRead(BaseModel):
    """Sorted by clicks of people. `gone`: clicks of links that would be listed here but were
    deleted or moved."""

    values: list[TopLinkRead]
    gone: int
    other: int


class AllTimeRead(BaseModel):
    """All clicks so far. Mean and standard deviation of the server's time per redirect; null if
    none has been measured."""

    clicks: int
    mean_ms: float | None
    deviation_ms: float | None


class StatsRead(BaseModel):
    """`previous` is null without `compare`; `links` is null for a single link."""

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
