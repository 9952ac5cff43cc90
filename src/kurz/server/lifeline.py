"""How a child process learns that it must end: by SIGTERM, or because its supervisor is gone."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HURRY = signal.SIGQUIT


@contextmanager
def ending(
    lifeline: int | None, call: Callable[[], None], hurry: Callable[[], None]
) -> Iterator[None]:
    """Inside the block, `call` is called when the process must end, perhaps twice; `hurry` when
    somebody waits for it. `lifeline` is the reading end of a pipe whose other end only the
    supervisor has."""
    loop = asyncio.get_running_loop()

    def on_silence(pipe: int) -> None:
        loop.remove_reader(pipe)  # the end of a pipe stays readable
        call()

    # Not SIGINT: a terminal sends it to every process, and the supervisor decides what it means.
    loop.add_signal_handler(signal.SIGTERM, call)
    loop.add_signal_handler(HURRY, hurry)
    if lifeline is not None:
        loop.add_reader(lifeline, on_silence, lifeline)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(HURRY)
        if lifeline is not None:
            loop.remove_reader(lifeline)
