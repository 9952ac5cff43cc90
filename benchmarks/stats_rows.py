"""Clicks of a year, as rows that the loader would leave, and how they get into a database."""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import asyncpg
import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Event, Subject, SubjectKind, tag_subject
from kurz.clicks.counts import MAX_OF_LINK, MAX_OF_MANY, OTHER, SLACK, Of, VisitKind
from kurz.clicks.sketch import PRECISION_OF_LINK, PRECISION_OF_MANY
from kurz.clock import EPOCH, SystemClock
from kurz.storage.clicks.events import ensure_days
from kurz.wiring.core import Kurz

TEAM = 7
TAG = "launch"
TODAY = (SystemClock().now() - EPOCH).days
DAYS = 365
DAY_MICROS = 86_400_000_000
ROW = ("kind", "subject", "day", "clicks", "people", "visitors", "counts", "sketch")
TOTAL = ("kind", "subject", "clicks", "timed", "mean_ms", "m2")
EVENT = ("day", "id", "at", *Event._fields[2:])
# What clicks tell apart, as keys of the counts; by Zipf's law.
VALUES = {
    Of.COUNTRY: [f"c{a}{b}" for a in "ABCDEFGHIJKLMNO" for b in "ABCDEFGHIJ"],
    Of.REFERRER: ["r", *(f"rreferrer-{number}.example" for number in range(2000))],
    Of.BROWSER: [f"bBrowser {number}" for number in range(25)],
    Of.SYSTEM: [f"oSystem {number}" for number in range(12)],
    Of.DEVICE: ["dphone", "ddesktop", "dtablet", "dtv", "dother"],
    Of.LANGUAGE: [f"l{letter}{land}" for letter in "abcdefgh" for land in ("", *"ABCDEFGHI")],
}
BOTS = [f"{Of.BOT}Bot {number}" for number in range(60)]
PEOPLE_AT = [f"{Of.PEOPLE_AT_HOUR}{hour:02}" for hour in range(24)]
BOTS_AT = [f"{Of.BOTS_AT_HOUR}{hour:02}" for hour in range(24)]
BOT_SHARE = 0.2
WIDE = {INSTALLATION: 1, Subject(SubjectKind.SPACE, TEAM): 3, tag_subject(TEAM, TAG): 60}


POOL = 500  # days of links, of each size, that are like any other's
POOLED_CLICKS = 20


class Data:
    """Rows as the loader leaves them. The workspace has every third link, the tag every twentieth
    of these. How often the busiest are clicked on a day follows from their share; days of wide
    subjects stand among those of links. `wide`: which links they have, every so many. Single clicks
    are those of the last `event_days`."""

    def __init__(
        self,
        clicks: int,
        links: int,
        *,
        days: int = DAYS,
        event_days: int = 2,  # no more is looked at for what is live
        wide: Mapping[Subject, int] = WIDE,
    ) -> None:
        self._chance = random.Random(5)
        self._per_day = clicks // days
        self._days = range(TODAY - days + 1, TODAY + 1)
        self._wide = wide
        self.event_days = self._days[-event_days:]
        self._link_weights = zipf(links)
        self._weights = {number: zipf(number) for number in map(len, VALUES.values())}
        self._weights[len(BOTS)] = zipf(len(BOTS))
        self._pool: dict[int, list[tuple[int, bytes]]] = {}
        self.links = links
        self.totals: Counter[Subject] = Counter()

    def days(self) -> Iterator[tuple[Any, ...]]:
        wide = self._wide_days()
        stretch = self.links // len(self._days)
        for link_id in range(1, self.links + 1):
            subject = Subject(SubjectKind.LINK, link_id)
            for day, clicks in self._clicks_of(link_id):
                yield self._row(subject, day, clicks, *self.day_of_link(clicks))
            if link_id % stretch == 0:
                yield from itertools.islice(wide, len(self._wide))
        yield from wide

    def _clicks_of(self, link_id: int) -> Iterator[tuple[int, int]]:
        """By day, those that have some."""
        expected = self._per_day / link_id / self._link_weights[-1]
        if expected > POOLED_CLICKS:
            yield from ((day, self._about(expected)) for day in self._days)
        else:
            number = self._about(expected * len(self._days))
            yield from Counter(self._chance.choices(self._days, k=number)).items()

    def _wide_days(self) -> Iterator[tuple[Any, ...]]:
        for day, (subject, step) in itertools.product(self._days, self._wide.items()):
            ids = range(step, self.links + 1, step)
            share = self._per_day / self._link_weights[-1]
            clicks = round(share * self._link_weights[len(ids) - 1] / step)
            people, counts = self._count(clicks)
            named = {
                f"{Of.LINK}{link_id}": self._about((1 - BOT_SHARE) * share / link_id)
                for link_id in ids[: 3 * MAX_OF_MANY]
            }
            counts.update(named)
            counts[Of.LINK + OTHER] = max(people - sum(named.values()), 0)
            yield self._row(subject, day, clicks, people, encode(capped(counts, MAX_OF_MANY)))

    def _about(self, expected: float) -> int:
        """As many as come if so many are expected."""
        return max(0, round(self._chance.gauss(expected, math.sqrt(expected))))

    def day_of_link(self, clicks: int) -> tuple[int, bytes]:
        """How many are people, and the counts."""
        pool = self._pool.setdefault(clicks, [])
        if clicks > POOLED_CLICKS or len(pool) < POOL:
            people, counts = self._count(clicks)
            made = people, encode(capped(counts, MAX_OF_LINK))
            if clicks <= POOLED_CLICKS:
                pool.append(made)
            return made
        return self._chance.choice(pool)

    def _draw(self, values: Sequence[Any], number: int) -> dict[Any, int]:
        weights = self._weights[len(values)]
        if number <= len(values):
            return Counter(self._chance.choices(values, cum_weights=weights, k=number))
        share = number / weights[-1]
        return {value: self._about(share / rank) for rank, value in enumerate(values, 1)}

    def _count(self, clicks: int) -> tuple[int, Counter[str]]:
        people = round(clicks * (1 - BOT_SHARE) + self._chance.random() - 0.5)
        bots = clicks - people
        counts: Counter[str] = Counter()
        counts.update(self._spread(PEOPLE_AT, people))
        counts.update(self._spread(BOTS_AT, bots))
        counts.update(self._draw(BOTS, bots))
        counts[Of.SORT + VisitKind.PERSON] = people
        counts[Of.SORT + VisitKind.BOT] = bots
        for values in VALUES.values():
            counts.update(self._draw(values, people))
        return people, counts

    def _spread(self, hours: Sequence[str], number: int) -> dict[str, int]:
        if number <= POOLED_CLICKS:
            return Counter(self._chance.choices(hours, k=number))
        each, rest = divmod(number, len(hours))
        return {hour: each + (place < rest) for place, hour in enumerate(hours)}

    def _row(
        self, subject: Subject, day: int, clicks: int, people: int, counts: bytes
    ) -> tuple[Any, ...]:
        self.totals[subject] += clicks
        is_link = subject.kind is SubjectKind.LINK
        most = 1 << (PRECISION_OF_LINK if is_link else PRECISION_OF_MANY)
        sketch = bytes(1 + min(8 * people, most))
        return (int(subject.kind), subject.id, day, clicks, people, people, counts, sketch)

    def all_totals(self) -> Iterator[tuple[Any, ...]]:
        for (kind, number), clicks in self.totals.items():
            yield int(kind), number, clicks, clicks, 0.2, 0.05 * clicks

    def events(self) -> Iterator[tuple[Any, ...]]:
        ids = range(1, self.links + 1)
        texts = ("person", "DE", "referrer.example", "Firefox", "Linux", "desktop", "de")
        numbers = itertools.count()
        for day in self.event_days:
            clicked = self._chance.choices(ids, cum_weights=self._link_weights, k=self._per_day)
            for at, link_id in enumerate(clicked, day * DAY_MICROS):
                space = self._space_of(link_id)
                yield (day, next(numbers), at, link_id, space, 150.0, *texts, bytes(8))

    def _space_of(self, link_id: int) -> int:
        return TEAM if link_id % 3 == 0 else 0


def zipf(number: int) -> list[float]:
    """The second is half as frequent as the first, the third a third."""
    return list(itertools.accumulate(1 / (rank + 1) for rank in range(number)))


def encode(counts: Counter[str]) -> bytes:
    found = {key: count for key, count in counts.items() if count}
    return json.dumps(found, separators=(",", ":")).encode()


def capped(counts: Counter[str], most: int) -> Counter[str]:
    if len(counts) <= SLACK * most:
        return counts
    found: Counter[str] = Counter()
    by_letter: dict[str, list[tuple[str, int]]] = {}
    for key, count in counts.items():
        by_letter.setdefault(key[0], []).append((key, count))
    for letter, items in by_letter.items():
        items.sort(key=lambda item: -item[1])
        found.update(dict(items[:most]))
        if len(items) > most:
            found[letter + OTHER] += sum(count for _, count in items[most:])
    return found


def link_rows(data: Data) -> Iterator[tuple[Any, ...]]:
    for link_id in range(1, data.links + 1):
        team = TEAM if link_id % 3 == 0 else 0
        url = f"https://example.com/{link_id}"
        yield (link_id, team, team, f"c{link_id}", 1, "random", url, url, "PERMANENT", "ACTIVE")


LINK = (
    *("id", "workspace_id", "space", "short_code", "version", "strategy", "original_url"),
    *("canonical_url", "link_type", "status"),
)
FIXED = {"created_at": 0, "updated_at": 0, "redirect_status": 302, "forward_query": False}
FIXED |= {"clicks_used": 0, "redirect_count": 0}


Tables = Iterable[tuple[str, Sequence[str], Iterator[tuple[Any, ...]]]]


async def fill(kurz: Kurz, data: Data) -> None:
    """The clicks, and their links."""
    rows = ((*row, *FIXED.values()) for row in link_rows(data))
    await fill_tables(kurz, data, [*click_tables(data), ("links", (*LINK, *FIXED), rows)])


async def fill_clicks(kurz: Kurz, data: Data) -> None:
    await fill_tables(kurz, data, click_tables(data))


def click_tables(data: Data) -> Tables:
    """In this order: the totals are those of the days."""
    yield "click_days", ROW, data.days()
    yield "click_totals", TOTAL, data.all_totals()
    yield "click_events", EVENT, data.events()


async def fill_tables(kurz: Kurz, data: Data, tables: Tables) -> None:
    if kurz.settings.database_url is None:
        await kurz.database.write(fill_sqlite, tables)
    else:
        await kurz.database.write(ensure_days, data.event_days)
        await fill_postgres(kurz.settings.database_url, tables)


def fill_sqlite(connection: sa.Connection, tables: Tables) -> None:
    driver: Any = connection.connection.driver_connection
    for table, names, rows in tables:
        marks = ", ".join("?" * len(names))
        driver.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows)  # noqa: S608


async def fill_postgres(url: str, tables: Tables) -> None:
    connection = await asyncpg.connect(url)
    for table, names, rows in tables:
        await connection.copy_records_to_table(table, records=rows, columns=names)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
