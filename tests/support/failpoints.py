"""Points at which work is stopped: each call of its store, and each operation on its files."""

import fcntl
import io
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kurz.clicks.batch import Batch, LinkOwner, SegmentProgress
from kurz.clicks.ports import ClickStore
from kurz.errors import StoreUnavailable

A = TypeVar("A")
T = TypeVar("T")

# What `pathlib`, `shutil` and our own code call for files.
_OPERATIONS = (
    (os, ("listdir", "scandir", "stat", "fstat", "unlink", "link", "utime", "open", "pread")),
    (os, ("mkdir", "rename", "fsync")),
    (io, ("open",)),
    (fcntl, ("flock",)),
)


class Stopped(BaseException):
    """As if the process had been killed at this point: no code of ours catches it."""


class Failpoints:
    """Raises at the point of that number, counted from 0. `passed` is how many there were."""

    def __init__(self, at: int, error: Callable[[], BaseException] = Stopped) -> None:
        self.passed = 0
        self._at = at
        self._error = error

    @property
    def is_over(self) -> bool:
        """There was no such point."""
        return self.passed <= self._at

    def step(self) -> None:
        self.passed += 1
        if self.passed == self._at + 1:
            raise self._error()


class FailingStore:
    """A `ClickStore` with a point before each call and one behind it, when it is done and nobody
    has heard of it."""

    def __init__(self, store: ClickStore, failpoints: Failpoints) -> None:
        self._store = store
        self._failpoints = failpoints

    async def positions(self, segments: Collection[bytes]) -> Mapping[bytes, SegmentProgress]:
        return await self._call(self._store.positions, segments)

    async def owners(self, link_ids: Collection[int]) -> Mapping[int, LinkOwner]:
        return await self._call(self._store.owners, link_ids)

    async def apply(self, batch: Batch) -> bool:
        return await self._call(self._store.apply, batch)

    async def forget(self, segments: Collection[bytes]) -> None:
        await self._call(self._store.forget, segments)

    async def _call(self, method: Callable[[A], Awaitable[T]], argument: A) -> T:
        self._failpoints.step()
        result = await method(argument)
        self._failpoints.step()
        return result


class StoppingDatabase:
    """A `Database` that fails once it has written so many times."""

    def __init__(self, database: Any, writes: int) -> None:
        self._database = database
        self._writes = writes

    async def read(self, *args: Any) -> Any:
        return await self._database.read(*args)

    async def write(self, *args: Any) -> Any:
        if self._writes == 0:
            raise StoreUnavailable("stopped")
        self._writes -= 1
        return await self._database.write(*args)


def watch_files(monkeypatch: pytest.MonkeyPatch, folder: Path, failpoints: Failpoints) -> None:
    """A point before each operation on a file of the folder, or on any open one. Not for the thread
    that writes to SQLite: it has files of its own, and a stopped thread would answer nobody."""

    def pass_on(operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        is_of_folder = not isinstance(args[0], str | Path) or str(args[0]).startswith(str(folder))
        if is_of_folder and threading.current_thread().name != "kurz-write":
            failpoints.step()
        return operation(*args, **kwargs)

    for module, names in _OPERATIONS:
        for name in names:
            monkeypatch.setattr(module, name, partial(pass_on, getattr(module, name)))
