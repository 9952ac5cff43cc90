"""Which schema a database has, and which programs can use it.

`schema_revision` has the newest migration that was applied; Alembic writes it. `alembic_version`
has the oldest schema whose programs still work. kurz 0.2.0 used it for both, and starts only if it
finds its own schema there: so it can run beside newer programs until a migration raises it.
"""

from typing import NamedTuple

import sqlalchemy as sa

from kurz.errors import UpgradeRefused
from kurz.storage.engine.instants import POSTGRES_NOW
from kurz.storage.schema.jobs import instances

SEEN_SECONDS = 60  # an instance that was not seen for this long has ended
REVISIONS = "schema_revision"
_OLDEST = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32)))
_NEWEST = sa.Table(REVISIONS, sa.MetaData(), sa.Column("version_num", sa.String(32)))


class SchemaState(NamedTuple):
    newest: str
    oldest: str

    def suits(self, head: str) -> bool:
        """Whether programs of the schema `head` can use the database."""
        return self.oldest <= head <= self.newest


def find_state(connection: sa.Connection) -> SchemaState | None:
    """None: the database has no schema."""
    oldest = _version(connection, _OLDEST)
    newest = _version(connection, _NEWEST) or oldest
    return None if newest is None else SchemaState(newest, oldest or newest)


def revision(connection: sa.Connection) -> str | None:
    """The newest migration that was applied; None: the database has no schema."""
    state = find_state(connection)
    return None if state is None else state.newest


def raise_oldest(connection: sa.Connection, oldest: str) -> None:
    """Programs with an older schema cannot use the database from now on. Refused while one runs."""
    _OLDEST.create(connection, checkfirst=True)
    found = _version(connection, _OLDEST)
    if found is None:
        connection.execute(sa.insert(_OLDEST).values(version_num=oldest))
    elif found < oldest:
        _refuse_if_running(connection, oldest)
        connection.execute(sa.update(_OLDEST).values(version_num=oldest))


def _refuse_if_running(connection: sa.Connection, oldest: str) -> None:
    is_shared = connection.dialect.name == "postgresql"  # otherwise nobody else may run
    if not is_shared or not sa.inspect(connection).has_table(instances.name):
        return
    since = POSTGRES_NOW - SEEN_SECONDS * 1_000_000
    query = sa.select(instances.c.version).where(
        instances.c.schema < oldest, instances.c.seen_at > since
    )
    version = connection.execute(query.limit(1)).scalar()
    if version is not None:
        raise UpgradeRefused(
            f"An instance of kurz {version} is running, or was a minute ago. It cannot use the new"
            " schema. Stop or upgrade all such instances, and run `kurz migrate` again."
        )


def _version(connection: sa.Connection, table: sa.Table) -> str | None:
    if not sa.inspect(connection).has_table(table.name):
        return None
    return connection.execute(sa.select(table.c.version_num)).scalar()
