"""The filters of a list as SQL. Each condition has two forms: one that an index can serve, and one
that only checks what another index has found."""

from types import SimpleNamespace
from typing import Any, cast

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import Filter, Scope, Sort, Status
from kurz.storage.links.ended_accounts import IS_ENDING
from kurz.storage.links.search import text_matches
from kurz.storage.schema.base import NEVER
from kurz.storage.schema.links import link_tags, links

Condition = sa.ColumnElement[bool]
Conditions = dict[str, list[Condition]]

# For a long search, PostgreSQL looks up the end, which is the rarest part of a URL. More characters
# would hardly reduce the links to check, and each adds a list to read, 2 ms each.
LOOKED_UP = 8

_FINAL = (Status.BANNED, Status.DELETED)
_HALTED = (*_FINAL, Status.PAUSED)
# The exact text of an index.
_WAS_CHECKED = "links.destination_status IS NOT NULL"
_EXPIRY = f"coalesce(links.expires_at, {NEVER})"


def _checked(text: str, number: str) -> SimpleNamespace:
    """Columns in a form that no index can serve."""
    return SimpleNamespace(
        **{
            column.name: sa.literal_column(
                (text if isinstance(column.type, sa.Text) else number).format(column.name),
                column.type,
            )
            for column in links.c
        }
    )


# SQLite has no statistics for choosing an index, and PostgreSQL has none after a large import.
_CHECKED = {
    "sqlite": _checked("+links.{}", "+links.{}"),
    "postgresql": _checked("(links.{} || '')", "(links.{} + 0)"),
}


def sort_value(field: str) -> sa.ColumnElement[int]:
    """The sort expression of a list, in the form of the order's index. Clicks may be behind."""
    if field == Sort.EXPIRY.field:
        return sa.literal_column(_EXPIRY, sa.BigInteger())
    column: sa.ColumnElement[int] = links.c[field]
    return column


class Filters:
    """The conditions of one list. `space` is 0 for the operator, who sees more than one."""

    def __init__(self, dialect: str, space: int, scope: Scope, wanted: Filter, now: int) -> None:
        self.dialect = dialect
        self.space = space
        self.wanted = wanted
        self._scope = scope
        self._now = now
        self._by_index = self._conditions(links.c, by_index=True)
        self._checks = self._conditions(_CHECKED[dialect], by_index=False)
        if wanted.search is not None:
            is_long = len(wanted.search) > LOOKED_UP
            found = text_matches(dialect, wanted.search[-LOOKED_UP:], by_index=True)
            self._checks["search"] = [text_matches(dialect, wanted.search)]
            self._by_index["search"] = [found, *(self._checks["search"] if is_long else [])]

    def only(self, *keys: str) -> list[Condition]:
        """The named conditions, in the form that an index can serve."""
        return [condition for key in keys for condition in self._by_index[key]]

    def checks(self, *keys: str) -> list[Condition]:
        """The named conditions, in the form that no index can serve."""
        return [condition for key in keys for condition in self._checks[key]]

    def others(self, *keys: str) -> list[Condition]:
        """All conditions but the named ones, in the form that no index can serve."""
        return self.checks(*(key for key in self._checks if key not in keys))

    def tagged(self) -> list[Condition]:
        """The rows of `link_tags` with the tag: of active links, of the trash, or both. The column
        is always named; otherwise no engine would use the later columns of the key."""
        status = self.wanted.status
        is_anywhere = status is None and self.wanted.with_deleted
        places = [False, True] if is_anywhere else [status is Status.DELETED]
        conditions = [link_tags.c.tag == self.wanted.tag, link_tags.c.in_trash.in_(places)]
        return [*conditions, link_tags.c.space == self.space] if self.space else conditions

    def has_only_tag(self) -> bool:
        """Whether `tagged` is the only condition."""
        is_told = self.wanted.status in (None, Status.DELETED)
        return is_told and self._checks.keys() <= {"space", "status", "tag"}

    def indexed(self) -> dict[str, str]:
        """Conditions with their own index, and the order of that index."""
        found = {}
        if self.wanted.status not in (None, Status.ACTIVE):
            is_expired = self.wanted.status is Status.EXPIRED
            found["status"] = (Sort.EXPIRY if is_expired else Sort.CREATED).field
        if self.wanted.destination_status is not None:
            found["destination"] = Sort.CREATED.field
        if "owner" in self._checks and self.space > 0:
            found["owner"] = Sort.CREATED.field
        if "dates" in self._checks:
            found["dates"] = Sort.CREATED.field
        return found

    def bounds(self, field: str) -> list[Condition]:
        """Where in an order the matching links begin and end, as far as the filters say; and in
        which index, if the order has two."""
        if field == Sort.CREATED.field:
            return self._dated(links.c)
        if field == Sort.UPDATED.field:
            return self._in_half()
        if field != Sort.EXPIRY.field or self.wanted.status in (None, *_FINAL):
            return []
        expiry = sort_value(field)
        is_past = self.wanted.status is Status.EXPIRED
        return [expiry <= self._now if is_past else expiry > self._now]

    def _in_half(self) -> list[Condition]:
        if self.wanted.status is None and self.wanted.with_deleted:
            return []
        is_trash = self.wanted.status is Status.DELETED
        return [_text(f"links.status {'=' if is_trash else '<>'} 'DELETED'")]

    def _conditions(self, columns: Any, *, by_index: bool) -> Conditions:
        conditions = {
            "space": self._in_space(columns, by_index=by_index),
            "owner": self._owned(columns, by_index=by_index),
            "dates": self._dated(columns),
            "status": self._in_status(columns, by_index=by_index),
            "tag": self._tagged(by_index=by_index),
            "destination": self._leading(columns, by_index=by_index),
        }
        return {key: each for key, each in conditions.items() if each or key == "space"}

    def _in_space(self, columns: Any, *, by_index: bool) -> list[Condition]:
        if self.space:
            # A partial index is used only by a query that repeats its condition exactly.
            owned = [_text("links.space <> 0")] if by_index else []
            return [columns.space == self.space, *owned]
        workspace_id = self._scope.workspace_id
        here = [] if workspace_id is None else [columns.workspace_id == workspace_id]
        return [*here, ~IS_ENDING]

    def _owned(self, columns: Any, *, by_index: bool) -> list[Condition]:
        owners = {self.wanted.owner_id}
        if self.space >= 0:  # a personal space holds only its owner's links
            owners.add(self._scope.owner_id)
        conditions = [columns.owner_id == owner for owner in owners if owner is not None]
        if conditions and by_index and self.space > 0:
            conditions.append(_text("links.space > 0"))
        return conditions

    def _dated(self, columns: Any) -> list[Condition]:
        conditions = []
        if self.wanted.created_from is not None:
            conditions.append(columns.created_at >= to_micros(self.wanted.created_from))
        if self.wanted.created_before is not None:
            conditions.append(columns.created_at < to_micros(self.wanted.created_before))
        return conditions

    def _tagged(self, *, by_index: bool) -> list[Condition]:
        """With the index of tags, all links that have it are first read into a set: for few
        links."""
        if self.wanted.tag is None:
            return []
        link_id = _CHECKED[self.dialect].id
        tagged = sa.select(link_tags.c.link_id).where(*self.tagged())
        if by_index:
            # PostgreSQL would turn a single condition into a join.
            return [link_id.in_(tagged).is_(True)]
        one = tagged.where(link_tags.c.link_id == link_id).correlate(links)
        if self.dialect == "postgresql":
            one = one.offset(0)  # otherwise, it may first read all links of the tag into a table
        return [one.exists()]

    def _leading(self, columns: Any, *, by_index: bool) -> list[Condition]:
        status = self.wanted.destination_status
        if status is None:
            return []
        conditions = [columns.destination_status == status]
        return [*conditions, _text(_WAS_CHECKED)] if by_index else conditions

    def _in_status(self, columns: Any, *, by_index: bool) -> list[Condition]:
        """`lifecycle.status` as SQL."""
        status = self.wanted.status
        if status is None:
            return [] if self.wanted.with_deleted else [columns.status != Status.DELETED]
        if status in _HALTED:
            stored = _text("links.status IN ('DELETED', 'PAUSED', 'BANNED')")
            halted = [columns.status == status, *([stored] if by_index else [])]
            return halted if status in _FINAL else [*halted, self._is_unexpired(columns)]
        if status is Status.EXPIRED:
            expiry = sort_value(Sort.EXPIRY.field) if by_index else columns.expires_at
            return [columns.status.not_in(_FINAL), expiry <= self._now]
        usable = [columns.status.not_in(_HALTED), self._is_unexpired(columns)]
        if status is Status.ACTIVE:
            return [*usable, self._is_unspent(columns)]
        spent = _text("links.clicks_used >= links.max_clicks")
        return [*usable, spent if by_index else columns.clicks_used >= columns.max_clicks]

    def _is_unexpired(self, columns: Any) -> Condition:
        return sa.or_(columns.expires_at.is_(None), columns.expires_at > self._now)

    def _is_unspent(self, columns: Any) -> Condition:
        """On SQLite with the small index of exhausted links: clicks change too often to be in the
        index of every order. On PostgreSQL, reading a link is as fast as that."""
        if not self.space or self.dialect == "postgresql":
            return sa.or_(columns.max_clicks.is_(None), columns.clicks_used < columns.max_clicks)
        spent = links.alias("spent")
        found = sa.select(spent.c.id).where(
            spent.c.space == self.space,
            spent.c.created_at == columns.created_at,
            spent.c.id == columns.id,
            _text("spent.space <> 0"),
            _text("spent.clicks_used >= spent.max_clicks"),
        )
        return ~found.correlate(links).exists()


def _text(condition: str) -> Condition:
    """As text: for a boolean column, SQLite's dialect would add `= 1`."""
    return cast("Condition", sa.text(condition))
