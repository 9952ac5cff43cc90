"""Whether an installation still waits for its first administrator."""

import time
from collections.abc import Callable

from kurz.errors import StoreUnavailable
from kurz.people.accounts import AccountStore

ASK_SECONDS = 1.0  # anybody may load the pages that show it


class SetUpState:
    """Asks the store at most once a second, and never again once there is an administrator: the
    last one cannot be removed. While the store does not answer, it says no: the page loads."""

    def __init__(
        self, store: AccountStore, now_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._now_seconds = now_seconds
        self._is_needed = True
        self._ask_at = 0.0

    async def is_needed(self) -> bool:
        if self._is_needed and self._now_seconds() >= self._ask_at:
            try:
                self._is_needed = not await self._store.has_admin()
            except StoreUnavailable:
                return False
            self._ask_at = self._now_seconds() + ASK_SECONDS
        return self._is_needed
