"""Clicks: how far journals are counted, totals, days, and every click."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

LINK, SPACE, INSTALLATION = 0, 2, 3


def upgrade() -> None:
    op.create_table(
        "journal_position",
        sa.Column("segment", sa.LargeBinary(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("moved_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("segment", name="pk_journal_position"),
    )
    _create_totals()
    op.create_table(
        "click_days",
        sa.Column("kind", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("people", sa.BigInteger(), nullable=False),
        sa.Column("visitors", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", "day", name="pk_click_days"),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "click_events",
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("link_id", sa.BigInteger(), nullable=False),
        sa.Column("space", sa.BigInteger(), nullable=False),
        sa.Column("latency_micros", sa.Double(), nullable=False),
        sa.Column("sort", sa.Text(), nullable=False),
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("referrer", sa.Text(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("visitor", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", "id", name="pk_click_events"),
        sqlite_with_rowid=False,
        postgresql_partition_by="RANGE (day)",
    )
    if op.get_context().dialect.name == "postgresql":
        _suit_postgres()


def _suit_postgres() -> None:
    """Numbers for clicks, which on SQLite come from whoever inserts. Days are not compressed: they
    are written again and again, and that took a third of the server's time."""
    op.execute("CREATE SEQUENCE click_events_id_seq OWNED BY click_events.id")
    op.execute("ALTER TABLE click_events ALTER id SET DEFAULT nextval('click_events_id_seq')")
    op.execute(
        "ALTER TABLE click_days"
        " ALTER counts SET STORAGE EXTERNAL, ALTER sketch SET STORAGE EXTERNAL"
    )


def _create_totals() -> None:
    """Links that were imported with their clicks have some already."""
    op.create_table(
        "click_totals",
        sa.Column("kind", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("timed", sa.BigInteger(), nullable=False),
        sa.Column("mean_ms", sa.Double(), nullable=False),
        sa.Column("m2", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name="pk_click_totals"),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 70},
    )
    for kind, subject in (LINK, "id"), (SPACE, "space"), (INSTALLATION, "id - id"):
        op.execute(
            "INSERT INTO click_totals (kind, subject, clicks, timed, mean_ms, m2)"  # noqa: S608
            f" SELECT {kind}, {subject}, sum(redirect_count), 0, 0, 0"
            f" FROM links WHERE redirect_count > 0 GROUP BY {subject}"
        )
