"""Which links have ended, and how: the conditions of every write that ends them for good, in the
words of the indexes that find them."""

from typing import Any

import sqlalchemy as sa

from kurz.links.model import LinkType
from kurz.links.retention import Ended
from kurz.storage.schema import links

Condition = sa.ColumnElement[bool]
Order = tuple[sa.ColumnElement[Any], ...]

# From parameters an engine does not conclude that a partial index can be used.
_IS_ACTIVE = sa.text("status = 'ACTIVE' AND expires_at IS NOT NULL")
_HAS_EXPIRED = sa.text("status IN ('EXPIRED', 'PAUSED') AND expires_at IS NOT NULL")
_WAS_SWEPT = sa.text("status = 'DELETED' AND swept_at IS NOT NULL")
_WAS_DELETED = sa.text("status = 'DELETED' AND swept_at IS NULL")
_TYPES = {Ended.TEMPORARY: LinkType.TEMPORARY, Ended.PERMANENT: LinkType.PERMANENT}


def are_due(now: int, ended: Ended | None = None) -> tuple[Condition, Order]:
    """Active links that have expired, the earliest first; all, or those of a kind."""
    condition = sa.and_(_IS_ACTIVE, links.c.expires_at <= now)
    if ended is not None:
        condition = sa.and_(condition, links.c.link_type == _TYPES[ended].value)
    return condition, (links.c.expires_at, links.c.id)


def are_ended(ended: Ended, before: int) -> tuple[Condition, Order]:
    """Links that ended so at that instant or earlier, the earliest first."""
    if ended is Ended.SWEPT:
        return sa.and_(_WAS_SWEPT, links.c.swept_at <= before), (links.c.swept_at, links.c.id)
    if ended is Ended.DELETED:
        return sa.and_(_WAS_DELETED, links.c.deleted_at <= before), (links.c.deleted_at, links.c.id)
    is_of_type = links.c.link_type == _TYPES[ended].value
    condition = sa.and_(_HAS_EXPIRED, is_of_type, links.c.expires_at <= before)
    return condition, (links.c.expires_at, links.c.id)


def still(condition: Condition) -> Condition:
    """The same, asked again of links that were found. It hides the words of the index: PostgreSQL
    might go through all that have ended, rather than by their ids."""
    return condition.is_(sa.true())
