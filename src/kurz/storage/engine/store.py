"""Stores. A method that only passes its arguments to a query is declared, not written out."""

from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any, Concatenate

from kurz.clock import Clock
from kurz.storage.engine.database import Database, P, Query, T
from kurz.storage.engine.deadlines import deadline


class SqlStore:
    def __init__(self, database: Database) -> None:
        self._database = database


Method = Callable[Concatenate[SqlStore, P], Coroutine[Any, Any, T]]


class ClockedStore(SqlStore):
    """A store whose queries get the clock that the instances share."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock


def reads(query: Query[P, T], seconds: float | None = None) -> Method[P, T]:
    """The method that reads this, within so many seconds if given."""

    async def method(self: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with nullcontext() if seconds is None else deadline(seconds):
            return await self._database.read(query, *args, **kwargs)

    return method


def writes(query: Query[P, T], seconds: float | None = None) -> Method[P, T]:
    """The method that writes this, within so many seconds if given."""

    async def method(self: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with nullcontext() if seconds is None else deadline(seconds):
            return await self._database.write(query, *args, **kwargs)

    return method
