"""Single clicks as people see them: nothing tells who it was."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from kurz.clicks.batch import Event
from kurz.clicks.reports import About, ReportStore
from kurz.clock import from_micros


class Click(NamedTuple):
    """`short_code` is None where the link is gone or elsewhere by now. Other values are empty where
    they are not known."""

    at: datetime
    short_code: str | None
    sort: str
    country: str
    referrer: str
    browser: str
    system: str
    device: str
    language: str
    latency_ms: float


async def name(events: Sequence[Event], about: About, store: ReportStore) -> list[Click]:
    found = await store.links({event.link_id for event in events}, about.space)
    return [
        Click(
            from_micros(event.at_micros),
            found[event.link_id].short_code if event.link_id in found else None,
            event.sort,
            event.country,
            event.referrer,
            event.browser,
            event.system,
            event.device,
            event.language,
            round(event.latency_micros / 1000, 3),
        )
        for event in events
    ]
