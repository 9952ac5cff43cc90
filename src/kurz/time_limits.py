"""Time limits for the answers of other servers."""

import asyncio
from types import TracebackType
from typing import Self

# A timer that is this late was held up by this process, or by others on the machine.
LATE_SECONDS = 0.005
MAX_EXTENSIONS = 3


class AnswerTimeout:
    """Like `asyncio.timeout`, but time in which this process did not run does not count, up to
    three times. Otherwise a process that was held up gives up answers that are already there, and
    takes the other server for slow."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._extensions = 0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        await self._timeout.__aenter__()
        self._set(self._seconds)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _set(self, seconds: float) -> None:
        self._due_at = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due_at, self._on_due)

    def _on_due(self) -> None:
        late = self._loop.time() - self._due_at
        if late > LATE_SECONDS and self._extensions < MAX_EXTENSIONS:
            self._extensions += 1
            self._set(min(late, self._seconds))
        else:
            self._timeout.reschedule(self._loop.time())
