"""Time limits for answers: what hangs ends, and what this process held up itself does not."""

import asyncio
import socket
import threading
import time

import pytest

from kurz.time_limits import AnswerTimeout

SECONDS = 0.05


async def test_what_hangs_ends():
    with pytest.raises(TimeoutError):
        async with AnswerTimeout(SECONDS):
            await asyncio.Event().wait()


async def test_what_is_done_in_time_is_not_disturbed_later():
    async with AnswerTimeout(SECONDS):
        await asyncio.sleep(0)
    await asyncio.sleep(2 * SECONDS)


async def test_an_answer_that_came_while_the_process_was_held_up_counts():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        loop = asyncio.get_running_loop()
        threading.Timer(2 * SECONDS, theirs.send, [b"answer"]).start()
        loop.call_later(SECONDS / 2, time.sleep, 4 * SECONDS)
        async with AnswerTimeout(SECONDS):
            assert await loop.sock_recv(ours, 100) == b"answer"


async def test_a_process_that_is_always_held_up_still_gives_up():
    loop, given_up = asyncio.get_running_loop(), asyncio.Event()

    def hold_up() -> None:
        time.sleep(SECONDS)
        if not given_up.is_set():
            loop.call_soon(hold_up)

    hold_up()
    with pytest.raises(TimeoutError):
        async with AnswerTimeout(SECONDS):
            await asyncio.Event().wait()
    given_up.set()


async def test_errors_and_cancellation_pass():
    with pytest.raises(LookupError):
        async with AnswerTimeout(SECONDS):
            raise LookupError

    async def wait() -> None:
        async with AnswerTimeout(60):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
