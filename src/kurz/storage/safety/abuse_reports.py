"""Reports of abuse."""

from dataclasses import asdict
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.safety.reports import Category, Report, State
from kurz.storage.database import Database
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.safety_schema import reports

After = tuple[datetime, int] | None


def add_report(connection: sa.Connection, report: Report) -> None:
    row = asdict(report) | {
        "reported_at": to_micros(report.reported_at),
        "decided_at": to_micros_or_none(report.decided_at),
    }
    connection.execute(insert(reports).values(row).on_conflict_do_nothing())


def find_report(connection: sa.Connection, report_id: int) -> Report | None:
    row = connection.execute(sa.select(reports).where(reports.c.id == report_id)).first()
    return None if row is None else _report(row)


def list_reports(connection: sa.Connection, state: State, after: After, limit: int) -> list[Report]:
    order = [reports.c.reported_at, reports.c.id]
    query = sa.select(reports).where(reports.c.state == state).limit(limit)
    is_open = state is State.OPEN
    if after is not None:
        end = sa.tuple_(sa.literal(to_micros(after[0])), sa.literal(after[1]))
        here = sa.tuple_(*order)
        query = query.where(here > end if is_open else here < end)
    query = query.order_by(*(column if is_open else column.desc() for column in order))
    return [_report(row) for row in connection.execute(query)]


def count_reports(connection: sa.Connection, state: State) -> int:
    query = sa.select(sa.func.count()).where(reports.c.state == state)
    return connection.execute(query).scalar_one()


def decide_reports(
    connection: sa.Connection,
    report: Report,
    state: State,
    decided_by: int | None,
    note: str | None,
    now: int,
) -> int:
    decision = {"state": state, "decided_by": decided_by, "decided_at": now}
    this = sa.update(reports).where(reports.c.id == report.id, reports.c.state == State.OPEN)
    if not connection.execute(this.values(**decision, note=note)).rowcount:
        return 0
    if state is not State.UPHELD:
        return 1
    others = sa.update(reports).where(
        reports.c.link_id == report.link_id, reports.c.state == State.OPEN
    )
    return 1 + connection.execute(others.values(**decision)).rowcount


def _report(row: sa.Row[tuple[object, ...]]) -> Report:
    values = dict(row._mapping)  # noqa: SLF001  SQLAlchemy's own way
    values |= {
        "category": Category(values["category"]),
        "state": State(values["state"]),
        "reported_at": from_micros(values["reported_at"]),
        "decided_at": from_micros_or_none(values["decided_at"]),
        "reporter": bytes(values["reporter"]),
    }
    return Report(**values)


class SqlAbuseStore:
    """The `ReportStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, report: Report) -> None:
        await self._database.write(add_report, report)

    async def find(self, report_id: int) -> Report | None:
        return await self._database.read(find_report, report_id)

    async def list(self, state: State, *, after: After = None, limit: int) -> list[Report]:
        with patience(LIST_SECONDS):
            return await self._database.read(list_reports, state, after, limit)

    async def count(self, state: State) -> int:
        with patience(LIST_SECONDS):
            return await self._database.read(count_reports, state)

    async def decide(
        self, report: Report, state: State, decided_by: int | None, note: str | None, now: datetime
    ) -> int:
        return await self._database.write(
            decide_reports, report, state, decided_by, note, to_micros(now)
        )
