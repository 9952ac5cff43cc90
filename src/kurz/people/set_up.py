"""Whether an installation still has no administrator."""

import time
from collections.abc import Callable

from kurz.errors import StoreUnavailable
from kurz.people.accounts import AccountStore

ASK_SECONDS = 1.0  # anyone may load the pages that show it


class SetUpState:
    """Asks the store at most once a second, and never again once there is an administrator: the
    last one cannot be removed. While the store has not answered, it says no: the page loads."""

    def __init__(
        self, store: AccountStore, now_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._now_seconds = now_seconds
        self._is_needed = False
        self._is_settled = False
        self._ask_at = 0.0

    async def is_needed(self) -> bool:
        if not self._is_settled and self._now_seconds() >= self._ask_at:
            # Before the store is asked, so that requests in the meantime do not ask too.
            self._ask_at = self._now_seconds() + ASK_SECONDS
            try:
                self._is_settled = await self._store.has_admin()
                self._is_needed = not self._is_settled
            except StoreUnavailable:
                self._is_needed = False
        return self._is_needed
