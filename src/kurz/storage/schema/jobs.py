"""The tables of scheduled jobs and their results."""

import sqlalchemy as sa

from kurz.storage.schema.base import RowId, metadata

# One row per scheduled job; the holder's lease ends by the database's clock. `ended_at` NULL: it
# runs, or its holder died. `requested_at`: a run was requested.
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("taken_at", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("requested_at", sa.BigInteger),
)

# Running imports over the API, one for each account. Each is renewed before `until`, by the
# database's clock.
running_imports = sa.Table(
    "running_imports",
    metadata,
    sa.Column("account_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.LargeBinary, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)

# The streams of live numbers that accounts have open, where several processes answer. The
# process that serves one renews its row before `until`, as above.
running_streams = sa.Table(
    "running_streams",
    metadata,
    sa.Column("account_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.LargeBinary, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)

# The last runs of scheduled jobs. `counts` is a JSON object of what a run did.
job_runs = sa.Table(
    "job_runs",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("is_requested", sa.Boolean, nullable=False),  # requested by "run now"
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("outcome", sa.Text),  # NULL: it runs, or its holder died
    sa.Column("counts", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),  # why it failed or was skipped
    sa.Index("ix_job_runs_job_started_at", "job", "started_at"),
    sqlite_autoincrement=True,
)

# Totals over all runs of a job.
job_totals = sa.Table(
    "job_totals",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("successful_runs", sa.BigInteger, nullable=False),
    sa.Column("failed_runs", sa.BigInteger, nullable=False),
    sa.Column("run_ms", sa.BigInteger, nullable=False),  # of the successful ones
    sa.Column("cleaned", sa.BigInteger, nullable=False),
    sa.Column("last_batch", sa.BigInteger, nullable=False),
    sa.Column("last_ended_at", sa.BigInteger),
)

# Files of the archive. `finished_at` NULL: the file may not be written yet, or its links not purged
# yet; the next run finishes it first. With `links` 0 the file was given up: it does not count, even
# if it is still written.
archive_files = sa.Table(
    "archive_files",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("links", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
)

# Codes at the root whose link was purged: nobody else gets one for a while. (Workspaces need no
# such rule.) It is `reserved_for` the account that had it, 0 for the operator, -1 for nobody.
code_quarantine = sa.Table(
    "code_quarantine",
    metadata,
    sa.Column("short_code", sa.Text, primary_key=True),
    sa.Column("reserved_for", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False, index=True),
    sqlite_with_rowid=False,
)

# The servers that share the database, by random names. Each renews its row, by the database's
# clock, and removes it when it stops.
instances = sa.Table(
    "instances",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, nullable=False),  # of kurz
    sa.Column("schema", sa.Text, nullable=False),  # that it needs
    sa.Column("seen_at", sa.BigInteger, nullable=False),
)
