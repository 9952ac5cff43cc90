"""Exports links, page by page: any number of them takes the same memory."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from kurz.clock import Clock, to_micros
from kurz.links.bulk import BulkStore, Position
from kurz.links.model import Filter, Link, PageEnd, Scope, Sort
from kurz.links.ports import LinkStore
from kurz.links.transfers import TransferFormat
from kurz.transfer.writing import WRITERS, head

PAGE = 500  # links a query; a page is written in one go, which takes some 10 ms


class Exporter:
    def __init__(self, store: BulkStore, links: LinkStore, clock: Clock) -> None:
        self._store = store
        self._links = links
        self._clock = clock

    async def run(
        self,
        format: TransferFormat,  # noqa: A002  the word of the product
        scope: Scope,
        slugs: Mapping[int, str],
        *,
        with_trash: bool = False,
        wanted: Filter | None = None,
        link_ids: Sequence[int] | None = None,
        tell: Callable[[int], None] = lambda _: None,
    ) -> AsyncIterator[bytes]:
        """As in `LinkExporter`."""
        write = WRITERS[format]
        if first := head(format):
            yield first
        if wanted is None:
            pages = self._pages(scope, link_ids, with_trash=with_trash)
        else:
            pages = self._matching(scope, replace(wanted, with_deleted=with_trash))
        async for links in pages:
            yield write(links, slugs, self._clock.now())
            tell(len(links))

    async def _pages(
        self, scope: Scope, link_ids: Sequence[int] | None, *, with_trash: bool
    ) -> AsyncIterator[list[Link]]:
        after: Position | None = None
        while True:
            links, after = await self._store.page(
                scope, after, PAGE, with_trash=with_trash, link_ids=link_ids
            )
            if links:
                yield links
            if after is None:
                return

    async def _matching(self, scope: Scope, wanted: Filter) -> AsyncIterator[list[Link]]:
        wanted = replace(wanted, sort=Sort.CREATED)
        after: PageEnd | None = None
        while True:
            now = self._clock.now()
            found = await self._links.list(scope, wanted, now, after=after, limit=PAGE)
            links = found.links
            if links:
                yield links
            if len(links) == PAGE:
                after = PageEnd(to_micros(links[-1].created_at), links[-1].id)
            elif found.stopped_at is not None:
                after = found.stopped_at
            else:
                return
