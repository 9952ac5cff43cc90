"""What the tables share. Instants are whole microseconds since 1970, UTC."""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite assigns row numbers only to a column declared INTEGER, and needs AUTOINCREMENT
# (`sqlite_autoincrement`) to never reuse one.
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

NEVER = 2**63 - 1  # means "no expiry" where instants are compared

# For PostgreSQL's large tables that change all the time. By default, it vacuums after a fifth of
# the rows have changed: 200,000 of a million. Until then, counting in an index reads the changed
# rows too, and a search for what is due passes the dead entries in front of it. The costs stay at
# their defaults, so that a vacuum takes little from the others.
VACUUMED_EARLY = {
    "autovacuum_vacuum_scale_factor": 0.02,
    "autovacuum_analyze_scale_factor": 0.02,
}
# Lists are counted in indexes: new rows must be marked as visible soon.
COUNTED_IN_INDEXES = VACUUMED_EARLY | {"autovacuum_vacuum_insert_scale_factor": 0.02}


def where(condition: str) -> dict[str, Any]:
    """The condition of a partial index, for both engines."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
