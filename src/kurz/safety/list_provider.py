"""Gives a process its lists: from the compiled file, as long as that matches the sources."""

import time
from collections.abc import Callable
from pathlib import Path

import structlog

from kurz.safety.list_table import TableBroken
from kurz.safety.lists_file import (
    FILE_NAME,
    ListRole,
    Lists,
    Looks,
    Source,
    Sources,
    compile_lists,
    open_lists,
    save_lists,
)

# For how long lists are used after one of their files has changed: it may be being written, and
# compiling a large one takes time.
BELIEF_SECONDS = 30.0


Log = structlog.typing.FilteringBoundLogger | None  # None: silent
_log: structlog.typing.FilteringBoundLogger = structlog.get_logger(__name__)


class ListProvider:
    """Opens the compiled file when it is first needed, or compiles the lists only for this process
    if they have changed. It logs nothing: callers report problems if needed. A worker loads newer
    lists with `refresh`. Only `kurz serve` and its jobs process write the file: other processes may
    have other settings."""

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
        self.is_stored = False  # the file matches what is loaded here

    @property
    def lists(self) -> Lists | None:
        """None: they could neither be opened nor compiled. The first call may wait."""
        if not self._is_opened and not self.sources.is_empty:
            self._open(None)
        return self._lists

    @property
    def is_current(self) -> bool:
        """Whether they match the current files."""
        if self._lists is None:
            return self.sources.is_empty
        since = self._outdated_since
        return since is None or self._monotonic() - since < BELIEF_SECONDS

    @property
    def is_outdated(self) -> bool:
        """Whether they were made of other files than the current ones."""
        return self._lists is None or self._lists.looks != self.sources.look()

    def open(self) -> None:
        """The compiled file, or, if there is none for these sources, what can be compiled here."""
        self._open(_log)

    def prepare(self) -> None:
        """Writes the file, if there is none for these sources."""
        self._refresh(_log)
        if not self.sources.is_empty and (self.is_outdated or not self.is_stored):
            self.compile()

    def refresh(self) -> None:
        """Loads a newer file, if there is one. Reads from disk: not for an event loop."""
        self._refresh(_log)

    def compile(self) -> None:
        """Compiles the current sources for all processes. If the file cannot be written, only this
        process has them, and the lists of the others become outdated."""
        self._is_opened = True
        data = compile_lists(self.sources)
        try:
            save_lists(self._folder, data)
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
        """Lists that only this process has."""
        self._lists = Lists(data)
        self._outdated_since = None
        self.is_stored = False

    def _refresh(self, log: Log) -> None:
        self._is_opened = True
        if self.sources.is_empty:
            return
        looks = Source(ListRole.BLOCK, self._folder / FILE_NAME).look()
        if looks != self._looks:
            self._looks = looks
            self._take(log)
        if not self.is_outdated:
            self._outdated_since = None
        elif self._outdated_since is None:
            self._outdated_since = self._monotonic()

    def _take(self, log: Log) -> None:
        """A file of other sources is not for this process, which keeps what it has."""
        self.is_stored = False
        try:
            lists = open_lists(self._folder)
        except FileNotFoundError:
            return
        except (OSError, TableBroken) as error:
            if log is not None:
                log.error("compiled lists cannot be used", reason=str(error))
            return
        if lists.is_of(self.sources):
            self._lists = lists
            self.is_stored = True

    def _tell(self, log: Log) -> None:
        if self._lists is None or log is None:
            return
        for state in self._lists.sources:
            if state.problem is not None:
                log.error(
                    "list cannot be read: visitors of new links see a warning",
                    list=state.path,
                    reason=state.problem,
                )
        log.info("lists compiled", hosts=self._lists.hosts, digest=self._lists.digest)
