"""A report as the API and `--json` output show it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kurz.clicks.live import Now
from kurz.clicks.periods import Interval
from kurz.clicks.series import Numbers
from kurz.clicks.stats import StatsReport, TopLink
from kurz.clock import EPOCH
from kurz.links.model import Link
from kurz.links.service import LinkService


def view(
    report: StatsReport, service: LinkService, address: Callable[[Link], str]
) -> dict[str, Any]:
    """`address` is the short URL of a link."""
    period, top = report.period, report.top_links
    links = None
    if top is not None:
        shown = [_link(item, service, address(item.link)) for item in top.links]
        links = {"values": shown, "gone": top.gone, "other": top.other}
    return {
        "from": period.start,
        "to": period.end,
        "zone": str(period.zone),
        "interval": report.interval,
        "totals": _numbers(report.numbers),
        "previous": _previous(report),
        "all_time": {
            "clicks": report.all_clicks,
            "mean_ms": report.latencies.mean if report.latencies.number else None,
            "deviation_ms": report.deviation_ms,
        },
        "series": _series(report),
        "breakdowns": {
            "first_day": _date(report.days[0]),
            "last_day": _date(report.days[-1]),
            **{
                name: {
                    "values": [item._asdict() for item in found.values],
                    "other": found.other,
                    "unknown": found.unknown,
                }
                for name, found in report.breakdowns.items()
            },
        },
        "links": links,
    }


def view_now(now: Now) -> dict[str, Any]:
    return {
        "day": _date(now.today),
        "today": _numbers(now.numbers),
        "all_clicks": now.all_clicks,
        "newest": [click._asdict() for click in now.newest],
    }


def _link(item: TopLink, service: LinkService, address: str) -> dict[str, Any]:
    return {
        "id": service.public_id(item.link),
        "short_code": item.link.short_code,
        "short_url": address,
        "title": item.link.title,
        "clicks": item.clicks,
    }


def _numbers(numbers: Numbers) -> dict[str, int]:
    return {"clicks": numbers.clicks, **numbers._asdict()}


def _previous(report: StatsReport) -> dict[str, Any] | None:
    if report.previous is None:
        return None
    period, numbers = report.previous
    return {"from": period.start, "to": period.end, **_numbers(numbers)}


def _series(report: StatsReport) -> list[dict[str, Any]]:
    has_days = report.interval is not Interval.HOUR
    return [
        {
            "start": point.start,
            "clicks": point.people + point.bots,
            "people": point.people,
            "bots": point.bots,
            "daily_visitors": point.daily_visitors if has_days else None,
        }
        for point in report.points
    ]


def _date(day: int) -> str:
    return str((EPOCH + timedelta(days=day)).date())
