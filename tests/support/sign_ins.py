"""Floods of sign-ins."""

import os
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

from kurz.people.hash_queue import MAX_WAITING, Asker
from kurz.wiring.core import Kurz


def fill_lines(kurz: Kurz, gate: threading.Event) -> Iterator[Coroutine[Any, Any, bool]]:
    """Work that keeps every thread busy and the line of unknown browsers full, each from another
    address, until the gate opens."""
    queue = kurz.accounts._passwords._queue
    for number in range(max(1, (os.cpu_count() or 1) // 2) + MAX_WAITING):
        yield queue.run(Asker(f"flood{number}"), lambda: gate.wait(60))
