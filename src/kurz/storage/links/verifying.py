"""Compares links with their checksums, in one pass over the table and with a few rows in memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import await_only

from kurz.links.checksums import Checksums
from kurz.links.fields import REDIRECT_STATUSES
from kurz.links.model import ROOT_WORKSPACE_ID, LinkType, Status, Strategy
from kurz.storage.engine.sqlite import is_damage
from kurz.storage.links.checksums import read_checksums
from kurz.storage.schema.links import links
from kurz.storage.schema.people import workspaces

AT_ONCE = 2000  # rows
MOST_NAMED = 100  # damaged links; more are only counted
MOST_GAPS = 1000  # parts of a damaged table that are skipped
HIGHEST_ID = 2**63 - 1


def _any_of(values: Iterable[object]) -> str:
    return ", ".join(f"'{it}'" if isinstance(it, str) else str(it) for it in values)


# Whether the other columns that a redirect depends on have one of their values.
_IS_KNOWN = (
    f"status IN ({_any_of(Status)}) AND strategy IN ({_any_of(Strategy)})"
    f" AND link_type IN ({_any_of(LinkType)})"
    f" AND redirect_status IN ({_any_of(REDIRECT_STATUSES)})"
)
_ON_SQLITE = f"""
SELECT id, checksum, workspace_id, short_code, original_url, location, {_IS_KNOWN} FROM links
WHERE id > ? ORDER BY id
"""  # noqa: S608  our own words
# As it is stored: the driver would stop at a text that is not UTF-8.
_ON_POSTGRES = f"""
SELECT id, checksum, workspace_id, textsend(short_code), textsend(original_url), textsend(location),
    {_IS_KNOWN}
FROM links
"""  # noqa: S608  our own words

_Row = Sequence[Any]
Tell = Callable[[int], None]


@dataclass(frozen=True)
class DamagedLink:
    """`url` is where the code leads now. The texts may be damaged too."""

    workspace_id: int
    short_code: str
    url: str


@dataclass
class VerifiedLinks:
    """`links` were read. `unknown` ones have no checksum yet. `damaged` ones are counted, and the
    first of them `named`; `odd` ones have an unknown status or type. `gaps`: parts of the table
    that cannot be read. Without the key, no checksum could be compared."""

    has_key: bool = True
    links: int = 0
    unknown: int = 0
    damaged: int = 0
    odd: int = 0
    gaps: int = 0
    odd_named: list[DamagedLink] = field(default_factory=list)
    named: list[DamagedLink] = field(default_factory=list)
    slugs: dict[int, str] = field(default_factory=dict)

    def path_of(self, link: DamagedLink) -> str:
        """Of its short URL."""
        if link.workspace_id == ROOT_WORKSPACE_ID:
            return f"/{link.short_code}"
        slug = self.slugs.get(link.workspace_id, str(link.workspace_id))
        return f"/@{slug}/{link.short_code}"

    @property
    def is_good(self) -> bool:
        return self.has_key and not (self.damaged or self.gaps)

    def take(self, checksums: Checksums | None, row: _Row, text: type = bytes) -> None:
        """A row of checksum, workspace, code, URL and location. `text` is what texts are in it."""
        self.links += 1
        checksum, workspace_id, code, url, location = row
        if checksums is None or checksum is None:
            self.unknown += 1
            return
        are_texts = all(
            isinstance(it, text) for it in (code, url, code if location is None else location)
        )
        is_whole = are_texts and isinstance(workspace_id, int)
        if is_whole and checksums.of_bytes(workspace_id, code, url, location) == checksum:
            return
        self.damaged += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(_name(row))

    def note_odd(self, row: _Row) -> None:
        self.odd += 1
        if len(self.odd_named) < MOST_NAMED:
            self.odd_named.append(_name(row))


def silent(done: int) -> None:
    pass


def has_checksums(connection: sa.Connection) -> bool:
    """False for copies of older schemas."""
    columns = sa.inspect(connection).get_columns(links.name)
    return any(column["name"] == links.c.checksum.name for column in columns)


def verify_links(connection: sa.Connection, tell: Tell = silent) -> VerifiedLinks:
    """All links. `tell` gets how many were read. The transaction should show one state."""
    checksums = read_checksums(connection)
    found = VerifiedLinks(has_key=checksums is not None)
    is_sqlite = connection.dialect.name == "sqlite"
    text: type = bytearray if is_sqlite else bytes
    batches = _read_sqlite(connection, found) if is_sqlite else _read_postgres(connection)
    for rows in batches:
        for _, *row, is_known in rows:
            found.take(checksums, row, text)
            if not is_known:
                found.note_odd(row)
        tell(found.links)
    found.slugs = _find_slugs(connection, [*found.named, *found.odd_named])
    return found


def _find_slugs(connection: sa.Connection, damaged: Sequence[DamagedLink]) -> dict[int, str]:
    """Of their workspaces, as far as they can be read."""
    ids = {it.workspace_id for it in damaged} - {ROOT_WORKSPACE_ID}
    query = sa.select(workspaces.c.id, workspaces.c.slug).where(workspaces.c.id.in_(ids))
    with suppress(sa.exc.DBAPIError):
        return {row.id: row.slug for row in connection.execute(query)} if ids else {}
    return {}


def _read_sqlite(connection: sa.Connection, found: VerifiedLinks) -> Iterator[Sequence[_Row]]:
    """Texts are bytearrays, and anything else is as it is: neither a text that is not UTF-8 nor a
    number in its place stops the pass. Where the table cannot be read, it continues behind."""
    driver: Any = connection.connection.driver_connection
    usual, driver.text_factory = driver.text_factory, bytearray
    after, skipped = 0, 0
    try:
        while after < HIGHEST_ID and found.gaps <= MOST_GAPS:
            rows: list[_Row] = []
            try:
                for row in driver.execute(_ON_SQLITE, (after,)):
                    rows.append(row)
                    if len(rows) == AT_ONCE:
                        yield rows
                        after, skipped, rows = max(after, row[0]), 0, []
            except driver.DatabaseError as error:
                if not is_damage(error):
                    raise
                found.gaps += not skipped or bool(rows)
                skipped = 1 if rows else 2 * skipped or 1
                after = max(after, rows[-1][0] if rows else 0) + skipped
            else:
                after = HIGHEST_ID
            yield rows
    finally:
        driver.text_factory = usual


def _read_postgres(connection: sa.Connection) -> Iterator[Sequence[_Row]]:
    driver: Any = connection.connection.driver_connection
    cursor = await_only(driver.cursor(_ON_POSTGRES))
    while rows := await_only(cursor.fetch(AT_ONCE)):
        yield rows


def _name(row: _Row) -> DamagedLink:
    _, workspace_id, code, url, location = row
    number = workspace_id if isinstance(workspace_id, int) else -1
    return DamagedLink(number, _shown(code), _shown(url if location is None else location))


def _shown(text: Any) -> str:
    return bytes(text).decode(errors="replace") if isinstance(text, bytes | bytearray) else "?"
