"""Hands out the results of queries in different turns of the event loop."""

import asyncio
from collections import deque


class ResultTurns:
    """Turning a long list into JSON takes 5 ms. If results that arrive together were also used in
    the same turn, redirects would wait for all of them."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None  # if a result has its turn now

    async def wait(self) -> None:
        """Returns when it is this result's turn, usually immediately."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._take_turn(loop)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _take_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.call_soon(self._begin_next)

    def _begin_next(self) -> None:
        loop, self._loop = self._loop, None
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done() and loop is not None:  # otherwise its request was cancelled
                turn.set_result(None)
                self._take_turn(loop)
                return
