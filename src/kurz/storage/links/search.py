"""Text search of links: the rule of what matches, and SQLite's trigram index, which follows the
change log after the writes. PostgreSQL maintains its own index (migration 0002)."""

import json
from typing import Any

import sqlalchemy as sa

from kurz.storage.schema.base import NEVER
from kurz.storage.schema.links import changes, links, search_position

TRIGRAM = 3
# What is searched, exactly as in PostgreSQL's index.
TEXT = "(links.short_code || ' ' || links.original_url || ' ' || coalesce(links.title, ''))"

BATCH = 300  # changes a transaction: some 12 ms
AT_ONCE = 5000  # links, when all are added
MERGE_PAGES = 64  # of the index, a transaction: 8 ms
PHRASE_LENGTH = 6  # up to here FTS5 compares positions fast enough
MOST_TRIGRAMS = 24  # of a long search are measured, 0.1 ms each
RAREST = 3  # of these are looked up
REACHED_LINKS = 100

_entries = sa.table("link_search", sa.column("rowid", sa.BigInteger))

# A space (workspace or owner) as one trigram: three characters of 19 bits each, from Unicode planes
# that have no letter case and do not occur in the texts of links.
_PLANE = 0x30000
_BITS = 19
_DELETE = sa.text("DELETE FROM link_search WHERE rowid = :id")
_INSERT = "INSERT INTO link_search (rowid, space, text) VALUES (?, ?, ?)"
# First the links, then their entries: for INSERT … SELECT, SQLite makes a savepoint per row, at
# which FTS5 writes everything it has collected. That took five times as long.
_SPACE = ", ".join(f"{_PLANE} + ((space >> {_BITS * n}) & {2**_BITS - 1})" for n in range(3))
_ENTRIES = (
    f"SELECT id, char({_SPACE}), {TEXT} FROM links"  # noqa: S608  our own words
    " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
)


def text_matches(dialect: str, search: str, *, by_index: bool = False) -> sa.ColumnElement[bool]:
    """Whether a link's text contains the search, in upper or lower case. For ASCII, each engine's
    LIKE does that; for other letters it depends on the engine and its locale, so a pattern names
    both cases. `by_index` lets PostgreSQL use its index for it."""
    is_postgres = dialect == "postgresql"
    hidden = is_postgres and not by_index
    text = sa.literal_column(f"({TEXT} || '')" if hidden else TEXT, sa.Text())
    if search.isascii():
        pattern = "%" + "".join(map(_like, search)) + "%"
        return (text.ilike if is_postgres else text.like)(pattern, escape="\\")
    if is_postgres:
        return text.regexp_match("".join(map(_regex, search)))
    return text.bool_op("GLOB")("*" + "".join(map(_glob, search)) + "*")


def is_backlogged(connection: sa.Connection) -> bool:
    """Whether links were written that the index does not know yet."""
    return connection.execute(sa.select(_unindexed().exists())).scalar_one()


def candidates(
    connection: sa.Connection, space: int | None, search: str
) -> sa.Select[tuple[int]] | sa.CompoundSelect[tuple[int]]:
    """Streams the ids of all links that may match, without duplicates; each must be checked against
    its row. An entry may be stale, or of another space. Links that are not in the index yet are
    included."""
    match = _match(connection, search)
    if space is not None:
        match = f'space : "{space_token(space)}" AND {match}'
    hits = sa.select(_entries.c.rowid.label("id")).where(_matches(match))
    if not is_backlogged(connection):
        return hits
    return sa.union_all(hits.where(_entries.c.rowid.not_in(_unindexed())), _unindexed().distinct())


def space_token(space: int) -> str:
    return "".join(chr(_PLANE + ((space >> (_BITS * n)) & (2**_BITS - 1))) for n in range(3))


def index_changes(connection: sa.Connection, limit: int) -> int:
    """Adds the next changes to the index; returns how many. A link is read as it is now, so one
    that was changed again is simply read again; a purged one is removed. Links that are in no list
    are left out, which saves most of the work on public installations."""
    query = (
        sa.select(changes.c.id, changes.c.link_id, changes.c.version, links.c.space)
        .outerjoin(links, links.c.id == changes.c.link_id)
        .where(changes.c.id > _position())
        .order_by(changes.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    if not rows:
        return 0
    new = {row.link_id for row in rows if row.version == 1}
    if known := {row.link_id for row in rows} - new:
        connection.execute(_DELETE, [{"id": link_id} for link_id in sorted(known)])
    if listed := {row.link_id for row in rows if row.space}:
        driver: Any = connection.connection.driver_connection
        entries = driver.execute(_ENTRIES, (json.dumps([*listed]),)).fetchall()
        driver.executemany(_INSERT, entries)
    connection.execute(sa.update(search_position).values(change_id=rows[-1].id))
    return len(rows)


def index_existing(connection: sa.Connection) -> None:
    """Adds all links to the index, which is empty. For a database that nobody uses yet."""
    driver: Any = connection.connection.driver_connection
    after = 0
    while True:
        query = sa.select(links.c.id, links.c.space).where(links.c.id > after)
        rows = connection.execute(query.order_by(links.c.id).limit(AT_ONCE)).all()
        if not rows:
            return
        listed = json.dumps([row.id for row in rows if row.space])
        driver.executemany(_INSERT, driver.execute(_ENTRIES, (listed,)).fetchall())
        after = rows[-1].id


def merge_index(connection: sa.Connection) -> bool:
    """Merges a few pages of the index; False when there is nothing to merge. By default, FTS5 would
    merge inside a batch, for as long as it takes: up to 400 ms were measured."""
    before = _rows_written(connection)
    connection.execute(
        sa.text("INSERT INTO link_search (link_search, rank) VALUES ('merge', :pages)"),
        {"pages": MERGE_PAGES},
    )
    return _rows_written(connection) - before > 1  # the command itself counts as one change


def leave_merging_to_us(connection: sa.Connection) -> None:
    """The options are stored in the database; the second one is FTS5's limit."""
    for option, value in ("automerge", 0), ("crisismerge", 1000):
        connection.execute(
            sa.text("INSERT INTO link_search (link_search, rank) VALUES (:option, :value)"),
            {"option": option, "value": value},
        )


def _position() -> sa.ScalarSelect[int]:
    return sa.select(search_position.c.change_id).scalar_subquery()


def _unindexed() -> sa.Select[tuple[int]]:
    return sa.select(changes.c.link_id.label("id")).where(changes.c.id > _position())


def _rows_written(connection: sa.Connection) -> int:
    driver: Any = connection.connection.driver_connection
    return int(driver.total_changes)


def _match(connection: sa.Connection, search: str) -> str:
    """FTS5's expression for texts that may contain the search. A long one is found by its rarest
    trigrams: comparing the positions of all of them in every link took 300 ms for a common URL."""
    if len(search) <= PHRASE_LENGTH:
        return f"text : {_quoted(search)}"
    starts = range(len(search) - TRIGRAM + 1)
    step = -(-len(starts) // MOST_TRIGRAMS)
    trigrams = {search[start : start + TRIGRAM] for start in starts[::step]}
    rarest = sorted(trigrams, key=lambda each: _reach(connection, each), reverse=True)
    return f"text : ({' AND '.join(map(_quoted, rarest[:RAREST]))})"


def _reach(connection: sa.Connection, trigram: str) -> int:
    """How far one must read to find this many links with it: further for a rare one."""
    query = (
        sa.select(_entries.c.rowid)
        .where(_matches(f"text : {_quoted(trigram)}"))
        .offset(REACHED_LINKS)
        .limit(1)
    )
    return connection.execute(query).scalar() or NEVER


def _matches(expression: str) -> sa.TextClause:
    return sa.text("link_search MATCH :match").bindparams(match=expression)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _like(letter: str) -> str:
    return f"\\{letter}" if letter in "\\%_" else letter


def _glob(letter: str) -> str:
    return f"[{letter}]" if letter in "*?[" else _either_case(letter)


def _regex(letter: str) -> str:
    is_special = letter.isascii() and not letter.isalnum()
    return f"\\{letter}" if is_special else _either_case(letter)


def _either_case(letter: str) -> str:
    cases = {letter, *(other for other in (letter.lower(), letter.upper()) if len(other) == 1)}
    return letter if len(cases) == 1 else f"[{''.join(sorted(cases))}]"
