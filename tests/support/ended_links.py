"""Many links for the reaper: some whose time is over, some whose time is not, and what became of
them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import Draft, Link, Status
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.links import changes, history, links
from kurz.wiring.core import Kurz

OWNER = 5
ROWS = 10_000  # of links, read at once


@dataclass(frozen=True)
class Kind:
    """`ago` is how long ago they expired, or came to the trash."""

    name: str
    ago: timedelta | None = None
    status: Status = Status.ACTIVE
    is_anonymous: bool = False
    is_swept: bool = False


# What the reaper has to end, by the usual rules; as many of each.
ENDED = (
    Kind("purged", timedelta(hours=2), is_anonymous=True),
    Kind("trashed", timedelta(days=8)),
    Kind("paused-trashed", timedelta(days=9), Status.PAUSED),
    Kind("marked-purged", timedelta(hours=1), Status.EXPIRED, is_anonymous=True),
)
# What is not its business; as many of each.
LIVE = (
    Kind("live-for-ever"),
    Kind("live-for-a-while", timedelta(hours=-2)),
    Kind("live-anonymous", timedelta(hours=-2), is_anonymous=True),
    Kind("live-extended", timedelta(hours=-2), Status.EXPIRED),
    Kind("live-paused", None, Status.PAUSED),
    Kind("live-banned", timedelta(days=100), Status.BANNED),
    Kind("live-deleted", timedelta(days=1), Status.DELETED),
    Kind("live-swept", timedelta(days=100), Status.DELETED, is_swept=True),
)
# Expired, but within their grace: their rows say so afterwards, nothing else.
GRACED = (
    Kind("graced-temporary", timedelta(minutes=10), is_anonymous=True),
    Kind("graced-permanent", timedelta(days=6)),
)


async def create_template(kurz: Kurz, kind: Kind) -> Link:
    """The link that those of this kind are copies of."""
    owner_id = None if kind.is_anonymous else OWNER
    url = f"https://example.com/{kind.name}"
    draft = Draft(original_url=url, owner_id=owner_id, is_anonymous=kind.is_anonymous)
    return (await kurz.links.create(draft)).link


async def fill(kurz: Kurz, kind: Kind, template: Link, codes: range) -> set[int]:
    """Copies of a link, with these numbers in their codes; gives their ids."""
    now = kurz.clock.now()
    at = None if kind.ago is None else to_micros(now - kind.ago)
    is_in_trash = kind.status is Status.DELETED
    own = {
        "status": kind.status,
        "expires_at": at if not is_in_trash or kind.is_swept else None,
        "deleted_at": at if is_in_trash else None,
        "swept_at": at if kind.is_swept else None,
        "claim_hash": None,
    }
    with deadline(LONG_SECONDS):
        return await kurz.database.write(_copy, template, kind.name, codes, own)


def _copy(
    connection: sa.Connection, template: Link, name: str, codes: range, own: Mapping[str, Any]
) -> set[int]:
    numbers = sa.select(sa.literal(codes[0]).label("number")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.number + 1).where(numbers.c.number < codes[-1]))
    values: dict[str, Any] = {
        column.name: sa.literal(own[column.name], column.type) if column.name in own else column
        for column in links.c
        if column is not links.c.id
    }
    values["short_code"] = sa.literal(f"{name}-") + sa.cast(numbers.c.number, sa.Text)
    both = links.join(numbers, links.c.id == template.id)
    copies = sa.select(*values.values()).select_from(both)
    made = sa.insert(links).from_select([*values], copies).returning(links.c.id)
    return set(connection.execute(made).scalars())


@dataclass
class World:
    """`ended` are ids; `others` what all the other rows were, by ids. `templates` are those of the
    links that have ended, by the names of their kinds."""

    kurz: Kurz
    ended: set[int]
    others: Mapping[int, int]
    last_change: int
    templates: Mapping[str, Link]

    async def check(self) -> None:
        """Every link that had to end did so once, and all others are as they were."""
        number = len(self.ended)
        changed = await self._changed()
        assert changed.keys() == self.ended
        assert set(changed.values()) == {1}
        assert await read_rows(self.kurz, "live-%") == self.others
        assert await _statuses(self.kurz, "graced-%") == {("EXPIRED", 1)}
        assert await _statuses(self.kurz, "%purged-%") == set()
        assert await _statuses(self.kurz, "%trashed-%") == {("DELETED", 2)}
        swept = await _counted(self.kurz, history.c.link_id, history.c.action == "sweep")
        assert swept.keys() <= self.ended
        assert (len(swept), set(swept.values())) == (number // 2, {1})
        kept = await _counted(self.kurz, code_quarantine.c.short_code)
        assert len(kept) == number // 2

    async def add_ended(self, number: int) -> None:
        """More links that have ended."""
        each, first = number // len(ENDED), len(self.ended) // len(ENDED) + 1
        for kind in ENDED:
            template, codes = self.templates[kind.name], range(first, first + each)
            self.ended |= await fill(self.kurz, kind, template, codes)

    async def left(self) -> int:
        """How many there are still to end."""
        return len(self.ended - (await self._changed()).keys())

    async def _changed(self) -> Counter[int]:
        """How often each link was written."""
        return await _counted(self.kurz, changes.c.link_id, changes.c.id > self.last_change)


async def make_world(kurz: Kurz, each: int) -> World:
    """As many links that have ended, as many that live, and some in between."""
    templates: dict[str, Link] = {}
    made: dict[str, set[int]] = {}
    for kinds, number in ((ENDED, each), (LIVE, each), (GRACED, min(each, 100))):
        for kind in kinds:
            templates[kind.name] = template = await create_template(kurz, kind)
            made[kind.name] = await fill(kurz, kind, template, range(1, number // len(kinds) + 1))
    ended = set().union(*(made[kind.name] for kind in ENDED))
    last = max(await _counted(kurz, changes.c.id))
    return World(kurz, ended, await read_rows(kurz, "live-%"), last, templates)


async def read_rows(kurz: Kurz, codes: str) -> dict[int, int]:
    """A hash of all that is in each row, by ids."""
    rows: dict[int, int] = {}
    last = 0
    while True:
        with deadline(LONG_SECONDS):
            found = await kurz.database.read(_next_rows, codes, last)
        if not found:
            return rows
        rows |= {row.id: hash(tuple(row)) for row in found}
        last = found[-1].id


def _next_rows(
    connection: sa.Connection, codes: str, last: int
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    are_next = sa.and_(links.c.short_code.like(codes), links.c.id > last)
    query = sa.select(links).where(are_next).order_by(links.c.id).limit(ROWS)
    return connection.execute(query).all()


async def _statuses(kurz: Kurz, codes: str) -> set[tuple[str, int]]:
    query = sa.select(links.c.status, links.c.version).where(links.c.short_code.like(codes))
    with deadline(LONG_SECONDS):
        found = await kurz.database.read(lambda it: it.execute(query.distinct()).all())
    return {(row.status, row.version) for row in found}


async def _counted(
    kurz: Kurz, column: sa.Column[Any], *conditions: sa.ColumnElement[bool]
) -> Counter[Any]:
    """How often each value is there."""
    query = sa.select(column).where(*conditions)
    with deadline(LONG_SECONDS):
        return Counter(await kurz.database.read(lambda it: it.execute(query).scalars().all()))
