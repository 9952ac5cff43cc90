"""What the processes of a program hold: connections, open files, memory."""

import time
from contextlib import suppress
from pathlib import Path

from support.program import Program


class Census:
    """`connections` is the most there were at a time to a port, as far as was looked."""

    def __init__(self, program: Program, port: int) -> None:
        self._program = program
        self._end = f":{port:04X}"
        self.connections = 0

    def look_for(self, seconds: float) -> None:
        """Looks again and again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.connections = max(self.connections, self.look())
            time.sleep(0.1)

    def files(self) -> int:
        return sum(len(_files(pid)) for pid in self._program.children)

    def kilobytes(self) -> int:
        """That are no other process's."""
        return sum(_private_kilobytes(pid) for pid in self._program.children)

    def look(self) -> int:
        """How many connections there are now."""
        rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        there = {f"socket:[{row[9]}]" for row in rows if row[2].endswith(self._end)}
        return sum(len(there & _files(pid)) for pid in self._program.children)


def _files(pid: int) -> set[str]:
    files = set()
    with suppress(OSError):  # it ends while we look
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                files.add(f"{file.readlink()}")
    return files


def _private_kilobytes(pid: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return 0
