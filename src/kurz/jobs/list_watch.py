"""Compiles the lists again when their files change, so that nobody has to restart anything."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import structlog

from kurz.safety.list_shelf import ListShelf

LOOK_SECONDS = 2.0
RETRY_SECONDS = 60.0  # what cannot be read, or kept, is tried again without any change to be seen

_log = structlog.get_logger(__name__)


class ListWatch:
    """In one process of a data folder. A file that looks different each time is still written: it
    is compiled when two looks at it are the same."""

    def __init__(
        self,
        shelf: ListShelf,
        *,
        look_seconds: float = LOOK_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shelf = shelf
        self._look_seconds = look_seconds
        self._monotonic = monotonic
        self._looks: list[Any] | None = None
        self._made_at = monotonic()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if not self._shelf.sources.is_empty:
            self._task = asyncio.create_task(self._go_on())

    async def stop(self) -> None:
        """Returns when a compilation under way is done."""
        self._stopping.set()
        if self._task is not None:
            await self._task
            self._task = None

    def look(self) -> None:
        """Compiles if there is a cause to: other lists, or a file that is gone or not theirs."""
        self._shelf.refresh()
        looks = self._shelf.sources.look()
        is_settled, self._looks = looks == self._looks, looks
        lists = self._shelf.lists
        is_sound = lists is not None and lists.is_whole and self._shelf.is_kept
        is_due = not is_sound and self._monotonic() - self._made_at >= RETRY_SECONDS
        if (is_settled and self._shelf.is_outdated) or is_due:
            self._made_at = self._monotonic()
            self._shelf.make()

    async def _go_on(self) -> None:
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(self.look)
            except Exception:  # noqa: BLE001  the next look may succeed
                _log.exception("lists cannot be refreshed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._look_seconds):
                    await self._stopping.wait()
