"""How far existing links are screened, and those that have to be looked at first."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import Status
from kurz.safety.rescreening import RULED, Position, Seen
from kurz.storage.batches import among
from kurz.storage.changes import last_change, record_changes
from kurz.storage.database import Database
from kurz.storage.patience import LIST_SECONDS, LONG_SECONDS, patience
from kurz.storage.safety_schema import link_bans, screening_position
from kurz.storage.schema import changes, links

_ID = 1
_LOCATION = sa.func.coalesce(links.c.location, links.c.original_url)
_LIVES = links.c.status.not_in((Status.BANNED, Status.DELETED))
_NEXT = (
    sa.select(links.c.id, _LOCATION)
    .where(links.c.id > sa.bindparam("after"), _LIVES)
    .order_by(links.c.id)
    .limit(sa.bindparam("most"))
)
_CHANGES = (
    sa.select(changes.c.id, changes.c.link_id)
    .where(changes.c.id > sa.bindparam("after"))
    .order_by(changes.c.id)
    .limit(sa.bindparam("most"))
)
# Letter by letter as the index has it, so that SQLite takes that.
_IS_HELD = sa.text("links.held_at IS NOT NULL AND links.status <> 'BANNED'")
_HELD = (
    sa.select(links.c.id, _LOCATION)
    .where(
        _IS_HELD,
        links.c.id > sa.bindparam("after"),
    )
    .order_by(links.c.id)
    .limit(sa.bindparam("most"))
)
# By their numbers: the index of causes would have SQLite sort all of them for each batch.
_HIDDEN_CAUSE = link_bans.c.cause.concat("")
_RULED = (
    sa.select(links.c.id, _LOCATION)
    .join(link_bans, link_bans.c.link_id == links.c.id)
    .where(_HIDDEN_CAUSE.in_(RULED), link_bans.c.link_id > sa.bindparam("after"))
    .order_by(link_bans.c.link_id)
    .limit(sa.bindparam("most"))
)


def find_position(connection: sa.Connection) -> Position:
    row = connection.execute(sa.select(screening_position)).first()
    is_held = connection.execute(_HELD, {"after": 0, "most": 1}).first() is not None
    if row is None:
        return Position(has_held=is_held)
    return Position(row.digest, row.link_id, from_micros_or_none(row.finished_at), is_held)


def count_held(connection: sa.Connection) -> int:
    """Those that would be followed, but for that."""
    query = sa.select(sa.func.count()).select_from(links).where(_IS_HELD)
    return connection.execute(query).scalar_one()


def keep_position(connection: sa.Connection, position: Position) -> None:
    values = {
        "digest": position.digest,
        "link_id": position.link_id,
        "finished_at": to_micros_or_none(position.finished_at),
    }
    made = insert(screening_position).values(id=_ID, **values)
    key = [screening_position.c.id]
    connection.execute(made.on_conflict_do_update(index_elements=key, set_=values))


def read_some(
    connection: sa.Connection, query: sa.Select[*tuple[Any, ...]], after: int, most: int
) -> list[Seen]:
    return [Seen(*row) for row in connection.execute(query, {"after": after, "most": most})]


def read_changed(connection: sa.Connection, after: int, most: int) -> tuple[int, list[Seen]]:
    rows = connection.execute(_CHANGES, {"after": after, "most": most}).all()
    if not rows:
        return last_change(connection), []
    changed = among(connection, links.c.id, sorted({link_id for _, link_id in rows}))
    found = connection.execute(sa.select(links.c.id, _LOCATION).where(changed, _LIVES))
    return rows[-1][0], [Seen(*row) for row in found]


def release_some(connection: sa.Connection, seen: Sequence[Seen], now: int) -> int:
    """Those that still lead where they were seen to lead."""
    at = {link.link_id: link.location for link in seen}
    are_held = among(connection, links.c.id, sorted(at)), links.c.held_at.is_not(None)
    query = sa.select(links.c.id, _LOCATION).where(*are_held).order_by(links.c.id)
    found = connection.execute(query.with_for_update()).all()
    same = [link_id for link_id, location in found if location == at[link_id]]
    if not same:
        return 0
    statement = (
        sa.update(links)
        .where(among(connection, links.c.id, same))
        .values(held_at=None, updated_at=now, version=links.c.version + 1)
        .returning(links.c.id, links.c.workspace_id, links.c.short_code, links.c.version)
    )
    released = connection.execute(statement).all()
    record_changes(connection, released, now)
    return len(released)


class SqlScreeningStore:
    """The `ScreeningStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def position(self) -> Position:
        return await self._database.read(find_position)

    async def keep(self, position: Position) -> None:
        await self._database.write(keep_position, position)

    async def next(self, after: int, most: int) -> Sequence[Seen]:
        return await self._read(_NEXT, after, most)

    async def last_change(self) -> int:
        with patience(LIST_SECONDS):
            return await self._database.read(last_change)

    async def changed(self, after: int, most: int) -> tuple[int, Sequence[Seen]]:
        with patience(LIST_SECONDS):
            return await self._database.read(read_changed, after, most)

    async def held(self, after: int, most: int) -> Sequence[Seen]:
        return await self._read(_HELD, after, most)

    async def banned(self, after: int, most: int) -> Sequence[Seen]:
        return await self._read(_RULED, after, most)

    async def release(self, seen: Sequence[Seen], now: datetime) -> int:
        with patience(LONG_SECONDS):
            return await self._database.write(release_some, seen, to_micros(now))

    async def _read(
        self, query: sa.Select[*tuple[Any, ...]], after: int, most: int
    ) -> Sequence[Seen]:
        with patience(LIST_SECONDS):
            return await self._database.read(read_some, query, after, most)
