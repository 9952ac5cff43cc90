"""Tunes a process that only transfers, or only works in the background. A server does other things
too."""

import contextlib
import ctypes
import gc
import sys

_M_ARENA_MAX = -8  # in malloc.h


def favour_throughput() -> None:
    """Rows create many objects and no cycles: searching for cycles takes a third of an import. And
    the thread that writes to SQLite would wait 5 ms for the interpreter after every statement."""
    gc.freeze()
    gc.set_threshold(1_000_000, 20, 20)
    sys.setswitchinterval(0.0005)


def favour_small_memory() -> None:
    """For a process that works in the background for weeks. With the threshold of an import, the
    cycles that asyncio and SQLAlchemy leave behind were collected once in a million objects: they
    took 300 MB."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    sys.setswitchinterval(0.0005)
    _share_arenas()


def _share_arenas() -> None:
    """Each thread would keep its own arena, which becomes fragmented. (glibc only.)"""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
