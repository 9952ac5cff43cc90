"""Prepares a restored database. Since the backup, its server has issued ids, codes and tokens that
the copy does not know. None of them may be issued again, and no session may come back."""

import json
import secrets

import sqlalchemy as sa

from kurz.safety.audit import OPERATOR
from kurz.storage.backup.numbers import read_numbers, write_numbers
from kurz.storage.engine.rows import upsert
from kurz.storage.links.installation import CACHE_EPOCH, LINK_COUNTER
from kurz.storage.schema.links import (
    changes,
    count_position,
    counters,
    installation,
    search_position,
)
from kurz.storage.schema.people import accounts, ended_tokens, one_time_tokens
from kurz.storage.schema.safety import audit, destination_position

# A server that creates a hundred links a second needs three hours for so many, and nobody restores
# many times.
SKIPPED = 1_000_000
_FOLLOWERS = (search_position, count_position, destination_position)


def renew(connection: sa.Connection, now: int, created_at: str) -> None:
    """To be called once, in one transaction."""
    _skip_ids(connection, now)
    _skip_numbers(connection)
    _end_sessions(connection)
    fresh = {"name": CACHE_EPOCH, "value": secrets.token_bytes(16)}
    connection.execute(upsert(installation, "value"), fresh)
    entry = {
        "done_at": now,
        "account_id": OPERATOR.account_id,
        "via": OPERATOR.via,
        "action": "restore-backup",
        "details": json.dumps({"created_at": created_at}),
    }
    connection.execute(sa.insert(audit).values(entry))


def _skip_ids(connection: sa.Connection, now: int) -> None:
    issued = read_numbers(connection)
    write_numbers(connection, {name: number + SKIPPED for name, number in issued.items()})
    _begin_change_log(connection, issued[changes.name], now)


def _begin_change_log(connection: sa.Connection, last: int, now: int) -> None:
    """The change log is empty. It gets a row that changes nothing, so that it does not look like
    the log of another database. Those that had read all of it have not missed anything."""
    first = {"link_id": 0, "workspace_id": 0, "short_code": "", "version": 0, "changed_at": now}
    number = connection.execute(sa.insert(changes).values(first).returning(changes.c.id)).scalar()
    for table in _FOLLOWERS:
        connection.execute(
            sa.update(table).where(table.c.change_id >= last).values(change_id=number)
        )


def _skip_numbers(connection: sa.Connection) -> None:
    skip = sa.update(counters).values(next_value=counters.c.next_value + SKIPPED)
    connection.execute(skip)
    is_there = sa.select(counters.c.name).where(counters.c.name == LINK_COUNTER)
    if connection.execute(is_there).first() is None:
        first = {"name": LINK_COUNTER, "next_value": SKIPPED}
        connection.execute(sa.insert(counters).values(first))


def _end_sessions(connection: sa.Connection) -> None:
    connection.execute(sa.update(accounts).values(epoch=accounts.c.epoch + SKIPPED))
    for table in (one_time_tokens, ended_tokens):
        connection.execute(sa.delete(table))
