"""Memory and CPU time of processes, as Linux reports it; 0 on other systems."""

import os
import time
from pathlib import Path

from kurz import metrics

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


def own_usage() -> dict[str, int]:
    return {
        metrics.RESIDENT_BYTES: _resident("self"),
        metrics.CPU_MILLISECONDS: round(time.process_time() * 1000),
    }


def usage_of(pid: int) -> dict[str, int]:
    """For another process of the same user."""
    return {
        metrics.RESIDENT_BYTES: _resident(str(pid)),
        metrics.CPU_MILLISECONDS: _cpu_milliseconds(str(pid)),
    }


def _resident(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def _cpu_milliseconds(pid: str) -> int:
    try:
        # The name of the program may have spaces and brackets in it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) * 1000 // _TICKS
