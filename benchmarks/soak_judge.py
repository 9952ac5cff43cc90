"""What `soak.py` says about its samples: whether memory, descriptors and backlogs grow."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

HOUR_SECONDS = 3600.0
BLOCK_SECONDS = 60.0
# Samples that follow each other are alike, and the interval of Sen assumes that they are not: hence
# medians of a minute. With fewer than this many of them, no interval means anything.
LEAST_BLOCKS = 8
Z = 1.96  # 95 %, two-sided

Points = Sequence[tuple[float, float]]  # seconds, value


@dataclass(frozen=True)
class Trend:
    """The median of the slopes between all pairs of points (Theil and Sen), and the bounds of its
    interval of 95 %: a change per hour."""

    slope: float
    low: float
    high: float


@dataclass(frozen=True)
class Rule:
    """`percent_per_hour`: how much it may grow, in per cent of its median; None: it may grow. Below
    `floor` it may do as it likes. `scale` and `unit` are those of the table."""

    unit: str
    percent_per_hour: float | None = None
    floor: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class Judgement:
    name: str
    rule: Rule
    first: float  # medians of the first and the last quarter
    last: float
    most: float
    percent: Trend | None  # None: there are too few points, or it is 0

    @property
    def is_judged(self) -> bool:
        return self.rule.percent_per_hour is not None

    @property
    def grows(self) -> bool:
        """Only if even the lower bound of its slope is too much: otherwise it may be noise."""
        limit = self.rule.percent_per_hour
        if limit is None or self.percent is None or self.most <= self.rule.floor:
            return False
        return self.percent.low > limit

    @property
    def verdict(self) -> str:
        if not self.is_judged:
            return ""
        if self.percent is None and self.most > self.rule.floor:
            return "too short"
        return "GROWS" if self.grows else "ok"


@dataclass(frozen=True)
class Check:
    """What must hold at the end, or over all of it."""

    name: str
    found: str
    is_met: bool


def judge(name: str, points: Points, rule: Rule) -> Judgement:
    values = [value for _, value in points]
    quarter = max(len(values) // 4, 1)
    middle = statistics.median(values)
    found = trend(blocks(points))
    percent = None
    if found is not None and middle > 0:
        slope, low, high = (100 * each / middle for each in (found.slope, found.low, found.high))
        percent = Trend(slope, low, high)
    return Judgement(
        name=name,
        rule=rule,
        first=statistics.median(values[:quarter]),
        last=statistics.median(values[-quarter:]),
        most=max(values),
        percent=percent,
    )


def blocks(points: Points, seconds: float = BLOCK_SECONDS) -> list[tuple[float, float]]:
    """The median of each stretch of time, at its middle. A last one that is not whole is left
    out."""
    if not points:
        return []
    begin = points[0][0]
    found: dict[int, list[float]] = {}
    for at, value in points:
        found.setdefault(int((at - begin) // seconds), []).append(value)
    whole = int((points[-1][0] - begin + 0.1 * seconds) // seconds)
    return [
        (begin + (number + 0.5) * seconds, statistics.median(values))
        for number, values in sorted(found.items())
        if number < whole
    ]


def trend(points: Points) -> Trend | None:
    """None: there are too few points."""
    if len(points) < LEAST_BLOCKS:
        return None
    slopes = sorted(
        (later - value) / (later_at - at) * HOUR_SECONDS
        for (at, value), (later_at, later) in combinations(points, 2)
    )
    lower, upper = _ranks(len(points), len(slopes))
    return Trend(statistics.median(slopes), slopes[lower], slopes[upper])


def _ranks(points: int, slopes: int) -> tuple[int, int]:
    """Which of the sorted slopes are the bounds: Kendall's S has this variance if there is no
    trend."""
    width = Z * math.sqrt(points * (points - 1) * (2 * points + 5) / 18)
    lower = max(math.floor((slopes - width) / 2) - 1, 0)
    return lower, slopes - 1 - lower


def is_passed(judgements: Sequence[Judgement], checks: Sequence[Check]) -> bool:
    return all(each.verdict in ("", "ok") for each in judgements) and all(
        each.is_met for each in checks
    )


def table(judgements: Sequence[Judgement]) -> list[list[str]]:
    """With its head."""
    rows = [["", "first", "last", "most", "% an hour", "95 %", "limit", ""]]
    for each in judgements:
        rule, percent = each.rule, each.percent
        rows.append(
            [
                f"{each.name}, {rule.unit}" if rule.unit else each.name,
                *(number(value / rule.scale) for value in (each.first, each.last, each.most)),
                "–" if percent is None else f"{percent.slope:+.1f}",
                "–" if percent is None else f"{percent.low:+.1f} to {percent.high:+.1f}",
                "–" if rule.percent_per_hour is None else f"{rule.percent_per_hour:g}",
                each.verdict,
            ]
        )
    return rows


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.1f}"


def as_told(judgements: Sequence[Judgement]) -> list[Mapping[str, object]]:
    """For a file of JSON."""
    return [
        {
            "name": each.name,
            "unit": each.rule.unit,
            "first": each.first,
            "last": each.last,
            "most": each.most,
            "verdict": each.verdict,
            "percent_per_hour": None if each.percent is None else vars(each.percent),
        }
        for each in judgements
    ]
