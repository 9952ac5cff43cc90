"""Runs a command of kurz and notes what its process took, in a file: `measured_kurz.py FILE backup
…`. It loads nothing else, so that the memory is that of the command."""

import atexit
import sys
import time
from pathlib import Path


def peak_kibibytes() -> int:
    """Of this program. `getrusage` would include the process that started it."""
    status = Path("/proc/self/status").read_text()
    [found] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found)


def note(file: str) -> None:
    Path(file).write_text(f"{time.process_time()} {peak_kibibytes()}")


if __name__ == "__main__":
    atexit.register(note, sys.argv.pop(1))
    from kurz.cli.app import main

    main()
