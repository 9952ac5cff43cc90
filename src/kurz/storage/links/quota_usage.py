"""Spends quotas in the transaction of the insert."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros
from kurz.people.quotas import Allowance, exceeded
from kurz.storage.engine.store import SqlStore, reads
from kurz.storage.schema.links import usage


def spend(
    connection: sa.Connection, allowances: tuple[Allowance, ...], now: int, count: int = 1
) -> None:
    """Counts new links. `QuotaExceeded` undoes the whole transaction; its row stays locked until
    then, so that nobody else spends the same share."""
    for allowance in allowances:
        if count > allowance.limit:
            raise exceeded(allowance, from_micros(now))
        statement = (
            insert(usage)
            .values(subject=allowance.subject, month=allowance.month, links=count)
            .on_conflict_do_update(
                index_elements=[usage.c.subject, usage.c.month],
                set_={"links": usage.c.links + count},
                where=usage.c.links + count <= allowance.limit,
            )
            .returning(usage.c.links)
        )
        if connection.execute(statement).first() is None:
            raise exceeded(allowance, from_micros(now))


def find_spent(connection: sa.Connection, allowance: Allowance) -> int:
    query = sa.select(usage.c.links).where(
        usage.c.subject == allowance.subject, usage.c.month == allowance.month
    )
    found: int | None = connection.execute(query).scalar()
    return found or 0


class SqlUsageStore(SqlStore):
    """The `UsageStore` of both engines."""

    spent = reads(find_spent)
