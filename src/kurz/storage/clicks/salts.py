"""The daily salts of visitors, and how they are erased."""

from datetime import date, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clicks.visitors import SALT_BYTES
from kurz.storage.engine.store import SqlStore
from kurz.storage.schema.clicks import visitor_salts

KEPT = timedelta(days=2)  # from the beginning of its day


def find_salt(connection: sa.Connection, day: date) -> bytes | None:
    return connection.execute(
        sa.select(visitor_salts.c.salt).where(visitor_salts.c.day == day)
    ).scalar()


def keep_salt(connection: sa.Connection, day: date, salt: bytes) -> bytes | None:
    """The salt of that day: this one, unless another process was faster."""
    connection.execute(insert(visitor_salts).values(day=day, salt=salt).on_conflict_do_nothing())
    erase_salts(connection, day - KEPT)
    return find_salt(connection, day)


def erase_salts(connection: sa.Connection, until: date) -> None:
    """Erases the salts up to that day. They are overwritten first: SQLite leaves the bytes of
    deleted rows in its file, but writes a row of the same length over the old one."""
    is_old = visitor_salts.c.day <= until
    connection.execute(sa.update(visitor_salts).where(is_old).values(salt=bytes(SALT_BYTES)))
    connection.execute(sa.delete(visitor_salts).where(is_old))


class SqlSaltStore(SqlStore):
    """The `SaltStore` of both engines."""

    async def keep(self, day: date, salt: bytes) -> bytes:
        found = await self._database.read(find_salt, day)
        found = found or await self._database.write(keep_salt, day, salt)
        if found is None:
            raise RuntimeError(f"the salt of {day} is gone while it was read")
        return found
