"""Counts the journals of KURZ_DATA_DIR as the jobs process does, and prints what that took: a
process of its own for `clicks.py`."""

import asyncio
import json
import time

from kurz.settings.load import load
from kurz.transfer.tuning import favour_throughput
from kurz.wiring.core import open_kurz
from kurz.wiring.loader import open_loader


async def main() -> None:
    async with open_kurz(load({}).settings) as kurz, open_loader(kurz) as loader:
        await loader.load_all()  # the first clicks have it load its rules
        print("ready", flush=True)
        await asyncio.to_thread(input)
        wall, cpu = time.perf_counter(), time.process_time()
        clicks = await loader.load_all()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"clicks": clicks, "seconds": wall, "cpu_seconds": cpu}), flush=True)
        await asyncio.to_thread(input)  # what is copied to links afterwards is not in it


if __name__ == "__main__":
    favour_throughput()
    asyncio.run(main())
