"""Lists of links. Matches are counted with the index that leads to the fewest links. Few links are
collected and sorted; many are read in the index of the requested order until the page is full. The
indexes carry the columns that filters need, so that neither reads the links themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import COUNTED_LINKS, Filter, Link, PageEnd, Scope, Sort, Status, space_of
from kurz.storage.links import search
from kurz.storage.links.filters import Condition, Filters, sort_value
from kurz.storage.schema.base import NEVER
from kurz.storage.schema.link_rows import to_link
from kurz.storage.schema.links import link_tags, links

FEW = 2_000  # collecting and sorting this many is about as fast as walking an order for a page
SAMPLE = 64  # links that are sampled to estimate how common something is
COMMON_TEXT = 0.12  # a text in this many links is counted faster without PostgreSQL's text index
MOST_TEXTS = 0.5  # the same for SQLite's
COMMON_SPACE = 0.25  # with this many links, SQLite's text index need not say whose they are

_CREATED = Sort.CREATED.field
_ONE: sa.ColumnElement[int] = sa.literal_column("1")
# PostgreSQL: a plan for these exact values (a search may be common or rare), without start-up cost
# and in one process. PostgreSQL underestimates how common a text is, and would rather read and sort
# all links than walk an index to its supposed end. Without statistics of tags, it would compare
# every link of a walk with every row of a tag.
_PLANNING = sa.text(
    "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)"
    ", set_config('jit', 'off', true)"
    ", set_config('max_parallel_workers_per_gather', '0', true)"
    ", set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)"
    ", set_config('enable_hashjoin', 'off', true), set_config('enable_material', 'off', true)"
)


def list_links(
    connection: sa.Connection,
    scope: Scope,
    wanted: Filter,
    now: datetime,
    after: PageEnd | None,
    limit: int,
) -> tuple[list[Link], int]:
    space = 0 if scope.workspace_id is None else space_of(scope.workspace_id, scope.owner_id)
    filters = Filters(connection.dialect.name, space, scope, wanted, to_micros(now))
    if filters.dialect == "postgresql":
        connection.execute(_PLANNING)
    way = _choose(connection, filters) if space else _Way(links, filters.all())
    if not way.is_dear:
        total = _count(connection, way.counted())
        if space and total <= FEW:
            return _gather(connection, way, filters, after, limit)[0], total
    else:
        page, total = _gather(connection, way, filters, after, limit)
        if total <= COUNTED_LINKS:
            return page, total
    if way.is_exact and total <= COUNTED_LINKS:
        way = replace(way, walked_by=("space", "tag"))
    return _walk(connection, way, filters, after, limit), total


@dataclass(frozen=True)
class _Way:
    """A way to find all matching links. `known` is how many its index leads to, before other
    conditions; exactly the matches if it `is_exact`. `field` is the order of its index. An
    expensive way reads every link, so it is used once, for the number and the page together. A walk
    in another order uses the indexes of `walked_by`."""

    source: sa.FromClause
    conditions: Sequence[Condition]
    known: sa.Select[Any] | None = None
    field: str | None = None
    is_dear: bool = False
    is_exact: bool = False
    walked_by: Sequence[str] = ("space",)

    def counted(self) -> sa.Select[Any]:
        if self.is_exact and self.known is not None:
            return self.known
        return self.found(_ONE)

    def found(self, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """If there is an order, the latest come first: they are most likely active."""
        found = sa.select(*columns).select_from(self.source).where(*self.conditions)
        return found if self.field is None else found.order_by(sort_value(self.field).desc())


def _choose(connection: sa.Connection, filters: Filters) -> _Way:
    """The way that leads to the fewest links; a single one need not be measured."""
    ways = list(_ways(connection, filters))
    if not ways:
        return _Way(links, filters.all("space"), field=_CREATED)
    if len(ways) == 1:
        return ways[0]
    return min(ways, key=lambda way: 0 if way.known is None else _count(connection, way.known))


def _ways(connection: sa.Connection, filters: Filters) -> Iterator[_Way]:
    wanted = filters.wanted
    if wanted.search is not None and len(wanted.search) >= search.TRIGRAM:
        by_text = _by_text_on_sqlite if filters.dialect == "sqlite" else _by_text_on_postgres
        if (way := by_text(connection, filters, wanted.search)) is not None:
            yield way
    if wanted.tag is not None:
        yield _by_tag(filters)
    for key, field in filters.indexed().items():
        known = sa.select(_ONE).select_from(links).where(*filters.only("space", key))
        is_dear = wanted.status is Status.EXHAUSTED  # clicks are in no index
        yield _Way(links, filters.all("space", key), known, field, is_dear)


def _by_tag(filters: Filters) -> _Way:
    tagged = filters.tagged()
    source = link_tags.join(links, links.c.id == link_tags.c.link_id)
    known = sa.select(_ONE).select_from(link_tags).where(*tagged)
    is_exact = filters.has_only_tag()
    conditions = [*tagged, *filters.all(without="tag")]
    return _Way(source, conditions, known, is_dear=not is_exact, is_exact=is_exact)


def _by_text_on_sqlite(connection: sa.Connection, filters: Filters, text: str) -> _Way | None:
    """None for a small space, or a text in most links: reading links is faster than the index."""
    everything = sa.select(_ONE).select_from(links).where(*filters.only("space"))
    is_small = _count(connection, everything, FEW + 1) <= FEW
    if is_small:
        return None
    is_here = links.c.space == filters.space
    matches = sa.and_(is_here, search.text_matches(filters.dialect, text))
    share_of_text, share_of_space = _shares(connection, matches, is_here)
    if share_of_text >= MOST_TEXTS:
        return None
    is_common = share_of_space >= COMMON_SPACE
    found = search.candidates(connection, None if is_common else filters.space, text)
    hits = found.subquery("hits")
    source = hits.join(links, links.c.id == hits.c.id)
    known = sa.select(_ONE).select_from(hits)
    return _Way(source, filters.all(), known, is_dear=True)


def _by_text_on_postgres(connection: sa.Connection, filters: Filters, text: str) -> _Way | None:
    """None for a common text: the index would return all its links before the first is used."""
    matches = search.text_matches(filters.dialect, text)
    (share,) = _shares(connection, sa.and_(links.c.space == filters.space, matches))
    if share >= COMMON_TEXT:
        return None
    known = sa.select(_ONE).select_from(links).where(*filters.only("space", "search"))
    return _Way(links, filters.all("space", "search"), known, is_dear=True)


def _shares(connection: sa.Connection, *conditions: Condition) -> list[float]:
    """Estimates how many of all links match, from a sample between the oldest and the newest. 0 if
    most of the sample is deleted."""
    # Two queries: for both at once, SQLite would read the whole table.
    ends = [sa.select(end(links.c.id)).scalar_subquery() for end in (sa.func.min, sa.func.max)]
    oldest, newest = connection.execute(sa.select(*ends)).one()
    if oldest is None:
        return [0.0 for _ in conditions]
    ids = [oldest + (newest - oldest) * number // SAMPLE for number in range(SAMPLE)]
    fitting = [sa.func.count(sa.case((condition, 1))) for condition in conditions]
    query = sa.select(sa.func.count(), *fitting).where(links.c.id.in_(ids))
    seen, *counts = connection.execute(query).one()
    return [count / seen if seen > SAMPLE // 2 else 0.0 for count in counts]


def _count(connection: sa.Connection, found: sa.Select[Any], bound: int = COUNTED_LINKS + 1) -> int:
    query = sa.select(sa.func.count()).select_from(found.limit(bound).subquery())
    return connection.execute(query).scalar_one()


def _gather(
    connection: sa.Connection, way: _Way, filters: Filters, after: PageEnd | None, limit: int
) -> tuple[list[Link], int]:
    """All matches of the way, sorted, and their number. The inner limit keeps both engines from
    walking an order to find a few."""
    sort = filters.wanted.sort
    value = sort_value(sort.field).label("value")
    hits = way.found(links.c.id, value).limit(COUNTED_LINKS + 1).cte("hits")
    total = sa.select(sa.func.count()).select_from(hits).scalar_subquery()
    page = sa.select(hits.c.id, hits.c.value, total.label("total"))
    rows = _fetch(
        connection, _behind(page, hits.c.value, hits.c.id, sort, after).limit(limit), sort
    )
    if rows:
        return [to_link(row) for row in rows], rows[0]["total"]
    return [], 0 if after is None else _count(connection, way.found(_ONE))


def _walk(
    connection: sa.Connection, way: _Way, filters: Filters, after: PageEnd | None, limit: int
) -> list[Link]:
    """Uses the index of the order, unless the way already has that order."""
    sort = filters.wanted.sort
    conditions = way.conditions if way.field == sort.field else filters.all(*way.walked_by)
    conditions = [*conditions, *filters.bounds(sort.field)]
    value = sort_value(sort.field)
    page = sa.select(links.c.id, value.label("value")).select_from(links).where(*conditions)
    if after is None or filters.dialect == "postgresql":
        parts = [_behind(page, value, links.c.id, sort, after)]
    else:
        parts = _parts_behind(page, value, sort, after)
    rows: list[sa.RowMapping] = []
    for part in parts:
        if len(rows) < limit:
            rows += _fetch(connection, part.limit(limit - len(rows)), sort)
    return [to_link(row) for row in rows]


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
    """For SQLite, which cannot seek to a pair in an index: it would skip one by one all links with
    the same value, or, if the value is an expression, all links from the first one."""
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
    more = [column for column in found.c if column.name not in links.c]
    query = sa.select(links, *more).select_from(found.join(links, links.c.id == found.c.id))
    query = query.order_by(*_ordered(sort, found.c.value, found.c.id))
    return connection.execute(query).mappings().all()
