"""Where a process has its lists from: the compiled file, as long as it is that of the sources."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import structlog

from kurz.safety.list_table import TableBroken
from kurz.safety.lists_file import (
    FILE_NAME,
    Lists,
    Looks,
    Role,
    Source,
    Sources,
    compile_lists,
    keep_lists,
    open_lists,
)

# For how long lists are believed after one of their files has changed: it may be being written, and
# to compile a large one takes its time.
BELIEF_SECONDS = 30.0


class Log(Protocol):
    def info(self, event: str, **fields: object) -> Any: ...

    def error(self, event: str, **fields: object) -> Any: ...


class _Silence:
    def info(self, event: str, **fields: object) -> None:
        """Nothing."""

    def error(self, event: str, **fields: object) -> None:
        """Nothing."""


_SILENT = _Silence()
_log: Log = structlog.get_logger(__name__)


class ListShelf:
    """Opens the compiled file when it is first needed, or compiles the lists for this process alone
    if they are others by now, without a word: whoever asks tells what is wrong, if anybody wants to
    know. A worker has it look for newer ones with `refresh`. Only `kurz serve` and its jobs process
    write the file: the settings of others may not be what is served by."""

    def __init__(
        self, sources: Sources, folder: Path, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.sources = sources
        self._folder = folder
        self._monotonic = monotonic
        self._lists: Lists | None = None
        self._is_opened = False
        self._looks: Looks = None  # of the compiled file
        self._outdated_since: float | None = None
        self.is_kept = False  # the file says what is at hand here

    @property
    def lists(self) -> Lists | None:
        """None: they could neither be opened nor compiled. The first time it may wait."""
        if not self._is_opened and not self.sources.is_empty:
            self._open(_SILENT)
        return self._lists

    @property
    def is_current(self) -> bool:
        """Whether they say what the files say by now."""
        if self._lists is None:
            return self.sources.is_empty
        since = self._outdated_since
        return since is None or self._monotonic() - since < BELIEF_SECONDS

    @property
    def is_outdated(self) -> bool:
        """Whether they are of other files than there are now."""
        return self._lists is None or self._lists.looks != self.sources.look()

    def open(self) -> None:
        """The compiled file, or if there is none of these sources what can be compiled here."""
        self._open(_log)

    def prepare(self) -> None:
        """Makes the file, if there is none that is of these sources."""
        self._refresh(_log)
        if not self.sources.is_empty and (self.is_outdated or not self.is_kept):
            self.make()

    def refresh(self) -> None:
        """Takes a newer file, if somebody has made one. Touches disks: not for an event loop."""
        self._refresh(_log)

    def make(self) -> None:
        """Compiles the sources as they are now, for all processes. If that cannot be kept it is for
        this one alone, and the others come to doubt what they have."""
        self._is_opened = True
        data = compile_lists(self.sources)
        try:
            keep_lists(self._folder, data)
        except OSError as error:
            _log.error("lists cannot be saved", folder=str(self._folder), reason=error.strerror)
            self._use(data)
        else:
            self._looks = None
            self._refresh(_log)
        self._outdated_since = None
        self._tell(_log)

    def _open(self, log: Log) -> None:
        self._refresh(log)
        if not self.sources.is_empty and self.is_outdated:
            self._use(compile_lists(self.sources))
            self._tell(log)

    def _use(self, data: bytes) -> None:
        """What nobody else has."""
        self._lists = Lists(data)
        self._outdated_since = None
        self.is_kept = False

    def _refresh(self, log: Log) -> None:
        self._is_opened = True
        if self.sources.is_empty:
            return
        looks = Source(Role.BLOCK, self._folder / FILE_NAME).look()
        if looks != self._looks:
            self._looks = looks
            self._take(log)
        if not self.is_outdated:
            self._outdated_since = None
        elif self._outdated_since is None:
            self._outdated_since = self._monotonic()

    def _take(self, log: Log) -> None:
        """What is of other sources is not for this process, which goes on with what it has."""
        self.is_kept = False
        try:
            lists = open_lists(self._folder)
        except FileNotFoundError:
            return
        except (OSError, TableBroken) as error:
            log.error("compiled lists cannot be used", reason=str(error))
            return
        if lists.is_of(self.sources):
            self._lists = lists
            self.is_kept = True

    def _tell(self, log: Log) -> None:
        if self._lists is None:
            return
        for state in self._lists.sources:
            if state.problem is not None:
                log.error(
                    "list cannot be read: visitors of new links see a warning",
                    list=state.path,
                    reason=state.problem,
                )
        log.info("lists compiled", hosts=self._lists.hosts, digest=self._lists.digest)
