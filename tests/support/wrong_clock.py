"""A `kurz serve` on a machine whose clock a test sets. The clock since boot stays the real one."""

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from kurz.cli.serve import supervise
from kurz.clock import MICROSECOND
from kurz.settings.load import load
from support.program import Program


class WrongClock:
    """`ahead` is by how much the machine's clock is wrong, also for processes that run already."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set(timedelta(0))

    def set(self, ahead: timedelta) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(str(ahead // MICROSECOND * 1000))
        new.rename(self.path)


class WrongClockProgram(Program):
    def __init__(self, environment: dict[str, str], log: Path, clock: WrongClock) -> None:
        super().__init__(environment, log)
        self._clock = clock

    def _launch(self, files: list[int]) -> "subprocess.Popen[bytes]":
        stdin, stdout, stderr = files
        return subprocess.Popen(
            [sys.executable, "-m", "support.wrong_clock", self._clock.path],
            env=self._full_environment,
            cwd=Path(__file__).parents[1],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )


if __name__ == "__main__":
    path = Path(sys.argv[1])
    supervise(load({}).settings, {}, lambda: time.time_ns() + int(path.read_text()))
