"""PostgreSQL vacuums large tables earlier, for the reasons in `schema/base`."""

from alembic import op

revision = "0022"
down_revision = "0021"

_EARLY = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02"
_COUNTED_IN_INDEXES = f"{_EARLY}, autovacuum_vacuum_insert_scale_factor = 0.02"
_TABLES = {
    "links": _COUNTED_IN_INDEXES,
    "link_tags": _COUNTED_IN_INDEXES,
    "changes": f"{_EARLY}, autovacuum_vacuum_threshold = 1000",
    "destinations": _EARLY,
}


def upgrade() -> None:
    """It rewrites no table, and blocks neither reads nor writes."""
    if op.get_bind().dialect.name == "postgresql":
        for table, options in _TABLES.items():
            op.execute(f"ALTER TABLE {table} SET ({options})")
