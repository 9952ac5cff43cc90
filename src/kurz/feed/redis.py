"""Wake-ups by publishing and subscribing in Redis or Valkey."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

WAIT_SECONDS = 60.0  # for a wake-up, at a time


class WakeUps(Protocol):
    async def wait(self, seconds: float) -> bool:
        """Whether there was a wake-up within this many seconds; raises if the server is gone."""


async def listen(
    subscribe: Callable[[], AbstractAsyncContextManager[WakeUps]],
    on_wake: Callable[[], None],
) -> None:
    """A `Listen` of `feed/remote`."""
    async with subscribe() as subscription:
        on_wake()
        while True:
            if await subscription.wait(WAIT_SECONDS):
                on_wake()
