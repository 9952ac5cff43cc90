"""Which links have ended, and how: the conditions of every write that ends them, with the same text
as the indexes that find them."""

from typing import Any

import sqlalchemy as sa

from kurz.links.ending.retention import EndedKind
from kurz.links.model import LinkType
from kurz.storage.schema.links import links

Condition = sa.ColumnElement[bool]
Order = tuple[sa.ColumnElement[Any], ...]

# Literals, because an engine does not use a partial index for parameters.
_IS_ACTIVE = sa.text("status = 'ACTIVE' AND expires_at IS NOT NULL")
_HAS_EXPIRED = sa.text("status IN ('EXPIRED', 'PAUSED') AND expires_at IS NOT NULL")
_WAS_SWEPT = sa.text("status = 'DELETED' AND swept_at IS NOT NULL")
_WAS_DELETED = sa.text("status = 'DELETED' AND swept_at IS NULL")
_TYPES = {EndedKind.TEMPORARY: LinkType.TEMPORARY, EndedKind.PERMANENT: LinkType.PERMANENT}


def are_due(now: int, ended: EndedKind | None = None) -> tuple[Condition, Order]:
    """Active links that have expired, the earliest first; all, or those of a kind."""
    condition = sa.and_(_IS_ACTIVE, links.c.expires_at <= now)
    if ended is not None:
        condition = sa.and_(condition, links.c.link_type == _TYPES[ended].value)
    return condition, (links.c.expires_at, links.c.id)


def are_ended(ended: EndedKind, before: int) -> tuple[Condition, Order]:
    """Links that ended in this way at that instant or earlier, the earliest first."""
    if ended is EndedKind.SWEPT:
        return sa.and_(_WAS_SWEPT, links.c.swept_at <= before), (links.c.swept_at, links.c.id)
    if ended is EndedKind.DELETED:
        return sa.and_(_WAS_DELETED, links.c.deleted_at <= before), (links.c.deleted_at, links.c.id)
    is_of_type = links.c.link_type == _TYPES[ended].value
    condition = sa.and_(_HAS_EXPIRED, is_of_type, links.c.expires_at <= before)
    return condition, (links.c.expires_at, links.c.id)


def still(condition: Condition) -> Condition:
    """The same condition, checked again for links that were found. It does not match the index:
    otherwise PostgreSQL might read all ended links instead of these ids."""
    return condition.is_(sa.true())
