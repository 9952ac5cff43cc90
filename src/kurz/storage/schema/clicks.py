"""The tables of clicks."""

from typing import Any

import sqlalchemy as sa

from kurz.storage.schema.base import metadata

# How far each segment of a journal of clicks is counted; moved by the transaction that counts.
journal_position = sa.Table(
    "journal_position",
    metadata,
    sa.Column("segment", sa.LargeBinary, primary_key=True),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("moved_at", sa.BigInteger, nullable=False),
    # On SQLite, a batch from `offset` to `slices_end` may be partly counted: its links up to
    # `counted_link` are counted, and its first `stored_events` clicks are stored.
    sa.Column("slices_end", sa.BigInteger),
    sa.Column("counted_link", sa.BigInteger),
    sa.Column("stored_events", sa.BigInteger),
)

# Rows that are updated often find space on their page, so indexes need no change, and a page is
# cleaned up without a vacuum.
REWRITTEN: dict[str, Any] = {"postgresql_with": {"fillfactor": 70}}

# All clicks of a subject (`clicks/batch`), and the moments of the latencies that were measured.
# A link has its own copy, which is renewed rarely, because a copy changes all indexes of the link.
click_totals = sa.Table(
    "click_totals",
    metadata,
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("clicks", sa.BigInteger, nullable=False),
    sa.Column("timed", sa.BigInteger, nullable=False),  # imported clicks are not
    sa.Column("mean_ms", sa.Double, nullable=False),
    sa.Column("m2", sa.Double, nullable=False),
    sqlite_with_rowid=False,
    **REWRITTEN,
)

# What is counted of a subject's day (UTC): `counts` is a JSON object as `clicks/counts` says,
# `sketch` estimates the visitors. In SQLite's row order, so that the rows of a day, which are
# written together, are stored together. With `month`, the row is a folded month (`clicks/folding`)
# under its first day, and has no sketch.
click_days = sa.Table(
    "click_days",
    metadata,
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("clicks", sa.BigInteger, nullable=False),
    sa.Column("people", sa.BigInteger, nullable=False),
    sa.Column("visitors", sa.BigInteger, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
    sa.Column("sketch", sa.LargeBinary, nullable=False),
    sa.Column("month", sa.LargeBinary),
    **REWRITTEN,
)

# The sums of a month's days, for subjects with many clicks, once the month is over
# (`clicks/months`). Used only while `clicks` is the sum of the days' clicks.
click_months = sa.Table(
    "click_months",
    metadata,
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("first_day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("clicks", sa.BigInteger, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
    sa.Column("hours", sa.LargeBinary, nullable=False),
)

# Subjects that got clicks in past months, whose sums must be added up again. `times` grows with
# every batch, so that a row is only removed if nothing was added since it was read.
late_clicks = sa.Table(
    "late_clicks",
    metadata,
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("times", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The last check of all subjects: it looks for months that ended before the day `before`, and has
# reached the subject (`kind`, `subject`). NULL: all subjects are checked.
month_position = sa.Table(
    "month_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("before", sa.Integer, nullable=False),
    sa.Column("kind", sa.SmallInteger),
    sa.Column("subject", sa.BigInteger),
)

# How far old days are folded: of all subjects up to (`kind`, `subject`), those from the day `since`
# up to, not including, `before`. NULL: of all subjects, and all days before `since` too.
fold_position = sa.Table(
    "fold_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("since", sa.Integer, nullable=False),
    sa.Column("before", sa.Integer, nullable=False),
    sa.Column("kind", sa.SmallInteger),
    sa.Column("subject", sa.BigInteger),
)

# Every click for 90 days; numbered in the order of loading.
click_events = sa.Table(
    "click_events",
    metadata,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("link_id", sa.BigInteger, nullable=False),
    sa.Column("space", sa.BigInteger, nullable=False),
    sa.Column("latency_micros", sa.Double, nullable=False),
    sa.Column("sort", sa.Text, nullable=False),
    sa.Column("country", sa.Text, nullable=False),
    sa.Column("referrer", sa.Text, nullable=False),
    sa.Column("browser", sa.Text, nullable=False),
    sa.Column("system", sa.Text, nullable=False),
    sa.Column("device", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("visitor", sa.LargeBinary, nullable=False),
    # For exports of a link or a tag. The day comes first, so that a batch writes to the pages of a
    # day or two, not to those of 90 days.
    sa.Index("ix_click_events_link", "day", "link_id", "id"),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (day)",
)

# PostgreSQL's numbers; on SQLite the insert assigns them.
for statement in (
    "CREATE SEQUENCE click_events_id_seq OWNED BY click_events.id",
    "ALTER TABLE click_events ALTER id SET DEFAULT nextval('click_events_id_seq')",
):
    number = sa.DDL(statement)  # type: ignore[no-untyped-call]
    sa.event.listen(click_events, "after_create", number.execute_if(dialect="postgresql"))

# The salts of visitors' hashes, one per day; erased 48 hours after the day began.
visitor_salts = sa.Table(
    "visitor_salts",
    metadata,
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("salt", sa.LargeBinary, nullable=False),
)
