"""The tables of clicks; the others are in `schema`."""

from typing import Any

import sqlalchemy as sa

from kurz.storage.schema import metadata

# How far each segment of a journal of clicks is counted; moved by the transaction that counts.
journal_position = sa.Table(
    "journal_position",
    metadata,
    sa.Column("segment", sa.LargeBinary, primary_key=True),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("moved_at", sa.BigInteger, nullable=False),
)

# Rows that are written again and again find room on their page, and indexes need no change.
REWRITTEN: dict[str, Any] = {"postgresql_with": {"fillfactor": 70}}

# All clicks of a subject (`clicks/batch`), and the moments of the latencies that were measured. A
# link has a copy of its own, which follows: the row that everybody reads is not written all the
# time.
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
# `sketch` what tells visitors apart. In SQLite's own order, so that the rows of a day, which are
# written together, lie together.
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
    **REWRITTEN,
)

# What the days of a month come to, of subjects with many clicks, once the month is over
# (`clicks/months`). Of use while `clicks` is the sum of the days'.
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
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (day)",
)

# PostgreSQL's numbers; on SQLite whoever inserts gives them.
for statement in (
    "CREATE SEQUENCE click_events_id_seq OWNED BY click_events.id",
    "ALTER TABLE click_events ALTER id SET DEFAULT nextval('click_events_id_seq')",
):
    number = sa.DDL(statement)  # type: ignore[no-untyped-call]
    sa.event.listen(click_events, "after_create", number.execute_if(dialect="postgresql"))
