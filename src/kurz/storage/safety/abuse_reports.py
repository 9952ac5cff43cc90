"""Reports of abuse."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros
from kurz.paging import After
from kurz.safety.abuse_reports import AbuseReport, ReportState
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.rows import find_all, find_one, to_values
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.schema.safety import reports


def add_report(connection: sa.Connection, report: AbuseReport) -> None:
    connection.execute(insert(reports).values(to_values(report)).on_conflict_do_nothing())


def find_report(connection: sa.Connection, report_id: int) -> AbuseReport | None:
    return find_one(connection, sa.select(reports).where(reports.c.id == report_id), AbuseReport)


def list_reports(
    connection: sa.Connection, state: ReportState, *, after: After = None, limit: int
) -> list[AbuseReport]:
    order = [reports.c.reported_at, reports.c.id]
    query = sa.select(reports).where(reports.c.state == state).limit(limit)
    is_open = state is ReportState.OPEN
    if after is not None:
        end = sa.tuple_(sa.literal(to_micros(after[0])), sa.literal(after[1]))
        here = sa.tuple_(*order)
        query = query.where(here > end if is_open else here < end)
    query = query.order_by(*(column if is_open else column.desc() for column in order))
    return find_all(connection, query, AbuseReport)


def count_reports(connection: sa.Connection, state: ReportState) -> int:
    query = sa.select(sa.func.count()).where(reports.c.state == state)
    return connection.execute(query).scalar_one()


def decide_reports(
    connection: sa.Connection,
    report: AbuseReport,
    state: ReportState,
    decided_by: int | None,
    note: str | None,
    now: datetime,
) -> int:
    decision = {"state": state, "decided_by": decided_by, "decided_at": to_micros(now)}
    this = sa.update(reports).where(reports.c.id == report.id, reports.c.state == ReportState.OPEN)
    if not connection.execute(this.values(**decision, note=note)).rowcount:
        return 0
    if state is not ReportState.UPHELD:
        return 1
    others = sa.update(reports).where(
        reports.c.link_id == report.link_id, reports.c.state == ReportState.OPEN
    )
    return 1 + connection.execute(others.values(**decision)).rowcount


class SqlAbuseStore(SqlStore):
    """The `AbuseReportStore` of both engines."""

    add = writes(add_report)
    find = reads(find_report)
    list = reads(list_reports, LIST_SECONDS)
    count = reads(count_reports, LIST_SECONDS)
    decide = writes(decide_reports)
