"""Clicks of a year, as rows that the loader would leave, and how they get into a database."""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import asyncpg
import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Event, Subject, SubjectKind, tag_subject
from kurz.clicks.counts import MAX_OF_LINK, MAX_OF_MANY, OTHER, SLACK, Of, VisitKind
from kurz.clicks.sketch import PRECISION_OF_LINK, PRECISION_OF_MANY
from kurz.clock import EPOCH, SystemClock

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
# Which links they have: every so many.
WIDE = {INSTALLATION: 1, Subject(SubjectKind.SPACE, TEAM): 3, tag_subject(TEAM, TAG): 60}


POOL = 500  # days of links, of each size, that are like any other's
POOLED_CLICKS = 20


class Data:
    """Rows as the loader leaves them. The workspace has every third link, the tag every twentieth
    of these. How often the busiest are clicked on a day follows from their share; days of wide
    subjects stand among those of links."""

    def __init__(self, clicks: int, links: int) -> None:
        self._chance = random.Random(5)
        self._per_day = clicks // DAYS
        self._days = range(TODAY - DAYS + 1, TODAY + 1)
        self._link_weights = zipf(links)
        self._weights = {number: zipf(number) for number in map(len, VALUES.values())}
        self._weights[len(BOTS)] = zipf(len(BOTS))
        self._pool: dict[int, list[tuple[int, bytes]]] = {}
        self.links = links
        self.totals: Counter[Subject] = Counter()

    def days(self) -> Iterator[tuple[Any, ...]]:
        wide = self._wide_days()
        stretch = self.links // DAYS
        for link_id in range(1, self.links + 1):
            subject = Subject(SubjectKind.LINK, link_id)
            for day, clicks in self._clicks_of(link_id):
                yield self._row(subject, day, clicks, *self._day_of_link(clicks))
            if link_id % stretch == 0:
                yield from itertools.islice(wide, len(WIDE))
        yield from wide

    def _clicks_of(self, link_id: int) -> Iterator[tuple[int, int]]:
        """By day, those that have some."""
        expected = self._per_day / link_id / self._link_weights[-1]
        if expected > POOLED_CLICKS:
            yield from ((day, self._about(expected)) for day in self._days)
        else:
            number = self._about(expected * DAYS)
            yield from Counter(self._chance.choices(self._days, k=number)).items()

    def _wide_days(self) -> Iterator[tuple[Any, ...]]:
        for day, (subject, step) in itertools.product(self._days, WIDE.items()):
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

    def _day_of_link(self, clicks: int) -> tuple[int, bytes]:
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
        """Of two days: no more is looked at for what is live."""
        ids = range(1, self.links + 1)
        weights = self._link_weights
        clicked = self._chance.choices(ids, cum_weights=weights, k=2 * self._per_day)
        for number, link_id in enumerate(clicked):
            day = TODAY - 1 + number // self._per_day
            space = TEAM if link_id % 3 == 0 else 0
            at = day * DAY_MICROS + number % self._per_day
            texts = ("person", "DE", "referrer.example", "Firefox", "Linux", "desktop", "de")
            yield (day, number, at, link_id, space, 150.0, *texts, bytes(8))


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


def fill_sqlite(connection: sa.Connection, data: Data) -> None:
    driver: Any = connection.connection.driver_connection

    def insert(table: str, names: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(names))
        driver.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows)  # noqa: S608

    insert("click_days", ROW, data.days())
    insert("click_totals", TOTAL, data.all_totals())
    insert("click_events", EVENT, data.events())
    insert("links", (*LINK, *FIXED), ((*row, *FIXED.values()) for row in link_rows(data)))


async def fill_postgres(url: str, data: Data) -> None:
    connection = await asyncpg.connect(url)
    for day in (TODAY - 1, TODAY):
        await connection.execute(
            f"CREATE TABLE click_events_{day} PARTITION OF click_events"
            f" FOR VALUES FROM ({day}) TO ({day + 1})"
        )
    copy = connection.copy_records_to_table
    await copy("click_days", records=data.days(), columns=ROW)
    await copy("click_totals", records=data.all_totals(), columns=TOTAL)
    await copy("click_events", records=data.events(), columns=EVENT)
    rows = ((*row, *FIXED.values()) for row in link_rows(data))
    await copy("links", records=rows, columns=(*LINK, *FIXED))
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
