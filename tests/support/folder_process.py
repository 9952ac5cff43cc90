"""A process that folds old days of clicks, in small slices, to be killed."""

import asyncio

from kurz.clicks.visitors import DAY_MICROS
from kurz.settings.load import load
from kurz.storage.followers import day_folder
from kurz.storage.followers.day_folder import DayFolder
from kurz.wiring.core import open_kurz

day_folder.ROWS, day_folder.STRETCH, day_folder.AT_ONCE = 31, 7, 3


async def main() -> None:
    async with open_kurz(load({}).settings) as kurz:
        print("ready", flush=True)
        today = kurz.clock.micros() // DAY_MICROS
        await DayFolder(kurz.database, 100).run(today, lambda: False)
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
