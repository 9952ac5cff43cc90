"""The command line by subprocess, on one data folder."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from kurz.people.passwords import Passwords
from kurz.settings.load import load
from kurz.wiring.core import Kurz, open_kurz
from support import nursery

T = TypeVar("T")

KURZ = Path(sys.executable).with_name("kurz")
# Makes the standard input the terminal that passwords are asked on. Its end counts even if the
# tests run under `nohup`.
WITH_TERMINAL = (
    "import fcntl, os, signal, sys, termios; signal.signal(signal.SIGHUP, signal.SIG_DFL);"
    "os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """Runs `kurz`, on the data folder that the environment names."""

    def __init__(self, environment: dict[str, str]) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        self.environment = {**inherited, **environment}

    def run(
        self, *arguments: str | bytes, stdin: str | bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        done = nursery.run(
            arguments,
            {**self.environment, **environment},
            given=stdin.encode() if isinstance(stdin, str) else stdin,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def prepare(self, work: Callable[[Kurz], Awaitable[T]]) -> T:
        """Done with the parts of kurz themselves, on the same folder: quicker than by commands."""

        async def do() -> T:
            settings = load({}, self.environment).settings
            async with open_kurz(settings, passwords=Passwords(cost=4)) as kurz:
                return await work(kurz)

        return asyncio.run(do())

    def do(self, *arguments: str, stdin: str = "") -> str:
        """As `run`, for a command that has to succeed; gives its output."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str, stdin: str = "") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.do(*arguments, "--json", stdin=stdin))
        return found

    def type_at(self, *arguments: str, answers: list[str]) -> tuple[int, str]:
        """Types an answer whenever a question ends with a colon; all that the screen showed."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", WITH_TERMINAL, str(KURZ), *arguments],
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        screen, waiting = "", list(answers)
        with os.fdopen(ours, "r+b", buffering=0) as terminal:
            while True:
                try:
                    piece = terminal.read(1024)
                except OSError:  # nobody is at the other end any more
                    break
                if not piece:
                    break
                screen += piece.decode()
                if screen.endswith(": ") and waiting:
                    terminal.write(waiting.pop(0).encode() + b"\n")
        return process.wait(60), screen
