"""What became of a transaction on PostgreSQL whose connection was lost during COMMIT."""

import sqlalchemy as sa

_OWN = "SELECT pg_current_xact_id()::text::bigint"
# After a failover, the new primary may not know the transaction.
_STATE = sa.text(
    "SELECT CASE WHEN CAST(:id AS xid8) < pg_snapshot_xmax(pg_current_snapshot())"
    " THEN pg_xact_status(CAST(:id AS xid8)) END"
)
# The server may not notice for hours that a connection is gone.
_END = sa.text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE backend_xid = CAST(CAST(:id AS xid8) AS xid)"
)


def transaction_id(connection: sa.Connection) -> int:
    """Of the current transaction."""
    found: int = connection.exec_driver_sql(_OWN).scalar_one()
    return found


def is_committed(connection: sa.Connection, transaction: int, *, ends: bool) -> bool | None:
    """None: it is still running, or the server does not know it. `ends`: if it is running, its
    session is ended, and a later call knows more."""
    state = connection.execute(_STATE, {"id": transaction}).scalar_one()
    if state in ("committed", "aborted"):
        return bool(state == "committed")
    if ends:
        connection.execute(_END, {"id": transaction})
    return None
