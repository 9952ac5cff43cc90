"""Batches of made-up clicks, and a plain model of what they have to add up to."""

import random
from collections import Counter, defaultdict
from typing import Any

import msgspec
import sqlalchemy as sa

from kurz.clicks import sketch
from kurz.clicks.batch import (
    INSTALLATION,
    Batch,
    DayCounts,
    Event,
    JournalPosition,
    Subject,
    SubjectKind,
    tag_subject,
)
from kurz.clicks.moments import Moments
from kurz.storage.schema.clicks import click_days, click_events, click_totals, journal_position

MICROS_OF_DAY = 86_400_000_000
LINKS = 40
COUNTRIES = ("DE", "FR", "JP", "")


class Clicks:
    """Makes batches, and remembers all clicks that are in them."""

    def __init__(self, today: int, seed: int = 0) -> None:
        self._today = today
        self._random = random.Random(seed)
        self.made: list[Event] = []

    def batch(
        self, start: JournalPosition, end_offset: int, number: int = 60, days: range = range(-2, 1)
    ) -> Batch:
        """Of some links and days, today's last by default."""
        batch = Batch(start, JournalPosition(start.segment, end_offset), number)
        for _ in range(number):
            event = self._event(self._today + self._random.choice(days))
            batch.events.append(event)
            for subject in subjects_of(event):
                _count(batch, subject, event)
        self.made += batch.events
        return batch

    def _event(self, day: int) -> Event:
        choose = self._random.choice
        link_id = self._random.randrange(LINKS) + 1
        return Event(
            day=day,
            at_micros=day * MICROS_OF_DAY + self._random.randrange(MICROS_OF_DAY),
            link_id=link_id,
            space=-(link_id % 3),
            latency_micros=self._random.uniform(10, 5000),
            sort=choose(("person", "bot")),
            country=choose(COUNTRIES),
            referrer=choose(("example.com", "")),
            browser="Firefox",
            system="Linux",
            device="desktop",
            language="de",
            visitor=self._random.randrange(500).to_bytes(8),
        )


def subjects_of(event: Event) -> list[Subject]:
    return [
        Subject(SubjectKind.LINK, event.link_id),
        tag_subject(event.space, "even" if event.link_id % 2 == 0 else "odd"),
        Subject(SubjectKind.SPACE, event.space),
        INSTALLATION,
    ]


def _count(batch: Batch, subject: Subject, event: Event) -> None:
    counters = batch.days.setdefault((subject, event.day), DayCounts())
    counters.clicks += 1
    counters.people += event.sort == "person"
    counters.visitors.add(event.visitor)
    for key in _keys(event):
        counters.counts[key] = counters.counts.get(key, 0) + 1
    moments = batch.moments.get(subject, Moments())
    batch.moments[subject] = moments.add(event.latency_micros / 1000)


def _keys(event: Event) -> tuple[str, ...]:
    return "s" + event.sort, "c" + event.country, "r" + event.referrer


def expected_days(events: list[Event]) -> dict[tuple[int, int, int], tuple[Any, ...]]:
    """Key → clicks, people, counts and visitors."""
    days: dict[tuple[int, int, int], list[Event]] = defaultdict(list)
    for event in events:
        for kind, id_ in subjects_of(event):
            days[int(kind), id_, event.day].append(event)
    return {
        key: (
            len(clicks),
            sum(event.sort == "person" for event in clicks),
            dict(Counter(name for event in clicks for name in _keys(event))),
            {event.visitor for event in clicks},
        )
        for key, clicks in days.items()
    }


def expected_totals(events: list[Event]) -> dict[tuple[int, int], Moments]:
    totals: dict[tuple[int, int], Moments] = defaultdict(Moments)
    for event in events:
        for kind, id_ in subjects_of(event):
            totals[int(kind), id_] = totals[int(kind), id_].add(event.latency_micros / 1000)
    return totals


def stored_days(connection: sa.Connection) -> dict[tuple[int, int, int], tuple[Any, ...]]:
    """As `expected_days`; visitors as a sketch and their number."""
    decode = msgspec.json.Decoder(dict[str, int]).decode
    return {
        (row.kind, row.subject, row.day): (
            row.clicks,
            row.people,
            decode(row.counts),
            bytes(row.sketch),
            row.visitors,
        )
        for row in connection.execute(sa.select(click_days))
    }


def stored_totals(connection: sa.Connection) -> dict[tuple[int, int], tuple[int, Moments]]:
    """Key → clicks, and the moments of those that were timed."""
    return {
        (row.kind, row.subject): (row.clicks, Moments(row.timed, row.mean_ms, row.m2))
        for row in connection.execute(sa.select(click_totals))
    }


def stored_events(connection: sa.Connection) -> list[Event]:
    """In the order of loading."""
    columns = [column for column in click_events.c if column.name != "id"]
    query = sa.select(*columns).order_by(click_events.c.day, click_events.c.id)
    return [Event._make(row) for row in connection.execute(query)]


def everything(connection: sa.Connection) -> list[list[Any]]:
    """All rows of all tables of clicks."""
    tables = journal_position, click_totals, click_days, click_events
    return [sorted(map(repr, connection.execute(sa.select(table)).all())) for table in tables]


def holds(days: dict[tuple[int, int, int], tuple[Any, ...]], events: list[Event]) -> bool:
    """Whether these days are all that the clicks add up to, and nothing else."""
    expected = expected_days(events)
    if days.keys() != expected.keys():
        return False
    for key, (clicks, people, counts, visitors) in expected.items():
        precision = sketch.PRECISION_OF_MANY if key[0] else sketch.PRECISION_OF_LINK
        *numbers, data, number_of_visitors = days[key]
        if numbers != [clicks, people, counts] or number_of_visitors != len(visitors):
            return False
        if sketch.add(data, visitors, precision) != data:
            return False
    return True
