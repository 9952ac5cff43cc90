"""Does one step of the reaper, until it has ended so many links or nothing is left, and prints what
that took: a process of its own for `reaper.py`. Between batches it does not pause."""

import asyncio
import json
import sys
import time

from kurz.links.ending.ports import ReaperStore
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.settings.load import load
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.wiring.core import open_kurz

MARK = "mark"
SWEEPS = {
    "trash": (EndedKind.PERMANENT, RetentionAction.TRASH),
    "purge": (EndedKind.TEMPORARY, RetentionAction.PURGE),
    "purge-trash": (EndedKind.SWEPT, RetentionAction.PURGE),
}


async def do_batch(store: ReaperStore, step: str, limit: int) -> int:
    now = await store.now()
    if step == MARK:
        return await store.mark_expired(now, limit)
    return await store.sweep(*SWEEPS[step], now, now, limit)


async def main(step: str, most: int) -> None:
    settings = load({}).settings
    async with open_kurz(settings) as kurz:
        store = SqlReaperStore(kurz.database, kurz.clock, settings.code_quarantine)
        await store.now()  # connected
        wall, cpu, links = time.perf_counter(), time.process_time(), 0
        while links < most and (count := await do_batch(store, step, settings.reaper_batch)):
            links += count
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"links": links, "seconds": wall, "cpu_seconds": cpu}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
