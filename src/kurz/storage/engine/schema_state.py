"""Which schema a database has, and which programs can use it.

`schema_revision` has the newest migration that was applied; Alembic writes it. `alembic_version`
has the oldest schema whose programs still work. kurz 0.2.0 used it for both, and starts only if it
finds its own schema there: so it can run beside newer programs until a migration raises it, or the
first use of a feature that older programs would get wrong.
"""

from typing import NamedTuple

import sqlalchemy as sa

from kurz.errors import OlderInstanceRuns, UpgradeRefused
from kurz.storage.engine.instants import POSTGRES_NOW
from kurz.storage.schema.jobs import instances

SEEN_SECONDS = 60  # an instance that was not seen for this long has ended
REVISIONS = "schema_revision"
# kurz 0.2.0 does not note itself in `instances`. Its connections have no name, or this one; those
# of later versions have the version in their names (`hosts.py`).
UNNOTED = "0.2.0"
_UNNOTED_SCHEMA = "0023"
_UNNOTED_RUNS = sa.text(
    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND application_name IN ('', 'kurz feed'))"
)
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


class Feature(NamedTuple):
    """What programs of an older schema would answer wrongly: they ignore a password, for example.
    Its name can begin a sentence."""

    name: str
    schema: str  # the oldest whose programs know it


def use_feature(connection: sa.Connection, feature: Feature) -> None:
    """For the transaction of every write that uses the feature. Older programs cannot use the
    database after the first one. Raises `OlderInstanceRuns` while one runs."""
    if (_version(connection, _OLDEST) or "") >= feature.schema:
        return
    version = _raise_unless_used(connection, feature.schema)
    if version is not None:
        raise OlderInstanceRuns(
            f"{feature.name} cannot be used yet: an instance of kurz {version} is running, or was"
            " running a minute ago. Upgrade all instances first."
        )


def raise_oldest(connection: sa.Connection, oldest: str) -> None:
    """Programs with an older schema cannot use the database from now on. Raises `UpgradeRefused`
    while one runs."""
    _OLDEST.create(connection, checkfirst=True)
    if _version(connection, _OLDEST) is None:
        connection.execute(sa.insert(_OLDEST).values(version_num=oldest))
        return
    version = _raise_unless_used(connection, oldest)
    if version is not None:
        raise UpgradeRefused(
            f"An instance of kurz {version} is running, or was running a minute ago. It cannot use"
            " the new schema. Stop or upgrade all such instances, and run `kurz migrate` again."
        )


def set_oldest(connection: sa.Connection, oldest: str) -> None:
    """For a new database that nobody uses yet."""
    statement = sa.update(_OLDEST).where(_OLDEST.c.version_num < oldest)
    connection.execute(statement.values(version_num=oldest))


def _raise_unless_used(connection: sa.Connection, oldest: str) -> str | None:
    """The version of an older instance that runs; then nothing is changed. One that starts at this
    moment ends when it next looks (`instance_register`)."""
    locked = sa.select(_OLDEST.c.version_num).with_for_update()
    if connection.execute(locked).scalar_one() >= oldest:
        return None
    version = _find_older(connection, oldest)
    if version is None:
        connection.execute(sa.update(_OLDEST).values(version_num=oldest))
    return version


def _find_older(connection: sa.Connection, oldest: str) -> str | None:
    if connection.dialect.name != "postgresql":
        return None  # nobody else may use the database
    if oldest > _UNNOTED_SCHEMA and connection.execute(_UNNOTED_RUNS).scalar():
        return UNNOTED
    if not sa.inspect(connection).has_table(instances.name):
        return None
    since = POSTGRES_NOW - SEEN_SECONDS * 1_000_000
    query = sa.select(instances.c.version).where(
        instances.c.schema < oldest, instances.c.seen_at > since
    )
    version: str | None = connection.execute(query.limit(1)).scalar()
    return version


def _version(connection: sa.Connection, table: sa.Table) -> str | None:
    if not sa.inspect(connection).has_table(table.name):
        return None
    return connection.execute(sa.select(table.c.version_num)).scalar()
