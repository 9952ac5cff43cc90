"""A process that reaps, to be killed and held up. `leased`: as `kurz jobs` does, but it looks more
often. `regardless`: at once, whoever else does, until nothing is left."""

import asyncio
import contextlib
import sys

from kurz.errors import StoreUnavailable
from kurz.scheduling import RunContext
from kurz.settings.load import load
from kurz.wiring.core import open_kurz
from kurz.wiring.reaper import Reaping, open_reaper

TICK_SECONDS = 0.2


async def reap_under_leases(reaping: Reaping) -> None:
    reaping.runner._wake_seconds = TICK_SECONDS
    reaping.runner.start()
    await asyncio.Event().wait()


async def reap_regardless(reaping: Reaping) -> None:
    """Begins when it is told to. Where others keep it from writing for too long, it tries again."""
    await asyncio.to_thread(sys.stdin.readline)
    context, is_done = RunContext(asyncio.Event()), False
    while not is_done:
        with contextlib.suppress(StoreUnavailable):
            is_done = (await reaping.reaper.run(context)).reason is None
    print(context.counts.total() - context.counts["marked"], flush=True)


async def main(mode: str) -> None:
    async with open_kurz(load({}).settings) as kurz, open_reaper(kurz) as reaping:
        print("ready", flush=True)
        await {"leased": reap_under_leases, "regardless": reap_regardless}[mode](reaping)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
