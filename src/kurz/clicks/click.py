"""Individual clicks as people see them: nothing identifies the visitor."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from kurz.clicks.batch import Event
from kurz.clicks.stats import About, StatsStore
from kurz.clock import from_micros


class ClickRow(NamedTuple):
    """`short_code` is None if the link is purged or was moved. Other values are empty if
    unknown."""

    at: datetime
    short_code: str | None
    kind: str
    country: str
    referrer: str
    browser: str
    system: str
    device: str
    language: str
    latency_ms: float


async def name(events: Sequence[Event], about: About, store: StatsStore) -> list[ClickRow]:
    codes = await store.short_codes({event.link_id for event in events}, about.space)
    return [
        ClickRow(
            from_micros(event.at_micros),
            codes.get(event.link_id),
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
