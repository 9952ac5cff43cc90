"""Exports links, page by page: any number of them takes the same memory."""

from collections.abc import AsyncIterator, Callable, Mapping

from kurz.clock import Clock
from kurz.links.bulk import BulkStore, Position
from kurz.links.model import Scope
from kurz.links.transfers import TransferFormat
from kurz.transfer.writing import WRITERS, head

PAGE = 500  # links a query; a page is written in one go, which takes some 10 ms


class Exporter:
    def __init__(self, store: BulkStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def run(
        self,
        format: TransferFormat,  # noqa: A002  the word of the product
        scope: Scope,
        slugs: Mapping[int, str],
        *,
        with_trash: bool = False,
        tell: Callable[[int], None] = lambda _: None,
    ) -> AsyncIterator[bytes]:
        """The file in chunks, oldest link first. `slugs` names the workspaces by their ids. `tell`
        is told how many links each chunk has."""
        write = WRITERS[format]
        after: Position | None = None
        if first := head(format):
            yield first
        while True:
            links, after = await self._store.page(scope, after, PAGE, with_trash=with_trash)
            if links:
                yield write(links, slugs, self._clock.now())
                tell(len(links))
            if after is None:
                return
