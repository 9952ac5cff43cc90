"""Compiles the lists again when their files change, so that no restart is needed."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from kurz.rounds import Rounds
from kurz.safety.list_provider import ListProvider

LOOK_SECONDS = 2.0
RETRY_SECONDS = 60.0  # after a failure to read or write, it is tried again without a visible change


class ListWatch(Rounds):
    """Runs in one process of a data folder. A file that changes from look to look is still being
    written: it is compiled when two looks find it the same."""

    def __init__(
        self,
        provider: ListProvider,
        *,
        look_seconds: float = LOOK_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("refreshing lists", partial(asyncio.to_thread, self.look), look_seconds)
        self._provider = provider
        self._monotonic = monotonic
        self._looks: list[Any] | None = None
        self._made_at = monotonic()

    def start(self) -> None:
        if not self._provider.sources.is_empty:
            super().start()

    def look(self) -> None:
        """Compiles if needed: the lists have changed, or the compiled file is missing or not
        theirs."""
        self._provider.refresh()
        looks = self._provider.sources.look()
        is_settled, self._looks = looks == self._looks, looks
        lists = self._provider.lists
        is_sound = lists is not None and lists.is_whole and self._provider.is_stored
        is_due = not is_sound and self._monotonic() - self._made_at >= RETRY_SECONDS
        if (is_settled and self._provider.is_outdated) or is_due:
            self._made_at = self._monotonic()
            self._provider.compile()
