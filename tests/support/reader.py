"""Follows a document as a reader does: types its commands into a real shell, and compares what they
print with what the document shows."""

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.document_outputs import Differs, compare, translated
from support.documents import Block, Command

COMMAND_SECONDS = 1800  # they end a hang
# What a reader tries again when a server is not ready yet.
TRIED_AGAIN = re.compile(r"curl |docker (?:exec|logs) |docker compose \S+ \S+ exec ")
# These stay in the foreground until Ctrl+C.
SERVERS = re.compile(r"kurz serve$|docker run (?!.*--detach)", re.DOTALL)
COLOURS = re.compile(r"\x1b\[[\d;]*m")
FOLLOWED = re.compile(r"HTTP/[\d.]+ 302\b.*^location: \S", re.DOTALL | re.MULTILINE | re.IGNORECASE)


class Failed(Exception):
    pass


@contextmanager
def _interruptible() -> Iterator[None]:
    """Programs that are started meanwhile can be ended by Ctrl+C, even if this one was started in
    the background, where shells ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class Reader:
    """`replace`: what a document writes, and what is meant here. `shown` is called for each line
    about what is done."""

    folder: Path
    environment: dict[str, str]
    replace: dict[str, str]
    show: Callable[[str], None]
    start_seconds: float = 600
    again_seconds: float = 120
    learnt: dict[str, str] = field(default_factory=dict)
    last_output: str = ""
    not_run: list[Command] = field(default_factory=list)
    _server: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        self._place = self.folder
        self._notes = Path(tempfile.mkdtemp(prefix="notes-", dir=self.folder.parent))

    def read(self, blocks: list[Block]) -> None:
        """From the first block to the last, which has to show a link that was followed."""
        for block in blocks:
            if "Press Ctrl+C" in block.before:
                self.stop()
            for command in block.commands:
                if command.not_run is None:
                    self._type(command)
                else:
                    self.not_run.append(command)
        if not FOLLOWED.match(self.last_output):
            raise Failed(f"It does not end with a link that was followed:\n{self.last_output}")

    def stop(self) -> None:
        """Ctrl+C, if a server is running in the foreground."""
        server, self._server = self._server, None
        if server is not None:
            os.killpg(server.pid, signal.SIGINT)
            if code := server.wait(COMMAND_SECONDS):
                raise Failed(f"After Ctrl+C, the server exited with code {code}.")

    def abandon(self) -> None:
        """Ends what is still running after a failure."""
        if self._server is not None and self._server.poll() is None:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()

    def _type(self, command: Command) -> None:
        text = translated(command.text, self.replace | self.learnt)
        began = time.monotonic()
        try:
            (self._start if SERVERS.search(text) else self._run)(text, command)
        except (Differs, ValueError) as error:
            raise Failed(f"line {command.line}: {text}\n    {error}") from None
        self.show(f"{time.monotonic() - began:6.1f} s  {text}")

    def _run(self, text: str, command: Command) -> None:
        deadline = time.monotonic() + self.again_seconds
        while True:
            try:
                self.last_output = self._run_once(text)
                self._compare(command, self.last_output)
            except (Differs, ValueError):
                if not TRIED_AGAIN.match(text) or time.monotonic() > deadline:
                    raise
                time.sleep(1)
            else:
                return

    def _run_once(self, text: str) -> str:
        """In the folder and with the variables that the command before left."""
        variables, place = self._notes / "variables", self._notes / "place"
        script = f"{text}\ncode=$?; env -0 > {variables}; pwd > {place}; exit $code"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        output = done.stdout.decode()
        if done.returncode:
            errors = done.stderr.decode()
            raise Differs(f"exit code {done.returncode}\n{output[-3000:]}{errors[-3000:]}")
        pairs = variables.read_text().split("\0")
        self.environment = dict(pair.split("=", 1) for pair in pairs if pair)
        self._place = Path(place.read_text().rstrip("\n"))
        return output

    def _start(self, text: str, command: Command) -> None:
        self.stop()
        output = self._notes / "output"
        with output.open("wb") as file, _interruptible():
            self._server = subprocess.Popen(
                ["bash", "-c", text],
                cwd=self._place,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + self.start_seconds
        while True:
            printed = output.read_text(errors="replace")
            try:
                self._compare(command, printed)
            except Differs:
                if self._server.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return

    def _compare(self, command: Command, output: str) -> None:
        shown = [translated(line, self.replace | self.learnt) for line in command.output]
        lines = "\n".join(line.rstrip() for line in COLOURS.sub("", output).splitlines())
        self.learnt |= compare(shown, lines)
