"""A process that ends the links of deleted accounts, in small batches, to be killed."""

import asyncio

from kurz.jobs.account_ender import AccountEnder
from kurz.jobs.periodic import TaskPace
from kurz.settings.load import load
from kurz.storage.ending.accounts import SqlAccountEnds
from kurz.wiring.core import open_kurz


async def main() -> None:
    async with open_kurz(load({}).settings) as kurz:
        store = SqlAccountEnds(kurz.database)
        print("ready", flush=True)
        await AccountEnder(store, kurz.clock, TaskPace(batch=7, pause_seconds=0.01)).run()
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
