"""Work in the background: its turns, its rests, and what the log tells of it."""

import asyncio
import time

from structlog.testing import capture_logs

from kurz.errors import StoreUnavailable
from kurz.rounds import MAX_REST_SECONDS, Rounds, rest_after


class Work:
    """Fails in the given ways, one a turn, and then no more."""

    def __init__(self, *failures: Exception | None) -> None:
        self._failures = list(failures)
        self.is_over = asyncio.Event()

    async def __call__(self) -> None:
        if not self._failures:
            self.is_over.set()
            return
        failure = self._failures.pop(0)
        if failure is not None:
            raise failure


async def do(work: Work) -> list[str]:
    """What the log says meanwhile."""
    rounds = Rounds("the work", work, wake_seconds=0.001)
    with capture_logs() as lines:
        rounds.start()
        await work.is_over.wait()
        await rounds.stop()
    return [line["event"] for line in lines]


async def test_the_log_tells_of_an_outage_once():
    out = StoreUnavailable("out")
    assert await do(Work(out, out, out)) == ["the work: waiting for the database"]
    assert await do(Work(out, out, None, out)) == ["the work: waiting for the database"] * 2


async def test_a_mistake_does_not_end_it():
    assert await do(Work(ValueError("no"), KeyError("no"))) == ["the work: failed"] * 2


async def test_a_rest_ends_when_it_is_to_stop():
    has_worked = asyncio.Event()
    ended: list[tuple[str, bool]] = []

    async def begin() -> str:
        await asyncio.sleep(0.01)
        has_worked.set()
        return "done"

    async def work() -> None:
        result = await rounds.pace(begin(), share=1e-9)  # a rest of months
        ended.append((result, rounds.is_stopping))

    rounds = Rounds("the work", work, wake_seconds=3600)
    rounds.start()
    await has_worked.wait()
    async with asyncio.timeout(10):
        await rounds.stop()
    assert ended == [("done", True)]


async def test_it_can_be_started_again():
    work = Work()
    rounds = Rounds("the work", work, wake_seconds=3600)
    for _ in range(2):
        work.is_over.clear()
        rounds.start()
        await work.is_over.wait()
        await rounds.stop()


def test_who_was_held_up_for_hours_does_not_rest_for_hours():
    hours_ago = time.monotonic() - 3 * 3600
    assert rest_after(hours_ago) == MAX_REST_SECONDS
    assert rest_after(hours_ago, most=1.0) == 1.0
    assert 3.0 <= rest_after(time.monotonic() - 1.0, share=0.25) <= MAX_REST_SECONDS
