"""The links of `list.py`, as the product writes them, and how they get into a database."""

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import asyncpg
import sqlalchemy as sa

from kurz.clock import SystemClock, to_micros
from kurz.links.checksums import Checksums, open_key
from kurz.links.model import space_of
from kurz.storage.links.checksums import KEY_NAME
from kurz.storage.links.installation import find_key
from kurz.storage.links.search import index_changes, leave_merging_to_us, merge_index
from kurz.wiring.core import Kurz

TEAM = 7
NOW = to_micros(SystemClock().now())
DAY = 86_400_000_000
WORDS = """
    spring summer autumn winter sale launch report quarter review guide pricing offer event press
    podcast letter career team product feature update release mobile desktop cloud travel hotel
    flight city museum concert ticket garden kitchen recipe coffee bread cheese music soccer
    tennis school course lesson student library science physics biology history
""".split()  # noqa: SIM905  a column of fifty strings is no easier to read
TAGS = [f"{WORDS[number % len(WORDS)]}-{number}" for number in range(3000)]
RARE_WORDS = {"zebra": 0.01, "quagga": 0.001, "okapi": 0.00001}
FILLED = (
    *("id", "workspace_id", "space", "short_code", "version", "strategy", "original_url"),
    *("canonical_url", "owner_id", "link_type", "status", "created_at", "updated_at", "expires_at"),
    *("deleted_at", "redirect_status", "title", "tags", "forward_query", "max_clicks"),
    *("clicks_used", "redirect_count"),
)
SEALED = (*FILLED, "checksum")


class Data:
    """Links as a workspace of some years has them: most made by few people, some tags on nearly
    everything, a part imported with old dates, one big clean-up, many expired."""

    def __init__(self, count: int) -> None:
        self._chance = random.Random(5)
        self.count = count
        self.owners = [self._chance.getrandbits(52) for _ in range(10)]
        self.tags = TAGS
        self._hosts = ["www.example.com", *(f"{word}.example" for word in WORDS)]
        self._weights = {
            len(values): list(itertools.accumulate(1 / (rank + 1) for rank in range(len(values))))
            for values in (self.owners, self.tags, self._hosts)
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for link_id in range(1, self.count + 1):
            url, title = self._texts()
            times, state = self._times(link_id)
            tags = tuple(dict.fromkeys(self._some(self.tags, self._chance.choice((0, 1, 1, 2, 3)))))
            code = f"{self._chance.getrandbits(40):x}-{link_id % 100}"
            workspace_id, owner_id = self._place(link_id)
            yield (
                *(link_id, workspace_id, space_of(workspace_id, owner_id), code, 1, "random"),
                *(url, url, owner_id, "PERMANENT", state[0], *times, 302, title),
                *(json.dumps(tags) if tags else None, False, *state[1:], self._clicks(link_id)),
            )

    def _place(self, link_id: int) -> tuple[int, int]:  # noqa: ARG002  others look at it
        """Its workspace, and who created it."""
        return TEAM, self._some(self.owners, 1)[0]

    def _clicks(self, link_id: int) -> int:  # noqa: ARG002  as in `_place`
        return int(min(self._chance.paretovariate(0.6), 10**9)) - 1

    def _some(self, values: list[Any], count: int) -> list[Any]:
        """By Zipf's law: the second is half as frequent as the first."""
        return self._chance.choices(values, cum_weights=self._weights[len(values)], k=count)

    def _texts(self) -> tuple[str, str | None]:
        one, two, three = self._chance.choices(WORDS, k=3)
        number = self._chance.randrange(10**6)
        url = f"https://{self._some(self._hosts, 1)[0]}/{one}/{two}-{number}?utm_source={three}"
        if self._chance.random() < 0.4:
            return url, None
        rare = [word for word, share in RARE_WORDS.items() if self._chance.random() < share]
        return url, " ".join([two.title(), three, *rare])

    def _times(self, link_id: int) -> tuple[tuple[int | None, ...], tuple[Any, ...]]:
        """(created, updated, expires, deleted), (status, max_clicks, clicks_used)."""
        chance, part = self._chance, link_id / self.count
        created = NOW - int((1 - part) * 730 * DAY) - 2 * DAY
        if 0.3 < part <= 0.4:  # imported
            created = NOW - chance.randrange(730 * DAY, 4000 * DAY)
        updated = created + (chance.randrange(2 * DAY) if chance.random() < 0.2 else 0)
        expires, deleted, lot = None, None, chance.random()
        if lot < 0.34:
            expires = created + chance.randrange(DAY, 500 * DAY)
        state: tuple[Any, ...] = ("ACTIVE", None, 0)
        if 0.5 < part <= 0.56:  # the clean-up, an hour ago
            deleted = updated = NOW - chance.randrange(3_600_000_000)
        elif (lot := chance.random()) < 0.06:
            deleted = updated = min(updated + chance.randrange(60 * DAY), NOW - 1)
        elif lot < 0.07:
            state = ("PAUSED", None, 0) if lot < 0.066 else ("ACTIVE", 50, 50)
            state = ("BANNED", None, 0) if lot < 0.061 else state
        if deleted is not None:
            state = ("DELETED", None, 0)
        return (created, updated, expires, deleted), state


def seal(stored_key: bytes | None, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """With their checksums: otherwise the server would add them while it is measured."""
    of = Checksums(open_key(stored_key or b"") or b"").of
    workspace, code, url = map(FILLED.index, ("workspace_id", "short_code", "original_url"))
    return ((*row, of(row[workspace], row[code], row[url], None)) for row in rows)


def fill_sqlite(connection: sa.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Rows of `FILLED`, with their tags and changes."""
    driver: Any = connection.connection.driver_connection
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'ix_links_%'"
    indexes = driver.execute(query).fetchall()
    for name, _ in indexes:
        driver.execute(f"DROP INDEX {name}")
    marks, sealed = ", ".join("?" * len(SEALED)), seal(find_key(connection, KEY_NAME), rows)
    driver.executemany(f"INSERT INTO links ({', '.join(SEALED)}) VALUES ({marks})", sealed)  # noqa: S608
    driver.execute(
        "INSERT INTO link_tags SELECT space, value, status = 'DELETED', links.id"
        " FROM links, json_each(tags) WHERE tags IS NOT NULL ORDER BY 1, 2, 3, 4"
    )
    driver.execute(
        "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
        " SELECT id, workspace_id, short_code, version, created_at FROM links ORDER BY id"
    )
    for _, definition in indexes:
        driver.execute(definition)


async def fill_index_of_texts(kurz: Kurz) -> None:
    await kurz.database.write(leave_merging_to_us)
    while await kurz.database.write(index_changes, 20_000):
        for _ in range(40):
            await kurz.database.write(merge_index)
    while await kurz.database.write(merge_index):
        pass


async def fill_postgres(url: str, rows: Iterable[tuple[Any, ...]]) -> None:
    connection = await asyncpg.connect(url)
    query = "SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix_links_%'"
    indexes = await connection.fetch(query)
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['indexname']}")
    key = await connection.fetchval("SELECT value FROM installation WHERE name = $1", KEY_NAME)
    await connection.copy_records_to_table("links", records=seal(key, rows), columns=SEALED)
    await connection.execute(
        "INSERT INTO link_tags SELECT space, each.value, status = 'DELETED', links.id FROM links,"
        " json_array_elements_text(tags::json) AS each WHERE tags IS NOT NULL"
    )
    # Otherwise new links would get IDs that are taken.
    await connection.execute(
        "SELECT setval(pg_get_serial_sequence('links', 'id'), max(id)) FROM links"
    )
    await connection.execute("SET maintenance_work_mem = '512MB'")
    for index in indexes:
        await connection.execute(index["indexdef"])
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


async def fill(kurz: Kurz, rows: Iterable[tuple[Any, ...]]) -> None:
    """As `fill_sqlite` and `fill_postgres`, and with nothing left to index."""
    url = kurz.settings.database_url
    if url is not None:
        await fill_postgres(url, rows)
        return
    await kurz.database.write(fill_sqlite, rows)
    await fill_index_of_texts(kurz)
