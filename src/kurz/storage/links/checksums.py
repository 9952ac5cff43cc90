"""Writes the checksums of links (`links/checksums`). Nothing that a visitor waits for reads them:
`verifying` does.

Every write that decides where a code leads comes through here. If the key is missing or damaged,
links get no checksum, and are written all the same."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.links.checksums import Checksums, open_key
from kurz.links.model import Link
from kurz.storage.links.installation import find_key
from kurz.storage.schema.link_rows import INSERTED
from kurz.storage.schema.links import links

KEY_NAME = "checksum-key"  # the migration has created it

_KNOWN = "kurz.checksums"  # in a connection's info; the key never changes
_WORKSPACE, _CODE, _URL, _LOCATION = map(
    INSERTED.index, ("workspace_id", "short_code", "original_url", "location")
)
_DESTINATION = {"original_url", "location"}

_Row = tuple[Any, ...]

# Texts as bytes: a damaged one may not be UTF-8.
_MISSING_ON_SQLITE = """
SELECT id, workspace_id, CAST(short_code AS BLOB), CAST(original_url AS BLOB),
    CAST(location AS BLOB)
FROM links WHERE checksum IS NULL AND id > ? ORDER BY id LIMIT ?
"""
_FILL_ON_SQLITE = "UPDATE links SET checksum = ? WHERE id = ?"
# Links that somebody else is changing have their turn later.
_MISSING_ON_POSTGRES = """
SELECT id, workspace_id, textsend(short_code), textsend(original_url), textsend(location)
FROM links WHERE checksum IS NULL AND id > $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
"""
_FILL_ON_POSTGRES = """
UPDATE links SET checksum = filled.checksum
FROM unnest($1::bytea[], $2::bigint[]) AS filled(checksum, id) WHERE links.id = filled.id
"""


def checksums_of(connection: sa.Connection) -> Checksums | None:
    """None: the key is missing or damaged. Read once per connection."""
    known: Checksums | None = connection.info.get(_KNOWN)
    if known is None:
        known = connection.info[_KNOWN] = read_checksums(connection)
    return known


def read_checksums(connection: sa.Connection) -> Checksums | None:
    """The same, as the database has it now."""
    stored = find_key(connection, KEY_NAME)
    key = None if stored is None else open_key(stored)
    return None if key is None else Checksums(key)


def with_checksums(connection: sa.Connection, rows: Sequence[_Row]) -> list[_Row]:
    """Rows of new links, as `to_row` gives them, with their checksums: the values of `STORED`."""
    checksums = checksums_of(connection)
    if checksums is None:
        return [(*row, None) for row in rows]
    # SQLite's driver looks for an adapter of bytes every time, which costs more than the checksum.
    kind = bytearray if connection.dialect.name == "sqlite" else bytes
    of = checksums.of
    return [
        # Half the cost of unpacking the row.
        row + (kind(of(row[_WORKSPACE], row[_CODE], row[_URL], row[_LOCATION])),)  # noqa: RUF005
        for row in rows
    ]


def changed_checksum(
    connection: sa.Connection, link: Link, values: Mapping[str, Any]
) -> Mapping[str, bytes | None]:
    """What an update of the link with these columns must write too; nothing, if its code leads
    where it did. A link that is damaged stays so, unless the update says where it leads."""
    if not {"short_code", *_DESTINATION} & values.keys():
        return {}
    checksums = checksums_of(connection)
    if checksums is None:
        return {"checksum": None}
    code = values.get("short_code", link.short_code)
    url = values.get("original_url", link.original_url)
    location = values.get("location", None if link.location == link.original_url else link.location)
    checksum = checksums.of(link.workspace_id, code, url, location)
    is_set = values.keys() >= _DESTINATION
    if not is_set and _is_damaged(connection, checksums, link.id):
        return {"checksum": bytes(byte ^ 0xFF for byte in checksum)}
    return {"checksum": checksum}


def _is_damaged(connection: sa.Connection, checksums: Checksums, link_id: int) -> bool:
    names = ("workspace_id", "short_code", "original_url", "location", "checksum")
    query = sa.select(*(links.c[name] for name in names)).where(links.c.id == link_id)
    row = connection.execute(query).first()
    if row is None or row.checksum is None:
        return False
    return bool(checksums.of(*row[:4]) != row.checksum)


def has_missing_checksums(connection: sa.Connection) -> bool:
    query = sa.select(links.c.id).where(links.c.checksum.is_(None)).limit(1)
    return connection.execute(query).first() is not None


def fill_checksums(connection: sa.Connection, after: int, limit: int) -> int | None:
    """Computes checksums of the next links after this id that have none. Returns the last of them,
    or None if there are no more. No version changes."""
    checksums = checksums_of(connection)
    if checksums is None:
        return None
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        rows = driver.execute(_MISSING_ON_SQLITE, (after, limit)).fetchall()
        filled = [(checksums.of_bytes(*row[1:]), row[0]) for row in rows]
        driver.executemany(_FILL_ON_SQLITE, filled)
    else:
        found = connection.exec_driver_sql(_MISSING_ON_POSTGRES, (after, limit)).all()
        filled = [(checksums.of_bytes(*row[1:]), row[0]) for row in found]
        if filled:
            columns = tuple(map(list, zip(*filled, strict=True)))
            connection.exec_driver_sql(_FILL_ON_POSTGRES, columns)
    return filled[-1][1] if len(filled) == limit else None
