"""What an error of PostgreSQL, its driver or the network means."""

import asyncpg
import sqlalchemy as sa

from kurz.errors import StoreBusy, StoreUnavailable

READ_ONLY_STATE = "25006"
FORBIDDEN_STATE = "42501"

_UNREACHABLE = "The database cannot be reached at the moment."
_BUSY = "The database is busy: this request waited too long. Try again."
_REFUSED = "PostgreSQL rejected the role, password or database name. Check KURZ_DATABASE_URL."
_FORBIDDEN = (
    "PostgreSQL does not allow this role to do what kurz needs. Make the role the owner of the"
    " database."
)
# Classes of SQLSTATE that say "not now": connection, out of resources (a full disk is one),
# operator intervention, system error.
_UNAVAILABLE_CLASSES = frozenset({"08", "53", "57", "58"})
# Other transactions were faster: this one was rolled back, or could not get a lock.
_BUSY_CLASS, _BUSY_STATE = "40", "55P03"
_OUTAGES = (
    OSError,
    TimeoutError,
    sa.exc.TimeoutError,
    asyncpg.InterfaceError,
    # What the driver raises if a connection ends at a bad moment, if it gets garbage, or if none of
    # several hosts can be written to.
    asyncpg.InternalClientError,
    BufferError,
)


def unreachable() -> StoreUnavailable:
    return StoreUnavailable(_UNREACHABLE)


def forbidden() -> StoreUnavailable:
    return StoreUnavailable(_FORBIDDEN)


def busy() -> StoreBusy:
    """A timeout while the server answers other calls."""
    return StoreBusy(_BUSY)


def translate(error: BaseException) -> StoreUnavailable | None:
    """The outage behind a driver's error; None if the error is a bug, not an outage."""
    if isinstance(error, _OUTAGES):
        return unreachable()
    if isinstance(error, sa.exc.DBAPIError):
        if error.connection_invalidated:
            return unreachable()
        return None if error.orig is None else translate(error.orig.__cause__ or error.orig)
    state = getattr(error, "sqlstate", None) or ""
    if state[:2] == "28" or state == "3D000":  # authorisation · no such database
        return StoreUnavailable(_REFUSED)
    if state == FORBIDDEN_STATE:
        return forbidden()
    if state[:2] == _BUSY_CLASS or state == _BUSY_STATE:
        return busy()
    if state[:2] in _UNAVAILABLE_CLASSES or state == READ_ONLY_STATE:
        return unreachable()
    return None
