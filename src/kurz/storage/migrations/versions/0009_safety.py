"""Checks of destinations, lists and bans, reports of abuse, the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

WAS_CHECKED = "space <> 0 AND destination_status IS NOT NULL"


def upgrade() -> None:
    op.execute("ALTER TABLE links RENAME COLUMN destination_status TO destination_http_status")
    op.add_column("links", sa.Column("destination_status", sa.Text(), nullable=True))
    op.add_column("links", sa.Column("held_at", sa.BigInteger(), nullable=True))
    _add_index(
        "links",
        "checked",
        ["space", "destination_status", "created_at", "id", "status", "expires_at", "owner_id"],
        WAS_CHECKED,
    )
    _add_index("links", "held", ["id"], "held_at IS NOT NULL AND status <> 'BANNED'")
    _add_checks()
    _add_bans()
    _add_reports()


def _add_index(table: str, name: str, columns: list[str], condition: str | None = None) -> None:
    where = None if condition is None else sa.text(condition)
    op.create_index(
        f"ix_{table}_{name}",
        table,
        columns,
        unique=False,
        sqlite_where=where,
        postgresql_where=where,
    )


def _add_checks() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "destinations",
        sa.Column("id", row_id, nullable=False),
        sa.Column("url_hash", sa.LargeBinary(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("http_status", sa.SmallInteger(), nullable=True),
        sa.Column("was_ok", sa.Boolean(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.BigInteger(), nullable=True),
        sa.Column("unanswered", sa.Integer(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("clicked_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("asked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_destinations"),
        sa.UniqueConstraint("url_hash", name="uq_destinations_url_hash"),
        sqlite_autoincrement=True,
    )
    for name in ("due_at", "asked_at"):
        _add_index("destinations", name, [name, "id", "site"], f"{name} IS NOT NULL")
    op.create_table(
        "link_destinations",
        sa.Column("link_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("destination_id", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("link_id", name="pk_link_destinations"),
        sqlite_with_rowid=False,
    )
    _add_index("link_destinations", "destination_id", ["destination_id", "link_id"])
    op.create_table(
        "destination_position",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.Column("link_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_destination_position"),
    )
    # Where there are no links yet, there are none to be looked at before the change log.
    op.execute(
        "INSERT INTO destination_position (id, change_id, link_id) SELECT 1, 0,"
        " CASE WHEN EXISTS (SELECT 1 FROM links) THEN 0 ELSE 9223372036854775807 END"
    )
    op.create_table(
        "checks",
        sa.Column("id", row_id, nullable=False),
        sa.Column("destination_id", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("http_status", sa.SmallInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_checks"),
        sqlite_autoincrement=True,
    )
    _add_index("checks", "destination_id_id", ["destination_id", "id"])


def _add_bans() -> None:
    op.create_table(
        "link_bans",
        sa.Column("link_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("status_before", sa.Text(), nullable=False),
        sa.Column("banned_by", sa.BigInteger(), nullable=True),
        sa.Column("banned_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("link_id", name="pk_link_bans"),
        sqlite_with_rowid=False,
    )
    _add_index("link_bans", "banned_at", ["banned_at", "link_id"])
    _add_index("link_bans", "cause_subject", ["cause", "subject", "link_id"])
    op.create_table(
        "bans",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("banned_by", sa.BigInteger(), nullable=True),
        sa.Column("banned_at", sa.BigInteger(), nullable=False),
        sa.Column("is_pending", sa.Boolean(), nullable=False),
        sa.Column("lifted_at", sa.BigInteger(), nullable=True),
        sa.Column("was_disabled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name="pk_bans"),
    )
    op.create_table(
        "screening_position",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("link_id", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_screening_position"),
    )


def _add_reports() -> None:
    op.create_table(
        "reports",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("link_id", sa.BigInteger(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), nullable=False),
        sa.Column("short_code", sa.Text(), nullable=False),
        sa.Column("short_url", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("contact", sa.Text(), nullable=True),
        sa.Column("reporter", sa.LargeBinary(), nullable=False),
        sa.Column("reported_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.BigInteger(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_reports"),
    )
    _add_index("reports", "state_reported_at_id", ["state", "reported_at", "id"])
    is_open = sa.text("state = 'open'")
    op.create_index(
        "uq_reports_link_id_reporter",
        "reports",
        ["link_id", "reporter"],
        unique=True,
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("done_at", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
