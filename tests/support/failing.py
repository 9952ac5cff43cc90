"""A database that is out for a while."""

from collections.abc import Callable, Container
from typing import Any

from kurz.errors import StoreUnavailable
from kurz.storage.engine.database import Database


class FailingWrites:
    """Its writes with these numbers, counted from 1, find it out; with `reads_fail`, calls of both
    kinds do."""

    def __init__(
        self, database: Database, fails: Container[int] = range(1, 3), *, reads_fail: bool = False
    ) -> None:
        self._database = database
        self._fails = fails
        self._reads_fail = reads_fail
        self._tries = 0

    async def read(self, query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._reads_fail:
            self._try()
        return await self._database.read(query, *args, **kwargs)

    async def write(self, query: Callable[..., Any], *args: Any) -> Any:
        self._try()
        return await self._database.write(query, *args)

    async def write_together(self, query: Callable[..., Any], item: Any) -> Any:
        self._try()
        return await self._database.write_together(query, item)

    def _try(self) -> None:
        self._tries += 1
        if self._tries in self._fails:
            raise StoreUnavailable("out")
