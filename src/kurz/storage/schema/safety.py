"""The tables of checks, bans, reports and the audit log."""

import sqlalchemy as sa

from kurz.storage.schema.base import VACUUMED_EARLY, RowId, metadata, where

# Destinations, one row for all links to the same URL. Filled after the writes of links.
destinations = sa.Table(
    "destinations",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("url_hash", sa.LargeBinary, nullable=False, unique=True),  # SHA-256 of location
    sa.Column("location", sa.Text, nullable=False),
    sa.Column("site", sa.Text, nullable=False),  # at most one request a minute per site
    sa.Column("status", sa.Text),  # the result of all checks; NULL: no check yet
    sa.Column("http_status", sa.SmallInteger),
    sa.Column("was_ok", sa.Boolean, nullable=False),  # it has answered before
    sa.Column("failures", sa.Integer, nullable=False),  # checks in a row that found it broken
    sa.Column("failing_since", sa.BigInteger),
    sa.Column("unanswered", sa.Integer, nullable=False),  # in a row, by any name server
    sa.Column("clicks", sa.BigInteger, nullable=False),  # of its links, when it was checked
    sa.Column("clicked_at", sa.BigInteger, nullable=False),  # when a check last saw more of them
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("checked_at", sa.BigInteger),
    sa.Column("due_at", sa.BigInteger),  # NULL: none of its links was active
    sa.Column("requested_at", sa.BigInteger),  # since when a check is requested; not before
    # With the site, because many that are due may wait for the same site.
    sa.Index("ix_destinations_due_at", "due_at", "id", "site", **where("due_at IS NOT NULL")),
    sa.Index(
        "ix_destinations_requested_at",
        "requested_at",
        "id",
        "site",
        **where("requested_at IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
    postgresql_with=VACUUMED_EARLY,
)

link_destinations = sa.Table(
    "link_destinations",
    metadata,
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("destination_id", sa.BigInteger, nullable=False),
    # Its owner sees no earlier check: that would reveal that other links lead there too.
    sa.Column("since", sa.BigInteger, nullable=False),
    # When its owner last asked for a check. If the first requested check after that fails, only
    # this link is shown as broken.
    sa.Column("requested_at", sa.BigInteger),
    sa.Index("ix_link_destinations_destination_id", "destination_id", "link_id"),
    sqlite_with_rowid=False,
)

# How far links are in `destinations`: the change log up to a row, and before that each link once,
# by its id.
destination_position = sa.Table(
    "destination_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("change_id", sa.BigInteger, nullable=False),
    sa.Column("link_id", sa.BigInteger, nullable=False),
)

# The last checks of each destination, as they were found.
checks = sa.Table(
    "checks",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("destination_id", sa.BigInteger, nullable=False),
    sa.Column("checked_at", sa.BigInteger, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("http_status", sa.SmallInteger),
    # NULL if written by an instance of an earlier version.
    sa.Column("is_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index("ix_checks_destination_id_id", "destination_id", "id"),
    sqlite_autoincrement=True,
)

# Why a link is banned, and what it was before.
link_bans = sa.Table(
    "link_bans",
    metadata,
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("cause", sa.Text, nullable=False),  # admin, list, host or account
    sa.Column("subject", sa.Text),  # the host or the account that was banned
    sa.Column("reason", sa.Text),
    sa.Column("status_before", sa.Text, nullable=False),
    sa.Column("banned_by", sa.BigInteger),  # an account; NULL: the operator, or nobody
    sa.Column("banned_at", sa.BigInteger, nullable=False),
    sa.Index("ix_link_bans_banned_at", "banned_at", "link_id"),
    sa.Index("ix_link_bans_cause_subject", "cause", "subject", "link_id"),
    sqlite_with_rowid=False,
)

# Hosts with all their subdomains, and accounts, which are disabled too.
bans = sa.Table(
    "bans",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),  # host or account
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text),
    sa.Column("banned_by", sa.BigInteger),
    sa.Column("banned_at", sa.BigInteger, nullable=False),
    # The ban, or its end, is not yet applied to existing links.
    sa.Column("is_pending", sa.Boolean, nullable=False),
    sa.Column("lifted_at", sa.BigInteger),  # lifted, until that is applied
    sa.Column("was_disabled", sa.Boolean, nullable=False),  # the account, before the ban
)

# How far existing links are screened: by which lists, up to which link.
screening_position = sa.Table(
    "screening_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("link_id", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
)

reports = sa.Table(
    "reports",
    metadata,
    # Random, so that it does not reveal how many there are.
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("link_id", sa.BigInteger, nullable=False),
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
    sa.Column("short_code", sa.Text, nullable=False),
    sa.Column("short_url", sa.Text, nullable=False),
    sa.Column("location", sa.Text, nullable=False),  # where it led when it was reported
    sa.Column("category", sa.Text, nullable=False),
    sa.Column("message", sa.Text),
    sa.Column("contact", sa.Text),
    sa.Column("reporter", sa.LargeBinary, nullable=False),  # a hash of the day: no address
    sa.Column("reported_at", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # open, upheld or dismissed
    sa.Column("decided_by", sa.BigInteger),
    sa.Column("decided_at", sa.BigInteger),
    sa.Column("note", sa.Text),
    sa.Index("ix_reports_state_reported_at_id", "state", "reported_at", "id"),
    sa.Index(
        "uq_reports_link_id_reporter",
        "link_id",
        "reporter",
        unique=True,
        **where("state = 'open'"),
    ),
)

# What administrators and the operator did. Rows are only ever added.
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("done_at", sa.BigInteger, nullable=False),
    sa.Column("account_id", sa.BigInteger),  # NULL: the operator, on the command line, or a job
    sa.Column("via", sa.Text, nullable=False),  # api, cli or job
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("subject", sa.Text),
    sa.Column("details", sa.Text, nullable=False),  # a JSON object
    sqlite_autoincrement=True,
)
