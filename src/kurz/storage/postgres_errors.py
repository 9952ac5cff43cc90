"""What an error of PostgreSQL, its driver or the network between means for us."""

import asyncpg
import sqlalchemy as sa

from kurz.errors import StoreUnavailable

READ_ONLY_STATE = "25006"

_UNREACHABLE = "The database cannot be reached at the moment."
_REFUSED = "PostgreSQL refuses this role, password or database. Check KURZ_DATABASE_URL."
# Classes of SQLSTATE that say "not now": connection, transaction rolled back, out of resources
# (a full disk is one), operator intervention, system error; and two single states.
_UNAVAILABLE_CLASSES = frozenset({"08", "40", "53", "57", "58"})
_UNAVAILABLE_STATES = frozenset({READ_ONLY_STATE, "55P03"})  # read-only server · lock not available
_OUTAGES = (
    OSError,
    TimeoutError,
    sa.exc.TimeoutError,
    asyncpg.InterfaceError,
    # The driver stumbles over a connection that ends at the wrong moment, or over noise; or of
    # several hosts, none can be written to.
    asyncpg.InternalClientError,
    BufferError,
)


def unreachable() -> StoreUnavailable:
    return StoreUnavailable(_UNREACHABLE)


def translate(error: BaseException) -> StoreUnavailable | None:
    """The outage behind a driver's error; None when the error is no outage but a mistake."""
    if isinstance(error, _OUTAGES):
        return unreachable()
    if isinstance(error, sa.exc.DBAPIError):
        if error.connection_invalidated:
            return unreachable()
        return None if error.orig is None else translate(error.orig.__cause__ or error.orig)
    state = getattr(error, "sqlstate", None) or ""
    if state[:2] == "28" or state == "3D000":  # authorisation · no such database
        return StoreUnavailable(_REFUSED)
    if state[:2] in _UNAVAILABLE_CLASSES or state in _UNAVAILABLE_STATES:
        return unreachable()
    return None
