"""Reads a page of a list, either from the matches that an index leads to, or along the index of the
list's order until the page is full."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from kurz.links.model import READ_LINKS, Link, PageEnd, Sort
from kurz.storage.links.filters import Condition, sort_value
from kurz.storage.schema.base import NEVER
from kurz.storage.schema.link_rows import LINK, current_clicks, to_link, with_totals
from kurz.storage.schema.links import links

FEW = 2_000  # collecting and sorting this many is about as fast as walking an order for a page

Page = tuple[list[Link], list[int | None]]  # links, and by what they are sorted


def gather(
    connection: sa.Connection,
    candidates: sa.Select[Any],
    sort: Sort,
    after: PageEnd | None,
    limit: int,
) -> tuple[Page, int, int]:
    """Returns a sorted page of the matches among the candidates (`id`, `value` and `fits`), the
    number of these matches, and the number of candidates. Few matches are sorted by their current
    clicks, many by the copies, which are what a walk goes by."""
    hits = candidates.cte("hits")
    counts = sa.select(
        sa.func.count().label("seen"), sa.func.coalesce(sa.func.sum(hits.c.fits), 0).label("total")
    ).select_from(hits)
    value: sa.ColumnElement[int] = hits.c.value
    if sort.field == Sort.CLICKS.field:
        total = sa.select(sa.func.sum(hits.c.fits)).scalar_subquery()
        value = sa.case((total <= FEW, current_clicks(hits.c.id, value)), else_=value)
    page = sa.select(hits.c.id, value.label("value")).where(hits.c.fits == 1)
    part = _behind(page, value, hits.c.id, sort, after).limit(limit).subquery("page")
    number = counts.subquery("number")
    source = number.outerjoin(part, sa.true()).outerjoin(links, links.c.id == part.c.id)
    columns = (*LINK, part.c.value, number.c.seen, number.c.total)
    query = sa.select(*columns).select_from(with_totals(source))
    rows = connection.execute(query.order_by(*_ordered(sort, part.c.value, part.c.id)))
    found = rows.mappings().all()
    page_rows = [row for row in found if row["id"] is not None]
    return _to_page(page_rows), int(found[0]["total"]), found[0]["seen"]


def walk(
    connection: sa.Connection,
    conditions: Sequence[Condition],
    sort: Sort,
    after: PageEnd | None,
    limit: int,
) -> Page:
    """Reads links until the page is full."""
    value = sort_value(sort.field)
    page = sa.select(links.c.id, value.label("value")).select_from(links).where(*conditions)
    rows: list[sa.RowMapping] = []
    for part in _parts(connection, page, sort, after):
        if len(rows) < limit:
            rows += _fetch(connection, part.limit(limit - len(rows)), sort)
    return _to_page(rows)


def walk_some(
    connection: sa.Connection,
    conditions: Sequence[Condition],
    fits: sa.ColumnElement[int],
    sort: Sort,
    after: PageEnd | None,
    limit: int,
) -> tuple[Page, PageEnd | None]:
    """Reads at most `READ_LINKS` of the links that `conditions` lead to. Returns those that fit,
    and where it stopped if the page is not full by then."""
    value = sort_value(sort.field).label("value")
    read = sa.select(links.c.id, value, fits).select_from(links).where(*conditions)
    rows: list[sa.RowMapping] = []
    for part in _parts(connection, read, sort, after):
        some = part.limit(READ_LINKS).subquery("some")
        page = sa.select(some.c.id, some.c.value).where(some.c.fits == 1)
        page = page.order_by(*_ordered(sort, some.c.value, some.c.id)).limit(limit - len(rows))
        rows += _fetch(connection, page, sort)
        if len(rows) == limit:
            break
        last = part.with_only_columns(value, links.c.id).offset(READ_LINKS - 1).limit(1)
        if (end := connection.execute(last).first()) is not None:
            return _to_page(rows), PageEnd(_shown(end.value), end.id)
    return _to_page(rows), None


def _to_page(rows: Sequence[sa.RowMapping]) -> Page:
    return [to_link(row) for row in rows], [_shown(row["value"]) for row in rows]


def _shown(value: int) -> int | None:
    return None if value == NEVER else value


def _parts(
    connection: sa.Connection, page: sa.Select[Any], sort: Sort, after: PageEnd | None
) -> list[sa.Select[Any]]:
    value = sort_value(sort.field)
    if after is None or connection.dialect.name == "postgresql":
        return [_behind(page, value, links.c.id, sort, after)]
    return _parts_behind(page, value, sort, after)


def _behind(
    page: sa.Select[Any],
    value: sa.ColumnElement[int],
    link_id: sa.ColumnElement[int],
    sort: Sort,
    after: PageEnd | None,
) -> sa.Select[Any]:
    if after is not None:
        end = sa.tuple_(_value(after), after.link_id)
        page = page.where(_is_past(sa.tuple_(value, link_id), end, sort))
    return page.order_by(*_ordered(sort, value, link_id))


def _parts_behind(
    page: sa.Select[Any], value: sa.ColumnElement[int], sort: Sort, after: PageEnd
) -> list[sa.Select[Any]]:
    """For SQLite, which cannot seek to a pair in an index. It would skip one by one all links with
    the same value or, if the value is an expression, all links from the first one on."""
    same = page.where(value == _value(after), _is_past(links.c.id, after.link_id, sort))
    others = page.where(_is_past(value, _value(after), sort))
    return [
        same.order_by(*_ordered(sort, links.c.id)),
        others.order_by(*_ordered(sort, value, links.c.id)),
    ]


def _value(end: PageEnd) -> int:
    return NEVER if end.value is None else end.value


def _is_past(here: sa.ColumnElement[Any], end: Any, sort: Sort) -> Condition:
    is_past: Condition = here < end if sort.is_descending else here > end
    return is_past


def _ordered(sort: Sort, *values: sa.ColumnElement[int]) -> Sequence[sa.ColumnElement[int]]:
    return [each.desc() if sort.is_descending else each.asc() for each in values]


def _fetch(connection: sa.Connection, page: sa.Select[Any], sort: Sort) -> Sequence[sa.RowMapping]:
    """Reads the links of a page, now that their ids are known."""
    found = page.subquery("page")
    source = with_totals(found.join(links, links.c.id == found.c.id))
    query = sa.select(*LINK, found.c.value).select_from(source)
    query = query.order_by(*_ordered(sort, found.c.value, found.c.id))
    return connection.execute(query).mappings().all()
