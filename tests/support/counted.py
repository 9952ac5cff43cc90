"""Clicks as the loader leaves them: days, totals and events, counted in the plainest way."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Event, Subject, SubjectKind, tag_subject
from kurz.clicks.counts import PEOPLE, Of, VisitKind
from kurz.clicks.moments import Moments
from kurz.clock import to_micros
from kurz.links.model import Link, space_of
from kurz.storage.clicks.events import ensure_days
from kurz.storage.engine.database import Database
from kurz.storage.schema.clicks import click_days, click_events, click_totals

DAY_MICROS = 86_400_000_000
HOUR_MICROS = 3_600_000_000
_LETTERS = {
    Of.COUNTRY: "country",
    Of.REFERRER: "referrer",
    Of.BROWSER: "browser",
    Of.SYSTEM: "system",
    Of.DEVICE: "device",
    Of.LANGUAGE: "language",
}


class Clicks:
    """Remembers clicks; `save` makes the tables tell of all of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clicks: list[tuple[Event, tuple[str, ...]]] = []

    def add(self, link: Link, at: datetime, number: int = 1, **values: Any) -> None:
        space = space_of(link.workspace_id, link.owner_id)
        self.add_of(link.id, space, at, number, tags=link.tags, **values)

    def add_of(
        self,
        link_id: int,
        space: int,
        at: datetime,
        number: int = 1,
        *,
        tags: tuple[str, ...] = (),
        sort: VisitKind = VisitKind.PERSON,
        visitor: str = "",
        latency_ms: float = 1.0,
        **values: str,
    ) -> None:
        micros = to_micros(at)
        event = Event(
            day=micros // DAY_MICROS,
            at_micros=micros,
            link_id=link_id,
            space=space,
            latency_micros=latency_ms * 1000,
            sort=sort,
            **{name: values.pop(name, "") for name in _LETTERS.values()},
            visitor=visitor.encode().rjust(8, b"\0"),
        )
        assert not values, f"no value of a click: {values}"
        self._clicks += [(event, tags)] * number

    async def save(self) -> None:
        await self._database.write(_write, self._clicks)


def _write(connection: sa.Connection, clicks: list[tuple[Event, tuple[str, ...]]]) -> None:
    for table in (click_days, click_totals, click_events):
        connection.execute(sa.delete(table))
    days: defaultdict[tuple[Subject, int], list[Event]] = defaultdict(list)
    moments: defaultdict[Subject, Moments] = defaultdict(Moments)
    for event, tags in clicks:
        for subject in _subjects(event, tags):
            days[subject, event.day].append(event)
            moments[subject] = moments[subject].add(event.latency_micros / 1000)
    if not clicks:
        return
    connection.execute(sa.insert(click_days), [_day(*key, of) for key, of in days.items()])
    totals = [
        {"kind": int(subject.kind), "subject": subject.id, "clicks": it.number, "timed": it.number}
        | {"mean_ms": it.mean, "m2": it.m2}
        for subject, it in moments.items()
    ]
    connection.execute(sa.insert(click_totals), totals)
    _write_events(connection, [event for event, _ in clicks])


def _write_events(connection: sa.Connection, events: list[Event]) -> None:
    ensure_days(connection, {event.day for event in events})
    rows = []
    for number, event in enumerate(events, 1):
        row = event._asdict()
        row["at"] = row.pop("at_micros")
        rows.append(row | {"id": number})
    connection.execute(sa.insert(click_events), rows)


def _subjects(event: Event, tags: Iterable[str]) -> Iterable[Subject]:
    yield Subject(SubjectKind.LINK, event.link_id)
    yield Subject(SubjectKind.SPACE, event.space)
    yield INSTALLATION
    for tag in tags:
        yield tag_subject(event.space, tag)


def _day(subject: Subject, day: int, events: list[Event]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for event in events:
        hour = event.at_micros % DAY_MICROS // HOUR_MICROS
        is_person = event.sort in PEOPLE
        counts[f"{Of.PEOPLE_AT_HOUR if is_person else Of.BOTS_AT_HOUR}{hour:02}"] += 1
        counts[Of.SORT + event.sort] += 1
        if not is_person:
            counts[Of.BOT + event.browser] += 1
            continue
        for letter, name in _LETTERS.items():
            counts[letter + getattr(event, name)] += 1
        if subject.kind is not SubjectKind.LINK:
            counts[f"{Of.LINK}{event.link_id}"] += 1
    return {
        "kind": int(subject.kind),
        "subject": subject.id,
        "day": day,
        "clicks": len(events),
        "people": sum(event.sort in PEOPLE for event in events),
        "visitors": len({event.visitor for event in events} - {bytes(8)}),
        "counts": json.dumps(counts).encode(),
        "sketch": b"",
    }
