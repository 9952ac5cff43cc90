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


def where(condition: str) -> dict[str, Any]:
    """The condition of a partial index, for both engines."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
