"""Lists of links. Matches are counted with the index that leads to the fewest links. Few links are
collected and sorted; many are read in the index of the requested order until the page is full. The
indexes carry the columns that filters need, so that neither reads the links themselves. Where a
filter needs the links, a bounded number of them is read, and the answer says so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import (
    COUNTED_LINKS,
    READ_LINKS,
    Filter,
    FoundLinks,
    PageEnd,
    Scope,
    Sort,
    Status,
    space_of,
)
from kurz.storage.engine.batches import among
from kurz.storage.links import search
from kurz.storage.links.filters import Condition, Filters, sort_value
from kurz.storage.links.walking import FEW, gather, walk, walk_some
from kurz.storage.schema.links import link_tags, links

SAMPLE = 256  # links that are sampled to estimate how common something is
COMMON_TEXT = (
    0.015  # for a text in this many links, reading links fills a page faster than an index
)
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
) -> FoundLinks:
    space = 0 if scope.workspace_id is None else space_of(scope.workspace_id, scope.owner_id)
    filters = Filters(connection.dialect.name, space, scope, wanted, to_micros(now))
    if filters.dialect == "postgresql":
        connection.execute(_PLANNING)
    way = _choose(connection, filters) if space else _everywhere(filters)
    sort = wanted.sort
    total, is_exact = 0, False
    if way.is_dear:
        page, total, seen = gather(connection, way.candidates(sort), sort, after, limit)
        if seen <= way.most:
            return FoundLinks(*page, total)
    else:
        total = _count(connection, way.counted())
        is_exact = total <= COUNTED_LINKS
        if total <= FEW:
            page, _, _ = gather(connection, way.candidates(sort), sort, after, limit)
            return FoundLinks(*page, total)
    if way.is_exact and is_exact:
        way = replace(way, walked_by=("space", "tag"))
    total = min(total, way.most)
    # Uses the index of the order, unless the way already has that order.
    keys = way.keys if way.field == sort.field else way.walked_by
    lead = [*filters.only(*keys), *filters.bounds(sort.field)]
    if not space or wanted.search is not None:
        fits = _fits(filters.others(*keys))
        page, stopped_at = walk_some(connection, lead, fits, sort, after, limit)
        return FoundLinks(*page, total, is_exact, stopped_at)
    page = walk(connection, [*lead, *filters.others(*keys)], sort, after, limit)
    return FoundLinks(*page, total, is_exact)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to find all matching links. An index serves the conditions in `lead`; `checks` are the
    others. `known` counts the links that the index leads to, which are exactly the matches if it
    `is_exact`. `field` is the order of the index, and `keys` are the filters that it serves. A way
    that `is_dear` reads links. It is therefore used only once, for the total and the page together,
    and reads at `most` this many links: fewer if it would not read all of them anyway. Reading in
    another order uses the indexes of `walked_by`."""

    source: sa.FromClause
    lead: Sequence[Condition]
    checks: Sequence[Condition]
    known: sa.Select[Any] | None = None
    field: str | None = None
    keys: Sequence[str] = ("space",)
    is_dear: bool = False
    most: int = COUNTED_LINKS
    is_exact: bool = False
    walked_by: Sequence[str] = ("space",)

    def counted(self) -> sa.Select[Any]:
        if self.is_exact and self.known is not None:
            return self.known
        return self._found([*self.lead, *self.checks], _ONE)

    def candidates(self, sort: Sort) -> sa.Select[Any]:
        """Up to `most` matches, and one more to show that there are more. The limit keeps both
        engines from reading along an order to find a few."""
        columns = (links.c.id, sort_value(sort.field).label("value"))
        if self.is_dear:
            found = self._found(self.lead, *columns, _fits(self.checks))
        else:
            found = self._found([*self.lead, *self.checks], *columns, _fits([]))
        return found.limit(self.most + 1)

    def _found(
        self, conditions: Sequence[Condition], *columns: sa.ColumnElement[Any]
    ) -> sa.Select[Any]:
        """If there is an order, the latest come first: they are most likely active."""
        found = sa.select(*columns).select_from(self.source).where(*conditions)
        if self.field is None:
            return found
        return found.order_by(sort_value(self.field).desc(), links.c.id.desc())


def _fits(checks: Sequence[Condition]) -> sa.ColumnElement[int]:
    is_fit = sa.case((sa.and_(*checks), 1), else_=0) if checks else sa.literal_column("1")
    return is_fit.label("fits")


def _everywhere(filters: Filters) -> _Way:
    """For the operator: the newest links, whether they are in a space or not."""
    field = filters.wanted.sort.field
    lead = [*filters.only("space"), *filters.bounds(field)]
    checks = filters.others("space")
    most = READ_LINKS if checks else COUNTED_LINKS
    return _Way(links, lead, checks, field=field, is_dear=True, most=most)


def _choose(connection: sa.Connection, filters: Filters) -> _Way:
    """The way that leads to the fewest links; a single one need not be measured."""
    ways = list(_ways(connection, filters))
    if not ways:
        lead, others = filters.only("space"), filters.others("space")
        is_dear = filters.wanted.search is not None
        most = READ_LINKS if is_dear else COUNTED_LINKS
        return _Way(links, lead, others, field=_CREATED, is_dear=is_dear, most=most)
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
        yield _by_tag(connection, filters)
    for key, field in filters.indexed().items():
        keys = ("space", key)
        lead = filters.only(*keys)
        # Without this order, SQLite would count exhausted links in another index.
        order = sort_value(field).desc()
        known = sa.select(_ONE).select_from(links).where(*lead).order_by(order)
        # The clicks and the texts of a link are in no index, and each tag takes a lookup.
        is_dear = wanted.status is Status.EXHAUSTED
        is_dear = is_dear or wanted.search is not None or wanted.tag is not None
        yield _Way(links, lead, filters.others(*keys), known, field, keys, is_dear)


def _by_tag(connection: sa.Connection, filters: Filters) -> _Way:
    tagged = filters.tagged()
    known = sa.select(_ONE).select_from(link_tags).where(*tagged)
    is_exact = filters.has_only_tag()
    is_rare = is_exact or _count(connection, known) <= COUNTED_LINKS
    most = COUNTED_LINKS if is_rare else READ_LINKS
    some = sa.select(link_tags.c.link_id).where(*tagged).limit(most + 1)
    checks = filters.others("tag")
    if filters.dialect == "postgresql":
        # As an array. With a join, it might look up the tag of each link, because it cannot
        # estimate the checks, or search for each link from the root of the index.
        lead = [links.c.id == sa.any_(sa.func.array(some.scalar_subquery()))]
        return _Way(links, lead, checks, known, is_dear=not is_exact, most=most, is_exact=is_exact)
    found = some.subquery("tagged")
    source = found.join(links, links.c.id == found.c.link_id)
    return _Way(source, [], checks, known, is_dear=not is_exact, most=most, is_exact=is_exact)


def _by_text_on_sqlite(connection: sa.Connection, filters: Filters, text: str) -> _Way | None:
    """None for a small space or a common text, where reading links is faster than the index."""
    everything = sa.select(_ONE).select_from(links).where(*filters.only("space"))
    is_small = _count(connection, everything, FEW + 1) <= FEW
    if is_small:
        return None
    is_here = links.c.space == filters.space
    matches = sa.and_(is_here, search.text_matches(filters.dialect, text))
    share_of_text, share_of_space = _shares(connection, matches, is_here)
    if share_of_text >= COMMON_TEXT:
        return None
    is_common = share_of_space >= COMMON_SPACE
    found = search.candidates(connection, None if is_common else filters.space, text)
    hits = found.subquery("found")
    source = hits.join(links, links.c.id == hits.c.id)
    known = sa.select(_ONE).select_from(hits)
    lead = filters.checks("space", "search")
    return _Way(source, lead, filters.others("space", "search"), known, is_dear=True)


def _by_text_on_postgres(connection: sa.Connection, filters: Filters, text: str) -> _Way | None:
    """None for a common text: the index would return all its links before the first is used."""
    matches = search.text_matches(filters.dialect, text)
    (share,) = _shares(connection, sa.and_(links.c.space == filters.space, matches))
    if share >= COMMON_TEXT:
        return None
    lead = filters.only("space", "search")
    known = sa.select(_ONE).select_from(links).where(*lead)
    return _Way(links, lead, filters.others("space", "search"), known, is_dear=True)


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
    query = sa.select(sa.func.count(), *fitting).where(among(connection, links.c.id, ids))
    seen, *counts = connection.execute(query).one()
    return [count / seen if seen > SAMPLE // 2 else 0.0 for count in counts]


def _count(connection: sa.Connection, found: sa.Select[Any], bound: int = COUNTED_LINKS + 1) -> int:
    query = sa.select(sa.func.count()).select_from(found.limit(bound).subquery())
    return connection.execute(query).scalar_one()
